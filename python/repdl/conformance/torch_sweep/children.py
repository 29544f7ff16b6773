# SPDX-License-Identifier: MIT
"""Runs worker processes, and goes on where one crashes or hangs."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from repdl.conformance.settings import Setting

SILENCE = 300.0
"""Seconds after which a worker that writes nothing is taken to hang, on a busy machine too."""

STEPS = 30
"""In which it is waited."""

HELD_BACK_BY = ("REPDL_TARGET", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "REPDL_STRICT")

MOST_SKIPPED = {"crashes": 8, "hangs": 2}
"""Samples of an entry and dtype, by what stock torch does with them. With more of them the rest is left out."""

Pair = tuple[str, str]
"""An entry and a dtype."""


class WorkerError(RuntimeError):
    """A worker that could not begin."""


@dataclass(frozen=True)
class Task:
    setting: Setting
    role: str
    pairs: list[Pair]
    amount: str
    source: str | None = None
    worker: str = "repdl.conformance.torch_sweep.worker"


def run_task(task: Task, tell: Callable[[Task, dict[str, Any]], None]) -> None:
    """Runs a task to its end, in as many processes as it takes; `tell` gets each line, and crashes and hangs.

    A sample with which stock torch crashes or hangs is left out, and its entry begun again.
    """
    rest = list(task.pairs)
    skipped: dict[Pair, list[str]] = defaultdict(list)
    while rest:
        begun, fate, asked = _run_process(task, rest, skipped, tell)
        if fate is None:
            return
        if not begun and asked is None:
            raise WorkerError(f"the worker for '{task.setting.name}' did not begin: {fate}")
        if asked is not None:
            pair, case = asked
            skipped[pair].append(case)
            tell(task, {"fate": fate, "pair": list(pair), "call": case})
            if len(skipped[pair]) > MOST_SKIPPED[fate.split()[0]]:
                begun.append(pair)
        else:
            tell(task, {"fate": fate, "pair": list(begun[-1])})
        rest = [pair for pair in rest if pair not in begun]


Asked = tuple[Pair, str]
"""The sample that stock torch is asked of."""


def _run_process(
    task: Task, pairs: list[Pair], skipped: dict[Pair, list[str]], tell: Callable[[Task, dict[str, Any]], None]
) -> tuple[list[Pair], str | None, Asked | None]:
    """The pairs that were begun; what became of the process if it did not end as it should; and in which sample.

    That is one of stock torch; None stands for the last of the pairs.
    """
    environment = {k: v for k, v in os.environ.items() if k not in HELD_BACK_BY} | {"OMP_WAIT_POLICY": "passive"}
    environment["PYTHONHASHSEED"] = "0"  # torch takes some samples from sets
    with subprocess.Popen(
        [sys.executable, "-m", task.worker],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | task.setting.environment,
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        lines: queue.Queue[str | None] = queue.Queue()
        errors: list[str] = []
        readers = [
            threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True),
            threading.Thread(target=_keep_last, args=(process.stderr, errors), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            skip = [[*pair, case] for pair, cases in skipped.items() for case in cases]
            job = {"role": task.role, "pairs": pairs, "amount": task.amount, "source": task.source, "skip": skip}
            with suppress(BrokenPipeError):  # it has ended already; why is told below
                process.stdin.write(json.dumps(job))
                process.stdin.close()
            begun, asked, ended = _read(task, lines, tell)
            phase = "ours" if asked is None else "stock"
            if not ended:
                return begun, f"hangs {phase}", asked
            status = process.wait()
        finally:
            process.kill()
            for reader in readers:
                reader.join()
    if status == 0:
        return begun, None, None
    if not begun and asked is None:
        return begun, "".join(errors).strip() or f"exit status {status}", None
    return begun, f"crashes {phase}", asked


def _read(
    task: Task, lines: queue.Queue[str | None], tell: Callable[[Task, dict[str, Any]], None]
) -> tuple[list[Pair], Asked | None, bool]:
    """Passes lines on; the pairs that were begun, the sample of stock torch behind which nothing came, and whether the
    lines came to an end. Stock torch is asked of several pairs before the first is begun."""
    begun: list[Pair] = []
    asked: Asked | None = None
    while True:
        text = _next(lines)
        if not text:
            return begun, asked, text is None
        line = json.loads(text)
        if "stock" in line:
            asked = (line["stock"][0], line["stock"][1]), line["stock"][2]
            continue
        asked = None
        if "start" in line:
            begun.append((line["start"][0], line["start"][1]))
        tell(task, line)


def _next(lines: queue.Queue[str | None]) -> str | None:
    """The next line; None at the end, and "" after a long silence.

    It is waited for in steps, of which one at most ends while all processes are stopped.
    """
    for _ in range(STEPS):
        with suppress(queue.Empty):
            return lines.get(timeout=SILENCE / STEPS)
    return ""


def _pass_on(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _keep_last(stream: Any, kept: list[str]) -> None:
    for line in stream:
        kept.append(line)
        del kept[:-20]
