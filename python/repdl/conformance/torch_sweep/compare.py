# SPDX-License-Identifier: MIT
"""Runs the sweep: shares the work among processes, and compares what they gave."""

from __future__ import annotations

import datetime
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from repdl._machine import commit, describe_machine
from repdl.conformance.settings import Setting
from repdl.conformance.suite import check_names
from repdl.conformance.torch_sweep.children import Pair, Task, run_task
from repdl.conformance.torch_sweep.database import DTYPES, Entry, entries
from repdl.conformance.torch_sweep.outcome import Finding, Outcome, Run, Sweep
from repdl.conformance.torch_sweep.settings import BASE, HELD_BACK, RECORD, settings

Progress = Callable[[int, int, str], None]
"""Is told the number of entries and dtypes done, that of all, and what runs."""

SLICE = (
    "abs", "cat", "cumsum", "exp", "mm", "mul", "nn.functional.layer_norm", "nn.functional.max_pool2d", "sum", "where",
    "nn.Embedding",
)  # fmt: skip
"""One or two ops of each family, for a test."""

SLICE_DTYPES = ("float32", "bfloat16")


def sweep(
    ops: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    *,
    short: bool = False,
    jobs: int | None = None,
    source: str | None = None,
    known_already: Collection[Pair] = (),
    progress: Progress = lambda done, total, what: None,
    partial: Callable[[Sweep], None] = lambda result: None,
) -> Sweep:
    """Runs ops and modules of torch's databases (all if none is named) in every setting that this machine has.

    Args:
        ops: names as in torch's op_db and module_db, "maximum", "nn.functional.linear", "nn.Linear".
        dtypes: "float32", …; all if none is named.
        short: a slice: few samples in two settings, and of few ops and dtypes unless they are named.
        jobs: processes at a time; as many as there are cores if None.
        source: "module:function", gives other entries than torch's databases.
        known_already: ops and dtypes that are left out.
        progress: is told how far it is.
        partial: gets what was found so far, a number of times.

    Raises:
        MissingError: if torch or a package that its databases need is not installed.
        ValueError: for an op or a dtype that there is not.
        WorkerError: if a process does not begin.
    """
    known = entries(source)
    if source is None and short:
        ops, dtypes = ops or SLICE, dtypes or SLICE_DTYPES
    chosen = _chosen("op", ops, list(known))
    pairs = [(n, d) for n in chosen for d in _chosen("dtype", dtypes, list(DTYPES)) if d in known[n].dtypes()]
    pairs = [pair for pair in pairs if pair not in known_already]
    jobs = jobs or len(os.sched_getaffinity(0))
    places = settings(short)
    tasks = list(_tasks(pairs, places, short, jobs, source))
    total = sum(len(task.pairs) for task in tasks)
    collected, lock, done = _Collected(), threading.Lock(), 0

    def tell(task: Task, line: dict[str, Any]) -> None:
        nonlocal done
        with lock:
            if "start" in line:
                progress(done, total, f"{task.setting.name}: {' of '.join(line['start'])}")
                done += 1
            else:
                collected.add(task, line)

    this, left = _run(places), Counter(pair for task in tasks for pair in task.pairs)

    def run(task: Task) -> None:
        run_task(task, tell)
        with lock:
            left.subtract(task.pairs)
            if any(left.values()):
                partial(collected.result(this, known, {pair for pair, tasks in left.items() if tasks == 0}))

    partial(collected.result(this, known, set()))
    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(run, task) for task in tasks]:
            future.result()
    progress(total, total, "done")
    return collected.result(this, known, set(pairs))


def _chosen(what: str, named: Sequence[str], there: list[str]) -> list[str]:
    check_names(what, named, there)
    return list(dict.fromkeys(named)) or there


PIECE = 500
"""So many entries and dtypes are done in all settings before the next; to begin a process takes as long as 100 do."""


