# SPDX-License-Identifier: MIT
"""Runs the tests of torch on a CUDA device that is the host.

    python tests/cuda/on_host/torch/run_python_tests.py CORE_MODULE [PYTEST_ARGUMENTS]

CORE_MODULE is a repdl._core with the CUDA kernels as they are compiled for the host.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]

if importlib.util.find_spec("torch") is None:
    print("torch is not there: left out")
    sys.exit(0)

sys.path.insert(0, str(HERE))
import device  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    device.load(device.build(Path(folder)))

spec = importlib.util.spec_from_file_location("repdl._core", sys.argv[1])
assert spec is not None
assert spec.loader is not None
core = importlib.util.module_from_spec(spec)
sys.modules["repdl._core"] = core
spec.loader.exec_module(core)
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python")]

import pytest  # noqa: E402

sys.exit(
    pytest.main(["-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), *(sys.argv[2:] or [str(HERE)])])
)
