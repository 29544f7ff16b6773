# SPDX-License-Identifier: MIT
"""Runs worker processes, and goes on where one crashes or hangs."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from repdl.conformance.settings import Setting

SILENCE = 120.0
"""Seconds after which a worker that writes nothing is taken to hang, on a busy machine too."""

HELD_BACK_BY = ("REPDL_TARGET", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "REPDL_STRICT")

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


def run_task(task: Task, tell: Callable[[Task, dict[str, Any]], None]) -> None:
    """Runs a task to its end, in as many processes as it takes; `tell` gets each line, and crashes and hangs."""
    rest = list(task.pairs)
    while rest:
        begun, fate = _run_process(task, rest, tell)
        if fate is None:
            return
        if not begun:
            raise WorkerError(f"the worker for '{task.setting.name}' did not begin: {fate}")
        tell(task, {"fate": fate, "pair": list(begun[-1])})
        rest = [pair for pair in rest if pair not in begun]


def _run_process(
    task: Task, pairs: list[Pair], tell: Callable[[Task, dict[str, Any]], None]
) -> tuple[list[Pair], str | None]:
    """The pairs that were begun, and what became of the process in the last one if it did not end as it should."""
    environment = {k: v for k, v in os.environ.items() if k not in HELD_BACK_BY} | {"OMP_WAIT_POLICY": "passive"}
    environment["PYTHONHASHSEED"] = "0"  # torch takes some samples from sets
    with subprocess.Popen(
        [sys.executable, "-m", "repdl.conformance.torch_sweep.worker"],
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
            job = {"role": task.role, "pairs": pairs, "amount": task.amount, "source": task.source}
            with suppress(BrokenPipeError):  # it has ended already; why is told below
                process.stdin.write(json.dumps(job))
                process.stdin.close()
            begun, phase, ended = _read(task, lines, tell)
            if not ended:
                return begun, f"hangs {phase}"
            status = process.wait()
        finally:
            process.kill()
            for reader in readers:
                reader.join()
    if status == 0:
        return begun, None
    if not begun:
        return begun, "".join(errors).strip() or f"exit status {status}"
    return begun, f"crashes {phase}"


def _read(
    task: Task, lines: queue.Queue[str | None], tell: Callable[[Task, dict[str, Any]], None]
) -> tuple[list[Pair], str, bool]:
    """Passes lines on; the pairs that were begun, the phase of the last, and whether the lines came to an end.

    Stock torch is asked of several pairs before the first is begun: if it crashes, that pair alone counts as begun.
    """
    begun: list[Pair] = []
    asked: list[Pair] = []
    while True:
        try:
            text = lines.get(timeout=SILENCE)
        except queue.Empty:
            text = ""
        if not text:
            return begun + asked, "stock" if asked else "ours", text is None
        line = json.loads(text)
        if "stock" in line:
            asked = [(line["stock"][0], line["stock"][1])]
            continue
        if "start" in line:
            begun.append((line["start"][0], line["start"][1]))
            asked = []
        tell(task, line)


def _pass_on(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _keep_last(stream: Any, kept: list[str]) -> None:
    for line in stream:
        kept.append(line)
        del kept[:-20]
