# SPDX-License-Identifier: MIT
"""Finds the first op in which two commands differ, without recording all ops of long runs: `repdl bisect`.

First only what is cheap is recorded, of all steps: batches, parameters and the state of optimizers, results of models,
numbers that the program reads, and the result of one op in so many. Then the ops of the first step that differs, and of
the one before; in the first step, those between the two of these results where the difference is. If what differs was
written before, all ops up to there. If nothing differs, all ops of short runs, or where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from repdl._content import UNHASHED, UNINITIALISED
from repdl.runs import difference, ops
from repdl.runs.columns import Call, Value
from repdl.runs.command import Command
from repdl.runs.difference import Difference
from repdl.runs.file import RecordError
from repdl.runs.log import ALL_STEPS
from repdl.runs.run import Run
from repdl.runs.sentence import place
from repdl.runs.window import ALL_OPS, SAMPLE, Window

NO_STEP = range(0)
SAMPLED = 1000
"""Of how many ops the result of one is recorded."""

SHORT = 20
"""Up to so many of these results a run is short."""

_NOT_ALL = "Of ops the result of one in {} was compared: `repdl bisect --every-op` compares each."

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

    @property
    def is_equal(self) -> bool:
        return self.found is None and self.a.status == self.b.status


class Bisection:
    """commands: "good" and "bad". folder: for the records. tell: is told what is run. runs: how many were made.
    is_thorough: whether all ops of long runs are recorded too, if nothing that is cheap differs.

    Raises RecordError: of a command that cannot be run.
    """

    def __init__(
        self, commands: dict[str, Command], folder: Path, tell: Callable[[str], None], is_thorough: bool = False
    ) -> None:
        self.commands, self.folder, self.tell, self.is_thorough = commands, folder, tell, is_thorough
        self.runs = 0

    def find(self) -> Bisected:
        a, b = (self._record(name, NO_STEP, ALL_OPS._replace(sample=SAMPLED)) for name in ("good", "bad"))
        outline = difference.find(a.run, b.run)
        if outline is None:
            names = [call.name for call in _events(a.run)]
            if self.is_thorough or names.count(SAMPLE) <= SHORT or {*names} == {SAMPLE}:
                self.tell("nothing that is cheap to record differs")
                return self._of_all_ops()
            return Bisected(a, b, None, [*_ends(a, b), _NOT_ALL.format(SAMPLED)])
        self.tell(f"the first difference is in {place(outline.call)}")
        for steps, window in _narrow(outline, a.run, b.run):
            result = self._compared(steps, window)
            for before, after in ((a, result.a), (b, result.b)):
                varies = _first_other(before.run, after.run)
                if varies is not None and (after is result.a or result.found is None):
                    return self._itself(before, after, varies)
                if varies is not None:
                    result.notes.append(f"The bad command differs from itself too, in {place(varies[0])}.")
            is_all = steps.start == window.first == 0
            if result.found is not None and (is_all or not _is_carried(result.found, window)):
                return result
        if result.found is None:
            result.found = outline
            result.notes.append("Recorded op by op, the runs do not differ.")
        return result

    def _of_all_ops(self) -> Bisected:
        """Of programs in which nothing else differs."""
        result = self._compared(ALL_STEPS, ALL_OPS)
        if result.found is not None:
            again = self._record("good", ALL_STEPS, ALL_OPS)
            if (own := difference.find(result.a.run, again.run)) is not None:
                return Bisected(result.a, again, own, [_ITSELF.format("good")])
        elif result.a.status and result.b.status and all(call.is_evidence for call in result.a.run.calls_from(0)):
            raise RecordError(
                "neither command could be run: before any op the good one ended with exit status "
                f"{result.a.status} and the bad one with {result.b.status}"
            )
        return result

    def _compared(self, steps: range, window: Window) -> Bisected:
        a, b = self._record("good", steps, window), self._record("bad", steps, window)
        return Bisected(a, b, difference.find(a.run, b.run), _ends(a, b))

    def _itself(self, before: Recorded, after: Recorded, varies: tuple[Call, Call]) -> Bisected:
        """Two runs of one command that differ."""
        name, step = before.name, varies[0].step
        steps, window = range(max(0, step - 1), step + 1), after.run.window
        a, b = self._record(name, steps, window), self._record(name, steps, window)
        found = difference.find(a.run, b.run)
        notes = [_ITSELF.format(name)]
        if found is None:
            a, b = before, after
            found = Difference("result", *varies, [varies], 0)
            notes.append(f"Two more runs of step {step} were equal, so the op is not known.")
        return Bisected(a, b, found, notes)

    def _record(self, name: str, steps: range, window: Window) -> Recorded:
        self.runs += 1
        command, path = self.commands[name], self.folder / f"{name}{self.runs}"
        ops = "all ops" if steps == ALL_STEPS else f"the ops of steps {steps.start} to {steps.stop - 1}"
        if window[:2] != ALL_OPS[:2]:
            ops = f"the ops from {window.first} to before {window.end}"
        self.tell(f"runs with {ops if steps else 'what is cheap'} recorded, as the {name} one: {command.text}")
        path.unlink(missing_ok=True)  # of an earlier bisection
        status = command.record(path, steps, window)
        try:
            return Recorded(name, command, Run(path), status)
        except (RecordError, OSError) as error:
            why = f"; {error}" if isinstance(error, RecordError) else ""
            raise RecordError(f"the {name} command could not be run: it ended with exit status {status}{why}") from None


def _narrow(outline: Difference, a: Run, b: Run) -> Iterator[tuple[range, Window]]:
    """What to record op by op: where the difference shows first, then from the beginning to there.

    In the first step, and so in a program without optimizers, that is between the results of two ops.
    """
    step = outline.call.step
    if step:
        for first in sorted({step - 1, 0}, reverse=True):
            yield range(first, step + 1), ALL_OPS._replace(sample=SAMPLED)
        return
    run_of_call = b if outline.a is None else a
    equal = run_of_call.counted_before(outline.call.number)  # calls, in both runs
    last, ends = 0, []
    for run in (a, b):
        counted = enumerate(call for call in run.calls_from(0) if not call.is_evidence)
        samples = [(at, int(x.text.split()[0])) for at, x in counted if x.name == SAMPLE]
        last = max([0, *(seen for at, seen in samples if at < equal)])
        ends.append(next((seen for at, seen in samples if at >= equal), ALL_OPS.end))
    for first in sorted({max(0, last - SAMPLED), 0}, reverse=True):
        yield range(1), Window(first, max(ends), SAMPLED)


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


def _is_carried(found: Difference, window: Window) -> bool:
    """What differs was written by no op that is recorded, or an op is missing before all that are."""
    if found.kind == "end" and window.first:
        return True
    return found.kind == "input" and any(writer is None for _, writer in found.origins)
