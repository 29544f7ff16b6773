# SPDX-License-Identifier: MIT
"""Where two runs differ first.

Blocks of calls are compared by their digests, and the calls of the first block that differs one by one. Where the runs
took different paths, the calls from there on are aligned by their signatures, as lines of a text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from repdl._content import UNINITIALISED
from repdl.runs import batches, settings
from repdl.runs.columns import Call, Value
from repdl.runs.file import RecordError
from repdl.runs.log import ALL_STEPS
from repdl.runs.run import AnyRun

if TYPE_CHECKING:
    from repdl.runs.capture import Captured
    from repdl.runs.cause import Cause

BEFORE, AFTER = 20, 240
"""Calls around the first difference that are shown."""

FACTS = ("torch", "build", "repdl", "python", "machine", "capability")
"""Of the header of a run, those on which bits may depend."""

Row = tuple[Call | None, Call | None]


@dataclass
class Difference:
    """The first difference of two runs.

    kind: "result", an op gave another result; "input", it was given another one; "arguments", it was called with
        others; "path", another op was called; "end", one of the runs ended.
    a, b: the calls, None where a run has none.
    rows: calls around it, of both runs side by side; `at` is the row of the difference.
    origins: for each input that differs, its number and the call of the first run that wrote it, if one did.
    generators: which random generators were in another state already.
    settings: by name, those that were others, and what they were in both runs.
    order: of data that are loaded, what is known of their order, if it is another one in B.
    cause: what experiments found, if they were made.
    captured: the tensors of the op, if they are kept.
    """

    kind: str
    a: Call | None
    b: Call | None
    rows: list[Row]
    at: int
    origins: list[tuple[int, Call | None]] = field(default_factory=list)
    generators: list[str] = field(default_factory=list)
    settings: dict[str, tuple[str, str]] = field(default_factory=dict)
    order: str = ""
    cause: Cause | None = None
    captured: Captured | None = None

    @property
    def call(self) -> Call:
        found = self.a or self.b
        assert found is not None
        return found

    @property
    def inputs_equal(self) -> bool | None:
        """None where no call of one run is that of the other."""
        return None if self.kind in ("path", "end") else self.kind != "input"


def find(a: AnyRun, b: AnyRun) -> Difference | None:
    """None if the runs are equal.

    Raises:
        RecordError: if a file is damaged, or the runs were not recorded alike.
    """
    if (a.sampling, a.window) != (b.sampling, b.window):
        raise RecordError(f"one run has ops of {_steps(a)}, the other of {_steps(b)}: record both alike")
    block = _first_block(a, b)
    if block is None:
        return None
    before: deque[Row] = deque(maxlen=BEFORE)
    evidence: dict[int, Call] = {}
    calls_a, calls_b = _counted(a, block, 0, evidence), _counted(b, block, 1, evidence)
    for call_a, call_b in zip_longest(calls_a, calls_b):
        if call_a is not None and call_b is not None and call_a.digest == call_b.digest:
            before.append((call_a, call_b))
            continue
        states = _complete(a, b, block, evidence)  # what follows is read for its neighbours
        rows = [*before, *_aligned([call_a, *islice(calls_a, AFTER)], [call_b, *islice(calls_b, AFTER)])]
        found = _described(a, call_a, call_b, rows, len(before))
        found.generators = _generators(found, states)
        found.settings = _settings(a, b, states)
        if found.call.phase == "data loading":
            found.order = _order(found, a, b)
        return found
    return None


def _steps(run: AnyRun) -> str:
    first, end, every = run.sampling
    return f"each {every} steps" + ("" if first == 0 and end == ALL_STEPS.stop else f" from {first} to before {end}")


def _first_block(a: AnyRun, b: AnyRun) -> int | None:
    """The first that differs: how many blocks are equal, by digests of all before them."""
    low, high = 0, min(a.count, b.count)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a.prefix(middle) == b.prefix(middle) else (low, middle - 1)
    return None if low == a.count == b.count else low


def _counted(run: AnyRun, block: int, side: int, evidence: dict[int, Call]) -> Iterator[Call]:
    """The calls that count; the latest evidence is put aside."""
    for call in run.calls_from(block):
        if batches.is_state(call):
            evidence[side] = call
        if not call.is_evidence:
            yield call


def _described(run: AnyRun, a: Call | None, b: Call | None, rows: list[Row], at: int) -> Difference:
    if a is None or b is None:
        return Difference("end", a, b, rows, at)
    if a.signature != b.signature:
        if rows[at] == (a, b) and a.name == b.name:
            return Difference("arguments", a, b, rows, at)
        return Difference("path", *rows[at], rows, at)
    different = [i for i, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=True)) if x.hash != y.hash]
    origins = [(i, run.call(a.inputs[i].writer)) for i in different]
    return Difference("input" if different else "result", a, b, rows, at, origins)


def _aligned(a: list[Call | None], b: list[Call | None]) -> Iterator[Row]:
    """The calls of both, those of one signature side by side."""
    calls_a, calls_b = [c for c in a if c is not None], [c for c in b if c is not None]
    keys_a, keys_b = [c.signature for c in calls_a], [c.signature for c in calls_b]
    for _, begin_a, end_a, begin_b, end_b in SequenceMatcher(None, keys_a, keys_b, autojunk=False).get_opcodes():
        yield from _paired(calls_a[begin_a:end_a], calls_b[begin_b:end_b])


def _paired(a: list[Call], b: list[Call]) -> Iterator[Row]:
    """Of a stretch that differs, or is equal: ops of one name side by side, and others alone."""
    keys = [c.name for c in a], [c.name for c in b]
    for _, begin_a, end_a, begin_b, end_b in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if end_a - begin_a == end_b - begin_b and keys[0][begin_a:end_a] == keys[1][begin_b:end_b]:
            yield from zip(a[begin_a:end_a], b[begin_b:end_b], strict=True)
        else:
            yield from ((call, None) for call in a[begin_a:end_a])
            yield from ((None, call) for call in b[begin_b:end_b])


def _complete(a: AnyRun, b: AnyRun, block: int, evidence: dict[int, Call]) -> dict[int, Call]:
    """The latest evidence of each run."""
    before = {side: run.state_before(block) for side, run in enumerate((a, b)) if side not in evidence}
    return evidence | {side: call for side, call in before.items() if call is not None}


def _order(found: Difference, a: AnyRun, b: AnyRun) -> str:
    """Of the batch that is, or was about to be, loaded."""
    sides = zip(*found.rows[found.at :], strict=True)
    loaded = [next((call for call in side if call is not None and call.name == batches.NAME), None) for side in sides]
    return "" if loaded[0] is None or loaded[1] is None else batches.order(a, loaded[0], b, loaded[1])


def _settings(a: AnyRun, b: AnyRun, states: dict[int, Call]) -> dict[str, tuple[str, str]]:
    """What both runs had otherwise: of their headers, and of the settings at that op."""
    known = []
    for side, run in enumerate((a, b)):
        facts = {name: str(run.header.get(name, "")) for name in FACTS}
        at_op = settings.read(states[side].text) if len(states) == 2 else {}  # not of a run that ended before
        known.append(facts | settings.variables(run.header) | at_op)
    both = {name: (known[0].get(name, ""), known[1].get(name, "")) for name in known[0] | known[1]}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def _generators(found: Difference, states: dict[int, Call]) -> list[str]:
    a, b = found.a, found.b
    if a is not None and b is not None and found.kind != "input" and (a.generator or b.generator):
        which = (
            "the generator that it was given" if "generator=Generator" in a.text.split(", ") else "torch's generator"
        )
        return [which] if a.generator != b.generator else []
    if found.call.phase != "data loading" or len(states) < 2 or found.kind == "end":
        return []
    return [x.kind for x, y in zip(states[0].inputs, states[1].inputs, strict=False) if x.hash != y.hash]


def unwritten_inputs(call: Call) -> list[int]:
    return [i for i, value in enumerate(call.inputs) if value.hash == UNINITIALISED]


def different_values(a: tuple[Value, ...], b: tuple[Value, ...]) -> list[int]:
    return [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x.hash != y.hash]
