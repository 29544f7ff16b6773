# SPDX-License-Identifier: MIT
"""A difference in the terminal: the sentence, and the calls around it side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from repdl.runs.columns import Call
from repdl.runs.difference import Difference, Row
from repdl.runs.run import AnyRun
from repdl.runs.sentence import ops_of, sentence

if TYPE_CHECKING:
    from repdl.runs.cause import Cause

_AROUND = 4


def state(row: Row) -> str:
    """ "equal", "different", or "only", in one of the runs."""
    a, b = row
    if a is None or b is None:
        return "only"
    return "equal" if a.digest == b.digest else "different"


def text(call: Call) -> str:
    """As "aten::mm(float32[8, 4], float32[4, 2]) → float32[8, 2]"."""
    inputs = [value.kind for value in call.inputs] + ([call.text] if call.text else [])
    outputs = ", ".join(value.kind for value in call.outputs)
    return f"{call.name}({', '.join(inputs)})" + (f" → {outputs}" if outputs else "")


def show(found: Difference | None, a: AnyRun, b: AnyRun, console: Console, notes: Sequence[str] = ()) -> None:
    console.print(Text(sentence(found, a, b), style="bold green" if found is None else "bold"), soft_wrap=True)
    for note in notes:
        console.print(Text(note), soft_wrap=True)
    for name, run in (("A", a), ("B", b)):
        if run.end is None:
            note = f"{name}, {run.path}, is cut off after {ops_of(run)}: its run was killed, or its disk was full."
            console.print(Text(note, style="yellow"), soft_wrap=True)
    if found is None:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("op", "where", f"A: {a.path.name}", f"B: {b.path.name}"):
        table.add_column(title, overflow="fold")
    for number in range(max(0, found.at - _AROUND), min(len(found.rows), found.at + _AROUND + 1)):
        row = found.rows[number]
        call = row[0] or row[1]
        assert call is not None
        style = "bold red" if number == found.at else "red" if state(row) != "equal" else "dim"
        where = " ".join(part for part in (call.module, call.line) if part)
        cells = (text(call), where, *(_hashes(side) for side in row))
        table.add_row(*(Text(cell, style=style) for cell in cells))
    console.print()
    console.print(table)
    if found.cause is not None and found.cause.ways:
        console.print()
        console.print(_ways(found.cause))


def _ways(cause: Cause) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("varied", "made again", "gives", "differs from here"):
        table.add_column(title, overflow="fold")
    for row in cause.rows:
        style = "bold red" if row[2] == f"{cause.wanted}'s result" else "dim"
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def _hashes(call: Call | None) -> str:
    """The first digits of the hashes of the inputs and outputs."""
    if call is None:
        return "–"
    read, wrote = ([value.hash.hex()[:6] for value in side[:3]] for side in (call.inputs, call.outputs))
    return f"{' '.join(read)} → {' '.join(wrote)}"
