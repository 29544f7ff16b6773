# SPDX-License-Identifier: MIT
"""Runs what build.py built: golden files, LeNet and C++ tests, on each target of a platform."""

from __future__ import annotations

import json
import platform as host
import re
import shlex
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from build import CommandError, Programs, attempt, version_of
from matrix import ROOT, Platform, Run

GOLDEN = ROOT / "python/repdl/golden"
LENET = json.loads((GOLDEN / "lenet_patterns.json").read_text())
ROW = re.compile(r"^(\w+) +\d+ +(\d+) +(\d+) +(\d+) +\d+ +[\d.]+$", re.MULTILINE)
LENET_LINE = re.compile(
    r"^(blocked|sequential) (initial model|losses|trained model|logits|accuracy) (\S+)$", re.MULTILINE
)


@dataclass(frozen=True)
class Result:
    """What a target gave: a row of docs/platforms.jsonl."""

    platform: str
    target: str
    machine: str  # the CPU that all ran on
    cpu: str  # what the emulator was told to be
    compiler: str
    flags: str
    emulator: str
    threads: tuple[int, ...]
    cases: int
    passed: int
    lenet: bool
    cxx_tests: int
    seconds: float
    commit: str
    date: str
    command: str
    output: str  # of what failed; not recorded

    @property
    def ok(self) -> bool:
        return 0 < self.cases == self.passed and self.lenet and not self.output


def cpu_name() -> str:
    """Of this machine. The package knows too, but need not be built here."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found.group(1).strip() if found else host.machine()


@cache  # once: what is recorded afterwards is not what was tried
def commit() -> str:
    """Of this checkout, with "-dirty" if files differ from it; empty where git does not know it."""
    said, failure = attempt("git", "-C", ROOT, "describe", "--always", "--abbrev=12", "--dirty")
    return "" if failure else said.strip()


def lenet_agrees(output: str) -> bool:
    values: dict[str, dict[str, str]] = {"blocked": {}, "sequential": {}}
    for order, what, value in LENET_LINE.findall(output):
        values[order][what] = value
    return values == {order: {k: str(v) for k, v in expected.items()} for order, expected in LENET.items()}


def available(emulated: tuple[str, ...], env: dict[str, str], programs: Programs) -> tuple[str, ...]:
    """The targets of this machine, from the table of a short run. Raises CommandError if there is no table."""
    output, failure = attempt(*emulated, programs.conformance, GOLDEN, "--op", "relu", env=env)
    targets = tuple(target for target, *_ in ROW.findall(output))
    if not targets:
        raise CommandError(failure or f"{programs.conformance} prints no table\n{output}")
    return targets


def check(platform: Platform, programs: Programs, ops: tuple[str, ...], threads: tuple[int, ...]) -> Iterator[Result]:
    """A result for each target that can run. Raises CommandError if one of a `runs` entry cannot."""
    emulator = version_of(platform.emulator[0]) if platform.emulator else ""
    compiler = version_of(platform.compiler)
    for run in platform.runs:
        env = {"QEMU_CPU": run.cpu} if run.cpu else {}
        targets = available(platform.emulator, env, programs)
        if missing := set(run.targets) - set(targets):
            raise CommandError(
                f"{platform.name} cannot run {', '.join(sorted(missing))} on the CPU {run.cpu or 'by default'}"
            )
        for target in run.targets or targets:
            yield check_target(platform, programs, run, target, ops, threads, env, emulator, compiler)


def check_target(
    platform: Platform, programs: Programs, run: Run, target: str, ops: tuple[str, ...], threads: tuple[int, ...],
    env: dict[str, str], emulator: str, compiler: str,
) -> Result:  # fmt: skip
    start = time.monotonic()
    chosen = [word for op in ops for word in ("--op", op)]
    cases = passed = 0
    output = ""
    target_env = env | {"REPDL_TARGET": target, "OMP_NUM_THREADS": str(threads[-1])}
    with ThreadPoolExecutor() as beside:  # an emulator keeps one core busy, of two
        training = beside.submit(attempt, *platform.emulator, programs.lenet, env=target_env)
        for n in threads:
            words = (*platform.emulator, programs.conformance, GOLDEN, "--target", target, "--threads", str(n), *chosen)
            said, failure = attempt(*words, env=env)
            row = ROW.search(said)
            output += failure or ("" if row else f"no table of the golden cases\n{said}")
            if row:
                cases, passed = cases + int(row.group(2)), passed + int(row.group(3))
        said, failure = training.result()
    lenet = lenet_agrees(said)
    output += failure or ("" if lenet else said)

    cxx_tests = 0
    if programs.cxx_tests:
        chosen_tests = f"--gtest_filter={':'.join(platform.cxx_tests)}"
        words = (*platform.emulator, programs.cxx_tests, chosen_tests, "--gtest_brief=1")
        said, failure = attempt(*words, env=target_env)
        done = re.search(r"\[  PASSED  \] (\d+) tests?\.$", said, re.MULTILINE)
        cxx_tests = int(done.group(1)) if done else 0
        output += failure or ("" if cxx_tests else f"no C++ test has run\n{said}")

    words = [*platform.emulator, "repdl_conformance", str(GOLDEN.relative_to(ROOT)), "--target", target]
    words += ["--threads", str(threads[-1])]
    prefix = f"QEMU_CPU={run.cpu} " if run.cpu else ""
    command = prefix + shlex.join(words)
    seconds, today = round(time.monotonic() - start, 1), datetime.now(UTC).date().isoformat()
    return Result(
        platform.name, target, cpu_name(), run.cpu, compiler, platform.flags, emulator, threads, cases, passed, lenet,
        cxx_tests, seconds, commit(), today, command, output,
    )  # fmt: skip