def _tasks(pairs: list[Pair], known: list[Setting], short: bool, jobs: int, source: str | None) -> Iterable[Task]:
    """In pieces of few dtypes, so that all processes have work to the end, and what was done tells something before."""
    pairs = sorted(pairs, key=lambda pair: DTYPES.index(pair[1]))
    size = len(pairs) if short else min(PIECE, max(40, len(pairs) // jobs))
    for i in range(0, len(pairs), max(1, size)):
        piece = pairs[i : i + size]
        for setting in known:
            amount = "slice" if short else "whole" if setting.name in (BASE, HELD_BACK) else "part"
            yield Task(setting, "base" if setting.name == BASE else "other", piece, amount, source)
        if source is None:
            yield Task(Setting(RECORD), "audit", piece, "slice" if short else "whole")


def _run(places: list[Setting]) -> Run:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = describe_machine()
    return Run(commit() or machine["version"], today, machine["CPU"], tuple(setting.name for setting in places))


class _Collected:
    """The lines of all processes."""

    def __init__(self) -> None:
        self.cases: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
        self.classes: dict[str, dict[str, str]] = defaultdict(dict)
        self.fates: list[tuple[str, Pair, str]] = []
        self.cut: dict[Pair, int] = {}
        self.without_samples: dict[Pair, str] = {}

    def add(self, task: Task, line: dict[str, Any]) -> None:
        if "case" in line:
            self.cases[line["entry"], line["dtype"], line["case"]][task.setting.name] = line
        elif "classes" in line:
            self.classes[line["entry"]][line["dtype"]] = line["classes"]
        elif "fate" in line:
            self.fates.append((task.setting.name, (line["pair"][0], line["pair"][1]), line["fate"]))
        elif "cut" in line:
            pair = line["cut"][0], line["cut"][1]
            self.cut[pair] = max(self.cut.get(pair, 0), line["trials"])
        elif "no samples" in line:
            self.without_samples[line["no samples"][0], line["no samples"][1]] = line["error"]

    def result(self, run: Run, known: dict[str, Entry], done: set[Pair]) -> Sweep:
        """Of those entries and dtypes that were done in all settings."""
        outcomes: dict[str, dict[str, Outcome]] = defaultdict(dict)
        for op in known:
            for dtype in DTYPES:
                if (op, dtype) in done:
                    word, cut = self.classes[op].get(dtype, "–"), self.cut.get((op, dtype), 0)
                    outcomes[op][dtype] = Outcome(word, run, cut=cut)
        found = _Findings()
        for (op, dtype, case), lines in self.cases.items():
            base = lines.get(BASE)
            if (op, dtype) not in done or base is None or base["status"] == "no sample":
                continue
            outcome = outcomes[op][dtype]
            outcome.trials += 1
            forms = ["forward"] if base["status"] == "raises" else base.get("raises", [])
            outcome.raises += [form for form in forms if form not in outcome.raises]
            for kind, form, details in _of_case(lines, run.settings):
                found.add(kind, op, dtype, form, details, case)
        for (op, dtype), error in self.without_samples.items():
            if (op, dtype) in done:
                found.add("breaks", op, dtype, "samples", [error], "")
        for setting, (op, dtype), fate in self.fates:
            kind, phase = fate.split()
            if (op, dtype) not in done:
                continue
            if phase == "ours":
                found.add(kind, op, dtype, "forward", [setting], "")
            else:
                outcomes[op][dtype].stock = kind
                outcomes[op][dtype].skipped += 1
        of = Counter(dtype for entry in known.values() for dtype in entry.dtypes())
        return Sweep(
            describe_machine()["torch"],
            {dtype: of[dtype] for dtype in DTYPES if of[dtype]},
            dict(outcomes),
            found.sorted(),
        )


class _Findings:
    def __init__(self) -> None:
        self.cases: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
        self.details: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)

    def add(self, kind: str, op: str, dtype: str, form: str, details: list[str], case: str) -> None:
        key = (kind, op, dtype, form)
        self.cases[key].append(case)
        self.details[key] += [text for text in details if text not in self.details[key]]

    def sorted(self) -> list[Finding]:
        """Of errors and wrong values the first one is told, of differences all."""
        found = []
        for key, cases in self.cases.items():
            details = self.details[key]
            text = "; ".join(details) if key[0] in ("differs", "crashes", "hangs") else details[0]
            found.append(Finding(*key, text, cases))
        return sorted(found, key=lambda f: (f.kind, f.op, DTYPES.index(f.dtype), f.form))


def _of_case(lines: dict[str, dict[str, Any]], settings: Sequence[str]) -> Iterable[tuple[str, str, list[str]]]:
    """Kind, form and details of all that is wrong with a case, in the settings in which it ran."""
    base = lines[BASE]
    for kind in ("wrong", "breaks"):
        for form, text in base.get(kind, {}).items():
            yield kind, form, [text]
    within: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    differs: dict[str, list[str]] = defaultdict(list)
    for setting, line in lines.items():
        for form, how in line.get("differs", ()):
            within[form][how].append(setting)
        if setting == BASE:
            continue
        if line["status"] == base["status"] == "raises":
            continue
        if line["inputs"] != base["inputs"]:
            differs["sample"].append(setting)
            continue
        if line["status"] != base["status"]:
            differs["forward"].append(f"{line['status']} with {setting}")
            continue
        before, after = base.get("bits", {}), line.get("bits", {})
        differs_here = [form for form in before.keys() & after.keys() if before[form] != after[form]]
        for form in differs_here:
            differs[form].append(setting)
    for form, ways in within.items():
        differs[form] += [
            how if BASE in where else f"{how} (with {'any' if len(where) == len(settings) - 1 else ', '.join(where)})"
            for how, where in ways.items()
        ]
    for form, where in sorted(differs.items()):
        yield "differs", form, where
