# SPDX-License-Identifier: MIT
"""What several test files use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from repdl import _core
from repdl._op import registry
from repdl.conformance import GOLDEN as GOLDEN
from repdl.interception.machine import CAPABILITIES as CAPABILITIES
from repdl.testing.calls import (
    digest as digest,
    golden_lines as golden_lines,
    has_bfloat16 as has_bfloat16,
    results_of as results_of,
    same_bits as same_bits,
    to_numpy as to_numpy,
    to_torch as to_torch,
)

ROOT = Path(__file__).resolve().parent.parent.parent


def _printed(
    arguments: list[str], environment: dict[str, str], timeout: float, interpreter: str = sys.executable
) -> str:
    result = subprocess.run(
        [interpreter, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=os.environ | environment,
        cwd=ROOT,
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def run_python(code: str, *arguments: str, interpreter: str = sys.executable, **environment: str) -> str:
    """Runs Python code in a process of its own; returns what it prints."""
    return _printed(["-c", code, *arguments], environment, 500, interpreter)


def run_with_capability(capability: str, program: str, *arguments: str, timeout: float) -> str:
    """Runs the file of a program in a process with an instruction set of torch's; returns what it prints."""
    environment = {"ATEN_CPU_CAPABILITY": capability, "OMP_WAIT_POLICY": "passive"}
    return _printed([program, *arguments], environment, timeout)


def compile_library(folder: Path, source: str, *flags: str) -> str:
    """A shared library in this folder."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "library.c").write_text(source)
    library = folder / "library.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *flags, "library.c", "-o", library], cwd=folder, check=True)
    return str(library)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Lets torch, and so the ops under `repdl.enable()`, run on so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


WITHOUT_KERNEL = "aten::_compute_linear_combination"
"""An op of torch that has no kernel of ours, and no call that does the same."""


def without_kernel(x: torch.Tensor) -> torch.Tensor:
    """`x`, by that op."""
    return torch._compute_linear_combination(x, torch.eye(len(x), dtype=x.dtype))


ALL_OPS = sorted(registry)
TARGETS = _core.supported_targets()
