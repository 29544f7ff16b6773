# SPDX-License-Identifier: MIT
"""Runs the cases of the golden files."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from pathlib import Path

import repdl
from repdl import _core
from repdl._machine import describe_machine
from repdl._op import registry
from repdl.conformance.report import Report, Result

GOLDEN = Path(repdl.__file__).resolve().parent / "golden"
"""The folder of the golden files."""

MANY = 150
"""Of more names an error does not tell all."""

Progress = Callable[[int, int, str], None]
"""Is told the number of cases done, that of all, and what runs next."""


def golden_lines(op: str, golden: Path | None = None) -> list[tuple[str, str, str]]:
    """(digest, marks, case) of each golden case of an op, from this folder or the package that declares the op."""
    return _core.read_golden(str(registry[op].golden_file if golden is None else golden / f"{op}.txt"))


def check_names(what: str, named: Collection[str], there: Collection[str]) -> None:
    """Raises ValueError for a name that is not there, with those that are, or how many."""
    for name in named:
        if name not in there:
            close = get_close_matches(name, there)
            hint = f"; did you mean {' or '.join(close)}?" if close else "."
            known = f"There are: {', '.join(there) or 'none'}" if len(there) <= MANY else f"There are {len(there)}."
            raise ValueError(f"there is no {what} '{name}' here{hint} {known}")


def _choose_places(targets: Sequence[str], devices: Sequence[str]) -> list[str]:
    """CPU targets, if the CPU is among the devices or nothing is named, and CUDA devices."""
    all_targets = _core.supported_targets()
    all_devices = [place for place in _core.places() if place not in all_targets]
    check_names("CPU target", targets, all_targets)
    check_names("device", devices, ["cpu", *all_devices])
    if not targets and not devices:
        return [*all_targets, *all_devices]
    on_cpu = list(targets) or (all_targets if "cpu" in devices else [])
    return list(dict.fromkeys([*on_cpu, *(device for device in devices if device != "cpu")]))


def _run_case(op: str, line: tuple[str, str, str], place: str, threads: int) -> Result:
    expected, marks, case = line
    try:
        digest = _core.run_case(case, place, threads)
        if digest == expected:
            return Result(op, case, place, "passed", digest)
        return Result(op, case, place, "failed", digest, _core.explain_case(expected, marks, case, place, threads))
    except NotImplementedError:
        return Result(op, case, place, "no kernel")
    except Exception as error:
        return Result(op, case, place, "failed", None, f"{type(error).__name__}: {error}")


def run(
    ops: Sequence[str] = (),
    *,
    targets: Sequence[str] = (),
    devices: Sequence[str] = (),
    threads: int | None = None,
    golden: Path | None = None,
    progress: Progress = lambda done, total, what: None,
) -> Report:
    """Runs the golden cases of the ops (all if none is named) on CPU targets and devices, and compares digests.

    `targets` names CPU targets, "avx2"; `devices` names "cpu", which is all targets unless some are named, and
    "cuda:0", …; without both everything runs that this machine can. `threads` defaults to the current number, which
    is as before afterwards. A case that fails is part of the report, with the first element that differs.

    Raises ValueError for an op, a target, a device or a number of threads that there is not, and for a golden file
    that is missing or broken.
    """
    all_ops = sorted(_core.ops)
    check_names("op", ops, all_ops)
    places = _choose_places(targets, devices)
    threads = repdl.get_num_threads() if threads is None else threads
    if not 1 <= threads <= 1024:
        raise ValueError(f"threads must be at least 1 and at most 1024, got {threads}")
    lines = {op: golden_lines(op, golden) for op in dict.fromkeys(ops or all_ops)}
    total = sum(map(len, lines.values())) * len(places)
    report = Report(describe_machine(), repdl.arithmetic_version, threads)
    for place in places:
        start = time.perf_counter()
        for op, cases in lines.items():
            progress(len(report.results), total, f"{place}: {op}")
            report.results += [_run_case(op, line, place, threads) for line in cases]
        report.seconds[place] = round(time.perf_counter() - start, 3)
    progress(total, total, "done")
    return report
