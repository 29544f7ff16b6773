# SPDX-License-Identifier: MIT
"""What `audit` found: a table, and JSON."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported where a table is made: that takes as long as all of `enable`
    from rich.console import Group

CLASSES = ("not", "guarded", "reproducible", "exact")
"""What an op may be, the worst first."""

PLACES = 3


@dataclass
class Row:
    """An op, as far as its calls are of one class for one reason.

    op: "aten::mm".
    kind: its class. "exact": torch's own kernel gives the same bits everywhere; "guarded": ours, made of exact calls
        of torch, or torch's kernel where that is exact; "reproducible": ours; "not": torch's, whose bits depend on the
        machine.
    reason: why it is of that class.
    permission: the reason given to `allow_native`, if the calls were in such a block.
    count: of calls. dtypes: of their tensors. places: the first few that called it, "train.py:31".
    """

    op: str
    kind: str
    reason: str
    permission: str | None = None
    count: int = 0
    dtypes: set[str] = field(default_factory=set)
    places: list[str] = field(default_factory=list)

    def met(self, place: str, dtypes: set[str]) -> None:
        self.count += 1
        self.dtypes |= dtypes
        if place not in self.places and len(self.places) < PLACES:
            self.places.append(place)


@dataclass
class Report:
    """The ops that a program called: iterable rows, `print(report)` a table, `to_json()` for other programs.

    compiled: how often each function compiled by torch.compile was called; it ran eagerly.
    settings: settings of the process that change bits, in words.
    """

    compiled: Counter[str] = field(default_factory=Counter)
    settings: list[str] = field(default_factory=list)
    _rows: dict[tuple[str, str, str, str | None], Row] = field(default_factory=dict)

    def row(self, op: str, kind: str, reason: str, permission: str | None = None) -> Row:
        return self._rows.setdefault((op, kind, reason, permission), Row(op, kind, reason, permission))

    @property
    def ok(self) -> bool:
        """Whether the program is reproducible: nothing is "not" that nobody has permitted, and no setting is bad."""
        return not self.settings and all(row.kind != "not" or row.permission is not None for row in self)

    def __iter__(self) -> Iterator[Row]:
        """Those that are not reproducible first, then by the number of calls."""
        return iter(sorted(self._rows.values(), key=lambda row: (CLASSES.index(row.kind), -row.count, row.op)))

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, op: object) -> bool:
        return any(row.op == op for row in self._rows.values())

    def to_json(self) -> str:
        rows = [
            {
                "op": row.op,
                "class": row.kind,
                "reason": row.reason,
                "permission": row.permission,
                "count": row.count,
                "dtypes": sorted(row.dtypes),
                "places": row.places,
            }
            for row in self
        ]
        values = {"ok": self.ok, "ops": rows, "compiled": dict(self.compiled), "settings": self.settings}
        return json.dumps(values, indent=2)

    def __rich__(self) -> Group:
        """The reason of an exact op is cut short, and so are its places."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for name, options in _COLUMNS.items():
            table.add_column(name, **options)
        for row in self:
            style = _STYLES[row.kind if row.permission is None else "permitted"]
            exact = row.kind == "exact"
            reason = row.reason.split(",")[0].split(":")[0].split(". ")[0] if exact else row.reason
            if row.permission is not None:
                reason += f"; permitted: {row.permission}"
            places = "\n".join(row.places[:1] if exact else row.places)
            cells = (row.op, row.kind, str(row.count), ", ".join(sorted(row.dtypes)), reason, places)
            table.add_row(*(Text(cell, style=style if i < 2 else "") for i, cell in enumerate(cells)))
        lines = [f"setting: {text}" for text in self.settings]
        lines += [f"{name} is compiled; it ran eagerly, {count} calls" for name, count in self.compiled.items()]
        return Group(table, *map(Text, ("", *lines, self._summary())))

    def _summary(self) -> str:
        calls = Counter[str]()
        for row in self:
            calls["permitted" if row.permission is not None else row.kind] += 1
        counts = ", ".join(f"{calls[kind]} {kind}" for kind in ("not", "permitted", *CLASSES[1:]) if calls[kind])
        return f"{'Reproducible' if self.ok else 'Not reproducible'}: {counts or 'no ops'}"

    def __str__(self) -> str:
        from rich.console import Console

        width = max(shutil.get_terminal_size().columns, 120)
        console = Console(file=io.StringIO(), width=width, color_system=None)
        console.print(self)
        return console.file.getvalue().rstrip()  # type: ignore[attr-defined, no-any-return]


_COLUMNS: dict[str, dict[str, Any]] = {
    "op": {"overflow": "fold"},
    "class": {"no_wrap": True},
    "calls": {"justify": "right", "no_wrap": True},
    "dtypes": {},
    "why": {"ratio": 1},
    "where": {"overflow": "fold"},
}
_STYLES = {"not": "bold red", "permitted": "yellow", "guarded": "cyan", "reproducible": "green", "exact": "dim"}
