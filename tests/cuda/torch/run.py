# SPDX-License-Identifier: MIT
"""Runs the tests of torch on a CUDA device.

    python tests/cuda/torch/run.py [--on-host] CORE_MODULE [PYTEST_ARGUMENTS]

CORE_MODULE is a repdl._core with the CUDA kernels. The device is a GPU, and the tests in on_gpu are run too; `-n 8`
shares it between eight processes. With --on-host, CORE_MODULE has the kernels as they are compiled for the host, and
torch is given a device there, with the tests in on_host.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]

on_host = "--on-host" in sys.argv
core, *arguments = [a for a in sys.argv[1:] if a != "--on-host"] or sys.exit(__doc__)
kind = HERE / ("on_host" if on_host else "on_gpu")

sys.path[:0] = paths = [str(p) for p in (HERE, kind, ROOT / "python", ROOT / "tests/python")]
os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])

import core_under_test  # noqa: E402
import device  # noqa: E402

os.environ[core_under_test.VARIABLE] = str(Path(core).resolve())
if "--collect-only" not in arguments or on_host:
    device.prepare()
core_under_test.load()

import pytest  # noqa: E402

if not any(Path(a.partition("::")[0]).exists() for a in arguments):
    arguments += [str(kind), *map(str, sorted(HERE.glob("test_*.py")))]
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), *arguments]))
