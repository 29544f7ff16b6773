# SPDX-License-Identifier: MIT
"""`repdl record` and `repdl diff --cause` of stock torch, where nothing is planted: threads and instruction sets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import CAPABILITIES, ROOT

SCRIPT = ROOT / "tests" / "python" / "real_training.py"


def repdl(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from repdl.cli.main import main; main()"
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip


Settings = tuple[str, str]
"""The number of threads, and torch's kernels."""


def difference(folder: Path, model: str, a: Settings, b: Settings) -> dict[str, Any]:
    for name, (threads, kernels) in {"a": a, "b": b}.items():
        made = repdl("record", "-o", str(folder / name), str(SCRIPT), model, threads, ATEN_CPU_CAPABILITY=kernels)
        assert made.returncode == 0, made.stderr
    made = repdl("diff", str(folder / "a"), str(folder / "b"), "--cause", "--json", ATEN_CPU_CAPABILITY=a[1])
    assert made.returncode == 1, made.stderr
    found: dict[str, Any] = json.loads(made.stdout)
    assert found["inputs_equal"] and "so this op is the source" in found["sentence"]
    return found


def causes(found: dict[str, Any]) -> str:
    """As "The cause is the number of threads or …"."""
    return str(found["cause"]["sentence"]).partition(": made again")[0]


def test_threads_of_a_transformer(tmp_path: Path) -> None:
    found = difference(tmp_path, "transformer", ("1", "default"), ("2", "default"))
    assert found["a"]["phase"] == "backward" and "number of threads" in causes(found)


@pytest.mark.skipif(len(CAPABILITIES) < 2, reason="this CPU runs one target only")
def test_instruction_sets_of_convolutions(tmp_path: Path) -> None:
    found = difference(tmp_path, "convolutions", ("1", "avx2"), ("1", "default"))
    assert "instruction set" in causes(found)
