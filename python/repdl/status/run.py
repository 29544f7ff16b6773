# SPDX-License-Identifier: MIT
"""Shares ops and dtypes among processes, and goes on where an earlier run ended."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from repdl._machine import commit, describe_machine
from repdl.conformance.suite import check_names
from repdl.conformance.torch_sweep.children import Pair, Task, run_task
from repdl.conformance.torch_sweep.database import Entry, OpEntry, entries
from repdl.conformance.torch_sweep.outcome import Run
from repdl.experiments.workers import SAME
from repdl.status.table import DTYPES, FormatError, Row, Status
from repdl.status.worker import settings

WORKER = "repdl.status.worker"

Progress = Callable[[int, int, str], None]
"""Is told the number of ops and dtypes done, that of all, and the last one."""


def measure(
    ops: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    *,
    jobs: int = 1,
    alone: bool = False,
    source: str | None = None,
    earlier: Status | None = None,
    progress: Progress = lambda done, total, what: None,
    partial: Callable[[Status], None] = lambda result: None,
) -> Status:
    """Measures ops of torch's op_db (all if none is named) in every way that this machine has.

    Args:
        ops: names as in op_db, "sum", "nn.functional.linear".
        dtypes: of "float32", "bfloat16" and "float64"; all if none is named.
        jobs: processes at a time; each asks others, with other instruction sets.
        alone: whether these others are left out, and with them what depends on the instruction set.
        source: "module:function", gives other entries than op_db.
        earlier: what is known already. It is not measured again, except for ops that are named.
        progress: is told how far it is.
        partial: gets what is known so far, after each op and dtype.

    Raises:
        MissingError: if torch's samples cannot be read.
        FormatError: if `earlier` is of another torch.
        ValueError: for an op or a dtype that there is not.
        WorkerError: if a process does not begin.
    """
    if earlier is not None and earlier.torch != torch.__version__:
        raise FormatError(f"it is of torch {earlier.torch}, and this is {torch.__version__}: name another file")
    known = _measurable(source)
    check_names("op", ops, list(known))
    check_names("dtype", dtypes, list(DTYPES))
    of = {dtype: sum(dtype in entry.dtypes() for entry in known.values()) for dtype in DTYPES}
    result = earlier or Status(torch.__version__, of)
    pairs = [(n, d) for d in dtypes or DTYPES for n in ops or known if d in known[n].dtypes()]
    pairs = [(n, d) for n, d in pairs if ops or d not in result.rows.get(n, {})]
    together = _Together(result, _run(alone), len(pairs), progress, partial)
    shares = [pairs[i::jobs] for i in range(min(jobs, len(pairs)))]  # each with the most used dtype first
    tasks = [Task(SAME, "measure", share, "alone" if alone else "whole", source, WORKER) for share in shares]
    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(run_task, task, together.tell) for task in tasks]:
            future.result()
    return together.result


def _measurable(source: str | None) -> dict[str, Entry]:
    """Of torch's databases that of the ops."""
    known = entries(source)
    return {name: e for name, e in known.items() if source is not None or isinstance(e, OpEntry)}


def _run(alone: bool) -> Run:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = describe_machine()
    places = [] if alone else settings()
    return Run(commit() or machine["version"], today, machine["CPU"], tuple(place.name for place in places))


class _Together:
    """What all processes find."""

    def __init__(
        self, result: Status, run: Run, total: int, progress: Progress, partial: Callable[[Status], None]
    ) -> None:
        self.result, self.run, self.total, self.progress, self.partial = result, run, total, progress, partial
        self.lock, self.done = threading.Lock(), 0
        self.fates: dict[Pair, list[str]] = {}
        self.clock = time.monotonic()

    def tell(self, task: Task, line: dict[str, Any]) -> None:
        with self.lock:
            if "fate" in line:
                pair = line["pair"][0], line["pair"][1]
                self.fates.setdefault(pair, []).append(f"{line['fate'].split()[0]}: {line.get('call', 'no call')}")
                return
            op, dtype = line["start"]
            row = Row.read(line["row"], self.run)
            row.fates = self.fates.get((op, dtype), [])
            self.result.rows.setdefault(op, {})[dtype] = row
            self.done += 1
            self.progress(self.done, self.total, f"{op} of {dtype}")
            now = time.monotonic()
            self.result.seconds += now - self.clock
            self.clock = now
            self.partial(self.result)
