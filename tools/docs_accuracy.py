# SPDX-License-Identifier: MIT
"""The page of the errors of calls, for build_docs.py: docs/accuracy.md, from what measure_accuracy.py measured."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent.parent / "docs"
DTYPES = ("float32", "float64")
NONE = "–"
WORST = 20
"""Rows of the list of the worst."""
SMALLEST = 0.01
"""What a smaller ratio counts as in the mean."""

Table = Callable[[list[str], list[list[str]]], str]
"""Lays out columns and rows."""


class Measured(NamedTuple):
    """Root mean square and largest error of stock torch, and then ours."""

    family: str
    call: str
    dtype: str
    stock: tuple[float, float]
    ours: tuple[float, float]

    @property
    def ratio(self) -> float:
        """As printed, so that what is counted can be counted on the page."""
        return round(_quotient(self.ours[0], self.stock[0]), 2)

    @property
    def largest_ratio(self) -> float:
        return round(_quotient(self.ours[1], self.stock[1]), 2)


def _quotient(ours: float, stock: float) -> float:
    return ours / stock if stock else 1.0 if not ours else math.inf


def _read(families: dict[str, Any]) -> list[Measured]:
    return [
        Measured(family, call, dtype, (row[0], row[1]), (row[2], row[3]))
        for family, calls in families.items()
        for call, dtypes in calls.items()
        for dtype, row in dtypes.items()
        if len(row) == 4
    ]


def _number(value: float) -> str:
    return f"{value:.2g}" if 0.01 <= value < 1000 else "0" if not value else f"{value:.1e}"


def _errors(pair: tuple[float, float]) -> str:
    return f"{_number(pair[0])} ({_number(pair[1])})"


def _ratio(value: float) -> str:
    text = f"{value:.2f}"
    return f"**{text}**" if value > 1 else text


def _cells(measured: Measured) -> list[str]:
    return [
        _errors(measured.stock),
        _errors(measured.ours),
        f"{_ratio(measured.ratio)} ({_ratio(measured.largest_ratio)})",
    ]


def _summary(of: list[Measured]) -> list[str]:
    logs = [math.log(max(m.ratio, SMALLEST)) for m in of]
    worst = max(of, key=lambda m: m.ratio)
    return [
        str(len(of)),
        *(str(sum(m.ratio > limit for m in of)) for limit in (1, 1.1, 1.5)),
        str(sum(m.largest_ratio > 1 for m in of)),
        f"{math.exp(sum(logs) / len(logs)):.2f}",
        _ratio(worst.ratio),
    ]


def accuracy_page(general: str, table: Table) -> str:
    document: dict[str, Any] = json.loads((DOCS / "accuracy.json").read_text())
    families, machine = document["families"], document["machine"]
    measured = _read(families)
    worse = sorted((m for m in measured if m.ratio > 1), key=lambda m: m.ratio, reverse=True)
    by_dtype = {dtype: [m for m in measured if m.dtype == dtype] for dtype in DTYPES}
    counts = ", ".join(
        f"in {sum(m.ratio > 1 for m in of)} of the {len(of)} of {dtype}" for dtype, of in by_dtype.items()
    )
    raises = sum(len(row) != 4 for calls in families.values() for dtypes in calls.values() for row in dtypes.values())
    page = (
        f"{general}\n## How often it is\n\n"
        f"In {len(worse)} of {len(measured)} calls the root mean square of our errors is the larger one: {counts}.\n"
        f"In {sum(m.ratio > 1.1 for m in worse)} it is larger by more than a tenth, in "
        f"{sum(m.ratio > 1.5 for m in worse)} by more than half, in {sum(m.ratio > 2 for m in worse)} more than twice "
        f"as large. {raises or 'None'} of the calls raise{'' if raises else 's'} under `repdl.enable()`.\n\n"
    )
    rows = [
        [family, dtype, *_summary(of)]
        for family in families
        for dtype in DTYPES
        if (of := [m for m in by_dtype[dtype] if m.family == family])
    ]
    rows.append(["all", "both", *_summary(measured)])
    columns = [
        "family", "dtype", "calls", "ours larger", "by a tenth", "by half", "largest error larger", "geometric mean",
        "worst ratio",
    ]  # fmt: skip
    page += table(columns, rows)
    page += f"\nThe {WORST} worst:\n\n"
    columns = ["call", "stock", "ours", "ratio"]
    page += table(columns, [[f"{m.family}: {m.call}, {m.dtype}", *_cells(m)] for m in worse[:WORST]])
    page += f"\n## All calls\n\nMeasured at commit {machine['commit']} on {machine['machine']}.\n"
    by_call = {(m.family, m.call, m.dtype): m for m in measured}
    for family, calls in families.items():
        dtypes = [dtype for dtype in DTYPES if any(dtype in row for row in calls.values())]
        rows = []
        for call, row in calls.items():
            cells = [call]
            for dtype in dtypes:
                found = by_call.get((family, call, dtype))
                cells += _cells(found) if found else [NONE, "raises" if dtype in row else NONE, NONE]
            rows.append(cells)
        names = [f"{dtype}: stock" if column == "stock" else column for dtype in dtypes for column in columns[1:]]
        page += f"\n### {family[0].upper()}{family[1:]}\n\n{table(['call', *names], rows)}"
    return page
