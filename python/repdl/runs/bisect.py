# SPDX-License-Identifier: MIT
"""Finds the first op in which two commands differ, without recording all ops of long runs: `repdl bisect`.

First only what is cheap is recorded, of all steps: batches, parameters and the state of optimizers, results of models,
and numbers that the program reads. Then the ops of the first step that differs, and of the one before. If what differs
was written before those, the ops of all steps up to there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from repdl._content import UNHASHED, UNINITIALISED
from repdl.runs import difference, ops
from repdl.runs.command import Command
from repdl.runs.difference import Difference
from repdl.runs.file import RecordError
from repdl.runs.log import ALL_STEPS
from repdl.runs.run import Call, Run, Value
from repdl.runs.sentence import place

NO_STEP = range(0)

_ITSELF = "The {} command differs from itself: A and B are two runs of it."


class Recorded(NamedTuple):
    """A run of one of the commands, by its name."""

    name: str
    command: Command
    run: Run
    status: int


@dataclass
class Bisected:
    """What was found between two runs, if anything. notes: what else there is to say."""

    a: Recorded
    b: Recorded
    found: Difference | None
    notes: list[str] = field(default_factory=list)


class Bisection:
    """commands: "good" and "bad". folder: for the records. tell: is told what is run. runs: how many were made.

    Raises RecordError: of a command that cannot be run.
    """

    def __init__(self, commands: dict[str, Command], folder: Path, tell: Callable[[str], None]) -> None:
        self.commands, self.folder, self.tell = commands, folder, tell
        self.runs = 0

    def find(self) -> Bisected:
        a, b = self._record("good", NO_STEP), self._record("bad", NO_STEP)
        if not any(_events(a.run)) and not any(_events(b.run)):
            return self._of_all_ops()
        outline = difference.find(a.run, b.run)
        if outline is None:
            return Bisected(a, b, None, _ends(a, b))
        step = outline.call.step
        self.tell(f"the first difference is in {place(outline.call)}")
        for first in sorted({max(0, step - 1), 0}, reverse=True):
            result = self._compared(range(first, step + 1))
            for before, after in ((a, result.a), (b, result.b)):
                varies = _first_other(before.run, after.run)
                if varies is not None and (after is result.a or result.found is None):
                    return self._itself(before, after, varies)
                if varies is not None:
                    result.notes.append(f"The bad command differs from itself too, in {place(varies[0])}.")
            if result.found is not None and not (first and _is_carried(result.found)):
                return result
        if result.found is None:
            result.found = outline
            result.notes.append("Recorded op by op, the runs do not differ.")
        return result

    def _of_all_ops(self) -> Bisected:
        """Of programs that have nothing else."""
        result = self._compared(ALL_STEPS)
        if result.found is not None:
            again = self._record("good", ALL_STEPS)
            if (own := difference.find(result.a.run, again.run)) is not None:
                return Bisected(result.a, again, own, [_ITSELF.format("good")])
        return result

    def _compared(self, steps: range) -> Bisected:
        a, b = self._record("good", steps), self._record("bad", steps)
        return Bisected(a, b, difference.find(a.run, b.run), _ends(a, b))

    def _itself(self, before: Recorded, after: Recorded, varies: tuple[Call, Call]) -> Bisected:
        """Two runs of one command that differ."""
        name, step = before.name, varies[0].step
        steps = range(max(0, step - 1), step + 1)
        a, b = self._record(name, steps), self._record(name, steps)
        found = difference.find(a.run, b.run)
        notes = [_ITSELF.format(name)]
        if found is None:
            a, b = before, after
            found = Difference("result", *varies, [varies], 0)
            notes.append(f"Two more runs of step {step} were equal, so the op is not known.")
        return Bisected(a, b, found, notes)

    def _record(self, name: str, steps: range) -> Recorded:
        self.runs += 1
        command, path = self.commands[name], self.folder / f"{name}{self.runs}"
        ops = "all ops" if steps == ALL_STEPS else f"the ops of steps {steps.start} to {steps.stop - 1}"
        self.tell(f"runs with {ops if steps else 'what is cheap'} recorded, as the {name} one: {command.text}")
        status = command.record(path, steps)
        try:
            return Recorded(name, command, Run(path), status)
        except (RecordError, OSError):
            raise RecordError(f"the {name} command could not be run: it ended with exit status {status}") from None


def _ends(*runs: Recorded) -> list[str]:
    return [f"The {run.name} command ended with exit status {run.status}." for run in runs if run.status]


_READ_OUT = {ops.of(func).name for func in ops.READ_OUT}


def _events(run: Run) -> Iterator[Call]:
    """What a record has of each step, whether its ops are recorded or not."""
    for call in run.calls_from(0):
        if not call.is_evidence and ("::" not in call.name or call.name in _READ_OUT):
            yield call


def _first_other(before: Run, after: Run) -> tuple[Call, Call] | None:
    """In two runs of one command, as far as the second goes."""
    for x, y in zip_longest(_events(before), _events(after)):
        if y is None and after.end is not None and after.end.get("status") == "reached":
            return None
        if x is None or y is None:
            return (x or y, x or y)
        if x.signature != y.signature or any(map(_differ, x.inputs + x.outputs, y.inputs + y.outputs)):
            return x, y
    return None


def _differ(x: Value, y: Value) -> bool:
    return x.hash != y.hash and not {UNHASHED, UNINITIALISED} & {x.hash, y.hash}


def _is_carried(found: Difference) -> bool:
    """What differs was written by no op that is recorded."""
    return found.kind == "input" and any(writer is None for _, writer in found.origins)
