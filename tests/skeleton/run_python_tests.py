# SPDX-License-Identifier: MIT
"""Runs the Python tests over all ops on the skeleton op.

    python tests/skeleton/run_python_tests.py CORE_MODULE

CORE_MODULE is a repdl._core that has the op.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

spec = importlib.util.spec_from_file_location("repdl._core", sys.argv[1])
assert spec is not None
assert spec.loader is not None
core = importlib.util.module_from_spec(spec)
sys.modules["repdl._core"] = core
spec.loader.exec_module(core)

sys.path.insert(0, str(ROOT / "python"))
import repdl.ops  # noqa: E402

repdl.ops.__path__.append(str(HERE / "python/repdl/ops"))
import repdl.ops.skeleton  # noqa: E402

repdl.ops.skeleton.skeleton.golden_file = HERE / "golden/skeleton.txt"

sys.exit(pytest.main(["-q", "-k", "skeleton", "-c", str(ROOT / "pyproject.toml"), str(ROOT / "tests/python")]))
