# SPDX-License-Identifier: MIT
"""What was measured of a program: a table, and JSON."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from repdl.experiments.call import Call
from repdl.experiments.compare import Difference
from repdl.experiments.engine import Trial
from repdl.experiments.variations import KINDS, PRECISION

if TYPE_CHECKING:  # imported where a table is made
    from rich.console import Group

Origin = tuple[str, str]
"""A line, "train.py:31 (backward)", and a layer, "GPT.blocks.0.attention", or ""."""

MOST_KEPT = 2 << 30
"""Bytes of calls that are kept to find out what mends them."""

_NONE_TRIED = {PRECISION: "torch allows no fewer bits than all"}
"""Why a kind may be tried of no call."""


@dataclass
class Varies:
    """What an op does not keep its bits in: a kind, and the first call that showed it.

    way: in which way it was made then; worst: what differed most of all. line, layer: where it was called.
    calls: how many of those that were tried differ. mends: lines that were tried and mend it; None if none was tried.
    """

    kind: str
    way: str
    worst: Difference
    arguments: str
    line: str
    layer: str
    calls: int = 0
    mends: list[str] | None = None


@dataclass
class Measured:
    """An overload, "aten::addmm", how often it was called, and how many calls were made again.

    kinds: for each kind how many calls were tried. untried: why calls were not, and how many.
    """

    op: str
    line: str
    layer: str
    calls: int = 0
    tried: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    untried: dict[str, int] = field(default_factory=dict)
    varies: dict[str, Varies] = field(default_factory=dict)

    def left_out(self, why: str) -> None:
        self.untried[why] = self.untried.get(why, 0) + 1


class Measurement:
    """Iterable ops, those that vary first; `print(measurement)` a table, `to_json()` for other programs.

    first: for each op and kind that varies the first call that did. without: kinds that are not tried here, and why.
    """

    def __init__(self) -> None:
        self.ops: dict[str, Measured] = {}
        self.first: dict[tuple[str, str], Call] = {}
        self.compiled: Counter[str] = Counter()
        self.without: dict[str, str] = {}
        self.seconds = 0.0

    def ran_eagerly(self, function: str) -> None:
        """A compiled function, instead of its compiled code."""
        self.compiled[function] += 1

    def met(self, op: str, origin: Origin) -> Measured:
        measured = self.ops.setdefault(op, Measured(op, *origin))
        measured.calls += 1
        return measured

    def add(self, op: str, call: Call, trial: Trial, origin: Origin) -> None:
        measured = self.ops[op]
        if not trial:
            measured.left_out("they give nothing, or no plain tensors, or could not be made again")
            return
        measured.tried += 1
        for kind, outcome in trial.items():
            measured.kinds[kind] = measured.kinds.get(kind, 0) + outcome.tried
            if not outcome.found:
                continue
            way, worst = max(outcome.found.items(), key=lambda item: _weight(item[1]))
            known = measured.varies.setdefault(kind, Varies(kind, way, worst, str(call), *origin))
            known.calls += 1
            if sum(kept.bytes for kept in self.first.values()) + call.bytes <= MOST_KEPT:
                self.first.setdefault((op, kind), call)
            if _weight(worst) > _weight(known.worst):
                known.way, known.worst, known.arguments = way, worst, str(call)

    @property
    def ok(self) -> bool:
        """Whether nothing varies."""
        return all(not measured.varies for measured in self.ops.values())

    @property
    def tried(self) -> int:
        return sum(measured.tried for measured in self)

    @property
    def not_tried(self) -> dict[str, str]:
        """The kinds of which nothing is said, since no call was made so, and why; none if there was no call."""
        if not self.ops:
            return {}
        tried = {kind for measured in self for kind, count in measured.kinds.items() if count}
        why = {kind: _NONE_TRIED.get(kind, "no call can be made so") for kind in KINDS} | self.without
        return {kind: why[kind] for kind in KINDS if kind not in tried}

    def __iter__(self) -> Iterator[Measured]:
        return iter(sorted(self.ops.values(), key=lambda measured: (-len(measured.varies), -measured.calls)))

    def to_json(self) -> str:
        ops = [asdict(measured) | {"varies": [asdict(v) for v in _in_order(measured)]} for measured in self]
        values = {"ok": self.ok, "seconds": round(self.seconds, 1), "not_tried": self.not_tried, "ops": ops}
        return json.dumps(values, indent=1)

    def summary(self) -> str:
        if not self.ops:
            return "The program called no op of torch."
        varying = [measured for measured in self if measured.varies]
        head = (
            f"{self.tried} of {sum(m.calls for m in self)} calls, of {len(self.ops)} ops, were made again, "
            f"in {self.seconds:.0f} s. "
        )
        if not self.tried:
            return head.rstrip()
        if not varying:
            return head + "All gave the same bits in every way that was tried."
        counts = {kind: sum(kind in m.varies for m in varying) for kind in KINDS}
        told = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)
        return head + f"{len(varying)} ops vary: {told}."

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for name, options in _COLUMNS.items():
            table.add_column(name, **options)
        for measured in self:
            for i, v in enumerate(_in_order(measured)):
                op, calls = (measured.op, str(measured.calls)) if i == 0 else ("", "")
                where = "\n".join(filter(None, (v.line, v.layer)))
                mends = "not tried" if v.mends is None else "\n".join(v.mends) or "nothing that was tried"
                words = op, calls, v.kind, f"{v.way}\n{v.worst}", where, mends
                table.add_row(*map(escape, words))
        untried: Counter[str] = Counter()
        for measured in self:
            untried.update(measured.untried)
        lines = [f"Nothing is said of {kind}: {why}." for kind, why in self.not_tried.items()]
        lines += [f"Not tried: {count} calls, since {why}." for why, count in untried.items()]
        lines += [f"Ran eagerly: {function}, which is compiled." for function in self.compiled]
        text = escape("\n".join([self.summary(), *lines]))
        return Group(text) if self.ok else Group(table, "", text)

    def __str__(self) -> str:
        from rich.console import Console

        width = max(shutil.get_terminal_size().columns, 130)
        console = Console(file=io.StringIO(), width=width, color_system=None)
        console.print(self)
        return console.file.getvalue().rstrip()  # type: ignore[attr-defined, no-any-return]


def _in_order(measured: Measured) -> list[Varies]:
    return [measured.varies[kind] for kind in KINDS if kind in measured.varies]


def _weight(found: Difference) -> float:
    return float("inf") if found.ulps is None else found.ulps


_COLUMNS: dict[str, dict[str, Any]] = {
    "op": {"overflow": "fold", "style": "bold"},
    "calls": {"justify": "right", "no_wrap": True},
    "varies": {"no_wrap": True, "style": "red"},
    "seen with, and how far apart": {"overflow": "fold"},
    "first seen": {"overflow": "fold"},
    "mended by": {"overflow": "fold", "style": "green"},
}
