# SPDX-License-Identifier: MIT
"""A process that measures: reads a job from its input, ops and dtypes, and writes a line of JSON for each."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

from repdl import allow_native
from repdl.conformance.settings import Setting
from repdl.conformance.torch_sweep import settings as places
from repdl.conformance.torch_sweep.children import Pair
from repdl.conformance.torch_sweep.database import Entry, entries
from repdl.conformance.torch_sweep.outcome import Run
from repdl.conformance.torch_sweep.samples import Sample
from repdl.conformance.torch_sweep.stock import attempt
from repdl.conformance.torch_sweep.worker import read_job
from repdl.experiments import devices
from repdl.experiments.settings import threads
from repdl.experiments.workers import SAME, Workers
from repdl.status import elsewhere
from repdl.status.calls import WANTED, Calls
from repdl.status.columns import Column
from repdl.status.table import COLUMNS, DIRECTIONS, FORWARD, INSTRUCTIONS, OURS, RUN, STOCK, Cell, Row
from repdl.status.trial import Call, Trial, distance, taken

TOGETHER = 16
"""Of so many ops and dtypes the calls are made at once, and then measured in each column."""

SECONDS = 1.2
"""Of a processor, after which the rest of the calls of an op and dtype is left out in a column."""

Named = dict[str, Call]
"""Calls by label."""


def settings() -> list[Setting]:
    """Of the other processes: as this one is, and with the least of all instruction sets."""
    return [SAME, places.settings(short=True)[-1]]


class Measurer:
    """others: the settings of other processes. skip: ops, dtypes and calls, "torch: 3 rows", that end a process."""

    def __init__(
        self,
        known: dict[str, Entry],
        run: Run,
        others: Sequence[Setting],
        source: str | None = None,
        skip: Collection[tuple[str, str, str]] = (),
    ) -> None:
        self.known, self.run, self.source, self.skip = known, run, source, skip
        self.workers = Workers(others, elsewhere.MODULE, elsewhere.MOST_ENDS)
        self.column = Column()

    def begins(self, pair: Pair, case: str) -> None:
        """Is told before each call in each column."""

    def measure(self, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Row]]:
        with self.workers, threads(1):
            try:
                for i in range(0, len(pairs), TOGETHER):
                    yield from self._together(pairs[i : i + TOGETHER])
            finally:
                self.column.take(STOCK)

    def _together(self, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Row]]:
        self.column.take(OURS)  # every process draws the same numbers then
        made = {pair: self._made(pair) for pair in pairs}
        self.column.take(STOCK)
        known = {pair: {} if calls is None else self._taken(pair, calls) for pair, calls in made.items()}
        together = [[*pair, label] for pair, calls in known.items() for label in calls]
        rows = {pair: Row(self.run) for pair in pairs}
        for column in COLUMNS:
            self.column.take(column)
            for pair, calls in known.items():
                self._column(pair, column, calls, rows[pair], together)
        yield from rows.items()

    def _made(self, pair: Pair) -> Calls | None:
        """None for an op of which torch can make no samples here."""
        with allow_native("samples"), suppress(Exception):
            return Calls(self.known[pair[0]], pair[1])
        return None

    def _taken(self, pair: Pair, made: Calls) -> Named:
        """Those of each form that torch takes."""
        found: Named = {}
        for form, left in WANTED.items():
            begin = time.process_time()
            for label in made.labels(form):
                if (call := self._one_taken(pair, label, made)) is not None:
                    found[label] = call
                    left -= 1
                if not left or time.process_time() - begin > SECONDS:
                    break
        return found

    def _one_taken(self, pair: Pair, label: str, made: Calls) -> Call | None:
        case = f"{STOCK}: {label}"
        sample: Sample | None = attempt(made.make, label)[0] if (*pair, case) not in self.skip else None
        if sample is None:
            return None
        self.begins(pair, case)
        return taken(sample, *pair, self.known[pair[0]].differentiable(pair[1]))

    def _column(self, pair: Pair, column: str, calls: Named, row: Row, together: list[list[str]]) -> None:
        begin = time.process_time()
        for label, call in calls.items():
            case = f"{column}: {label}"
            if (*pair, case) in self.skip:
                continue
            if time.process_time() - begin > SECONDS:
                row.cut += 1
                continue
            self.begins(pair, case)
            self._trial(pair, column, label, call, row, together)

    def _trial(self, pair: Pair, column: str, label: str, call: Call, row: Row, together: list[list[str]]) -> None:
        trial = Trial(call)
        cells = {
            direction: row.cells.setdefault(direction, {}).setdefault(column, Cell())
            for direction in (DIRECTIONS if call.differentiable else (FORWARD,))
        }
        for direction, cell in cells.items():
            cell.calls += 1
            cell.raises += direction in trial.refused
            if direction in trial.refused and not cell.refusal:
                cell.refusal = trial.refused[direction]
        if not trial.results:
            return
        if trial.slow:
            row.cut += 1
            return
        asked = bool(self.workers.workers)
        if asked:
            question = {
                "call": [*pair, label],
                "together": together,
                "source": self.source,
                "column": column,
                "inputs": elsewhere.inputs(call.sample),
            }
            self.workers.send(question, trial.results)
        for again in trial.ways(pair[0], devices.at_hand()):
            for direction in again.expected.keys() & again.got.keys():
                found = distance(again.expected[direction], again.got[direction])
                cells[direction].note(again.kind, found, f"{label}, {again.name}")
        if asked:
            self._note_replies(cells, label)

    def _note_replies(self, cells: dict[str, Cell], label: str) -> None:
        """Nothing is said of instruction sets where another process with the same differs, or another run."""
        for name, told in self.workers.replies().items():
            kind = RUN if name == SAME.name else INSTRUCTIONS
            for direction, found in told.get("found", {}).items():
                if kind == RUN or not cells[direction].varies(RUN):
                    cells[direction].note(kind, found, f"{label}, {name}")


class _Told(Measurer):
    """Says before each call which it is, so that one that ends the process is known."""

    output: Any

    def begins(self, pair: Pair, case: str) -> None:
        self.write({"stock": [*pair, case]})

    def write(self, line: dict[str, Any]) -> None:
        self.output.write(json.dumps(line) + "\n")
        self.output.flush()


def main() -> None:
    job, output = read_job()
    others = settings() if job["amount"] == "whole" else []
    skip = {tuple(case) for case in job["skip"]}
    measurer = _Told(entries(job["source"]), Run("", "", "", ()), others, job["source"], skip)
    measurer.output = output
    for pair, row in measurer.measure([tuple(pair) for pair in job["pairs"]]):
        measurer.write({"start": list(pair), "row": row.to_json(0)})


if __name__ == "__main__":
    main()
