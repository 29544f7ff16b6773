# SPDX-License-Identifier: MIT
"""What several test files use."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from repdl import _core, conformance
from repdl._op import Op, registry
from repdl.conformance import GOLDEN
from repdl.interception.machine import CAPABILITIES as CAPABILITIES

ROOT = Path(__file__).resolve().parent.parent.parent


def golden_lines(op: str) -> list[tuple[str, str]]:
    """The digest and the text of each case of an op."""
    folder = ROOT / "tests/skeleton/golden" if op == "skeleton" else GOLDEN
    return [(digest, text) for digest, _, text in conformance.golden_lines(op, folder)]


def digest(results: list[np.ndarray[Any, Any]]) -> str:
    """The digest of a golden file: every NaN as one. A bfloat16 array is one of its bits, uint16."""
    sha = hashlib.sha256()
    for array in results:
        if array.dtype == np.float32:
            array = np.where(np.isnan(array), np.uint32(0x7FC00000), array.view(np.uint32))
        elif array.dtype == np.float64:
            array = np.where(np.isnan(array), np.uint64(0x7FF8000000000000), array.view(np.uint64))
        elif array.dtype == np.float16:
            array = np.where(np.isnan(array), np.uint16(0x7E00), array.view(np.uint16))
        elif array.dtype == np.uint16:
            array = np.where((array & 0x7FFF) > 0x7F80, np.uint16(0x7FC0), array)
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def results_of(op: Op[..., Any], arguments: dict[str, Any]) -> list[Any]:
    """What the golden files hash: the arguments that an op changes, then what it returns."""
    outputs = op(**arguments)
    changed = [arguments[name] for name, kind, _ in op.arguments if kind.startswith("Tensor!")]
    returned = [] if outputs is None else list(outputs) if isinstance(outputs, tuple) else [outputs]
    return [value for value in changed if value is not None] + returned


def has_bfloat16(arguments: dict[str, Any]) -> bool:
    """Whether a case holds what NumPy cannot: its arrays are then of bits, uint16."""
    return any(isinstance(v, np.ndarray) and v.dtype == np.uint16 for v in arguments.values())


def to_torch(arguments: dict[str, Any]) -> dict[str, Any]:
    def tensor(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype == np.uint16:
            return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(value)

    return {k: tensor(v) for k, v in arguments.items()}


def to_numpy(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bit for bit, every NaN alike."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_complex():
        return same_bits(torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj()))
    if not a.is_floating_point():
        return torch.equal(a, b)
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.itemsize]
    nan = a.isnan()
    return torch.equal(nan, b.isnan()) and torch.equal(a.contiguous().view(bits)[~nan], b.contiguous().view(bits)[~nan])


def _printed(arguments: list[str], environment: dict[str, str], timeout: float) -> str:
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=os.environ | environment,
        cwd=ROOT,
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Runs Python code in a process of its own; returns what it prints."""
    return _printed(["-c", code, *arguments], environment, 500)


def run_with_capability(capability: str, program: str, *arguments: str, timeout: float) -> str:
    """Runs the file of a program in a process with an instruction set of torch's; returns what it prints."""
    environment = {"ATEN_CPU_CAPABILITY": capability, "OMP_WAIT_POLICY": "passive"}
    return _printed([program, *arguments], environment, timeout)


ALL_OPS = sorted(registry)
TARGETS = _core.supported_targets()
