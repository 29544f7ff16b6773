# SPDX-License-Identifier: MIT
"""Compares what torch gives under `repdl.enable()` in this process with the digests that were recorded.

    python tools/platforms/torch_digests.py lines [OP...]        # the golden lines of torch's ops
    python tools/platforms/torch_digests.py programs [NAME...]   # training programs of stock torch and other libraries

`repdl conformance --torch --lines` and the tests run the same. This program says after each op and each program what
became of it, since an emulator is slow. Exit status 1: a digest differs, or none was compared.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch

import repdl
from repdl import _core
from repdl.conformance.torch_golden import TORCH_GOLDEN, run_torch_golden
from repdl.interception.machine import CAPABILITY

TESTS = Path(__file__).resolve().parents[2] / "tests/python"

Outcome = tuple[str, int, list[str]]
"""What ran, the number of digests that are the recorded ones, and what to say of the others."""

OF_LIBRARIES = ("GPT-2", "timm resnet10t")
"""Those of tests/python/programs.py that run if no program is named."""


def run_lines(ops: list[str]) -> Iterator[Outcome]:
    for op in ops or sorted(path.stem for path in TORCH_GOLDEN.glob("*.txt")):
        results = run_torch_golden([op]).results
        failures = [f"{r.case}: {r.detail}" for r in results if r.status == "failed"]
        yield op, sum(r.status == "passed" for r in results), failures


def run_programs(names: list[str]) -> Iterator[Outcome]:
    sys.path.insert(0, str(TESTS))
    from torch_programs import GOLDEN, PROGRAMS, digest

    expected: dict[str, str] = json.loads(GOLDEN.read_text())
    for name in [name for name in names or PROGRAMS if name in PROGRAMS]:
        torch.manual_seed(0)
        with repdl.reproducible():
            outcome = _compared(name, lambda name=name: digest(PROGRAMS[name]()), expected[name])
        yield outcome
    others = [name for name in names or OF_LIBRARIES if name not in PROGRAMS]
    if others:
        from programs import EXPECTED, run

        digests: dict[str, str] = json.loads(EXPECTED.read_text())["digests"]
        place = _core.active_target(), repdl.get_num_threads()
        for name in others:
            yield _compared(name, partial(run, name, *place), digests[name])


def _compared(name: str, run: Callable[[], str], expected: str) -> Outcome:
    try:
        found = run()
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return name, int(found == expected), [] if found == expected else [f"{found}, not {expected}"]


def main(kind: str, names: list[str]) -> int:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    passed, failed = 0, 0
    for name, equal, failures in {"lines": run_lines, "programs": run_programs}[kind](names):
        print(f"{time.perf_counter() - start:8.0f} s  {name}: {equal} passed, {len(failures)} failed", flush=True)
        for failure in failures:
            print(f"    {failure}", flush=True)
        passed, failed = passed + equal, failed + len(failures)
    place = f"torch {torch.__version__}, {CAPABILITY.upper()}; target {_core.active_target()}"
    print(f"{kind}: {passed} passed, {failed} failed; {place}", flush=True)
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
