# SPDX-License-Identifier: MIT
"""Histograms: between two edges counts what is at the lower one or above, and below the upper one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..cases import LARGE
from ..numbers import add, div, mul, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, rounded, size_of
from .functions_of_several import line


def _bin(x: float, edges: Sequence[float]) -> int | None:
    """The bin of a number, the last one of its last edge too; None outside of all."""
    if not edges[0] <= x <= edges[-1]:
        return None
    return min(max(bisect_right(edges, x) - 1, 0), len(edges) - 2)


def _ends(column: Sequence[float], given: Sequence[float] | None, more: float) -> tuple[float, float]:
    """Those given, or the least and the largest number; further apart by `more` each where they are one."""
    low, high = given if given is not None else (min(column), max(column)) if column else (0.0, 1.0)
    return (low - more, high + more) if low == high else (low, high)


def _widths(edges: Sequence[float]) -> list[float]:
    return [sub(b, a) for a, b in pairwise(edges)]


@reference(
    "histc",
    cases=[
        f"self={x}, bins={bins}, min={low}, max={high}"
        for x in (
            "normal[203]#1",
            "ties[7, 29]#1",
            "special[203]#1",
            "zeros[99]#1",
            "normal.bfloat16[203]#1",
            "ties.float16[99]#1",
        )
        for bins, low, high in ((10, -2, 2), (7, -0.3, 1.1), (1, 0, 1), (64, -4.0, 4.0), (5, -3e38, 3e38))
        if not ("float16" in x and "e38" in str(low))
    ]
    + [
        "self=normal[203]#1, bins=9",
        "self=ties[203]#1",
        "self=ties.bfloat16[203]#1, bins=17",
        "self=normal[0]#1, bins=4",
        "self=classes1.float32[9]#1, bins=4",
        "self=normal[40]#1, bins=3, min=1, max=1",
        f"self=normal[{LARGE}]#1, bins=100, min=-3, max=3",
    ],
)
def histc(self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Equal ends stand for the least and the largest number; where those are equal too, it is 1 to each side."""
    low, high = float(min), float(max)
    if low == high:
        low, high = _ends(self.data, None if self.data else (low, high), 1.0)
    edges = line(low, high, bins + 1)
    counts = [0] * bins
    for x in self.data:
        place = _bin(x, edges)
        if place is not None:
            counts[place] += 1
    return Tensor(self.dtype, (bins,), [rounded(float(n), self.dtype) for n in counts])


def _counted(self: Tensor, edges: list[float], weight: Tensor | None, density: bool) -> list[Tensor]:
    """Weights are added to +0 in the order of the tensor; a density is the count over (Sum of all * width)."""
    counts = [0.0] * (len(edges) - 1)
    for i, x in enumerate(self.data):
        place = _bin(x, edges)
        if place is not None:
            counts[place] = add(counts[place], 1.0 if weight is None else weight.data[i])
    if density:
        total = sum_of(counts)
        counts = [div(n, mul(total, width)) for n, width in zip(counts, _widths(edges), strict=True)]
    return [Tensor("float32", (len(counts),), counts), Tensor("float32", (len(edges),), edges)]


_WEIGHTED = [
    f"self={x}, bins={{bins}}{weight}, density={density}"
    for x, weight in (
        ("normal[203]#1", ""),
        ("normal[7, 29]#1", ", weight=normal[7, 29]#2"),
        ("ties[203]#1", ", weight=wide[203]#2"),
        ("special[203]#1", ", weight=zeros[203]#2"),
        ("normal[20011]#1", ", weight=wide[20011]#2"),
    )
    for density in (True, False)
]


@reference(
    "histogram.bins_tensor",
    cases=[c.format(bins=bins) for c in _WEIGHTED for bins in ("rising[9]#3", "rising[2]#3", "rising[70]#3")],
)
def histogram_between(self: Tensor, bins: Tensor, density: bool, weight: Tensor | None = None) -> list[Tensor]:
    return _counted(self, list(bins.data), weight, density)


@reference(
    "histogram.bin_ct",
    cases=[c.format(bins=bins) + ", range=[-1.5, 1.5]" for c in _WEIGHTED for bins in ("10", "3")]
    + [c.format(bins="7") for c in _WEIGHTED if "special" not in c]
    + ["self=normal[0]#1, bins=4", "self=classes1.float32[9]#1, bins=3", "self=normal[9]#1, bins=3, range=[2.0, 2.0]"],
)
def histogram(
    self: Tensor, bins: int, weight: Tensor | None = None, density: bool = False, **more: Any
) -> list[Tensor]:
    low, high = _ends(self.data, more.get("range"), 0.5)
    return _counted(self, line(low, high, bins + 1), weight, density)


_ROWS = [
    f"self={x}, bins={bins}{more}"
    for x, bins in (("normal[203, 2]#1", [5, 7]), ("ties[7, 29, 3]#1", [2, 3, 4]), ("normal[99, 1]#1", [9]))
    for more in ("", f", range={[-1.5, 1.5] * len(bins)}")
] + ["self=normal[0, 2]#1, bins=[2, 3]", "self=classes1.float32[9, 2]#1, bins=[2, 3]"]


def _columns(self: Tensor) -> list[list[float]]:
    width = self.shape[-1]
    return [self.data[d::width] for d in range(width)]


def _edges(self: Tensor, bins: list[int], given: list[float] | None) -> list[list[float]]:
    found = []
    for d, (column, count) in enumerate(zip(_columns(self), bins, strict=True)):
        low, high = _ends(column, None if given is None else given[2 * d : 2 * d + 2], 0.5)
        found.append(line(low, high, count + 1))
    return found


@reference("_histogramdd_bin_edges", cases=_ROWS)
def bin_edges(self: Tensor, bins: list[int], **more: Any) -> list[Tensor]:
    return [Tensor("float32", (len(e),), e) for e in _edges(self, bins, more.get("range"))]


def _counted_rows(self: Tensor, edges: list[list[float]], weight: Tensor | None, density: bool) -> Tensor:
    """A density is the count over the Sum of all, over the width in each dimension, one after another."""
    shape = tuple(len(e) - 1 for e in edges)
    found = Tensor("float32", shape, [0.0] * size_of(shape))
    for i, row in enumerate(zip(*_columns(self), strict=True)):
        places = [_bin(x, e) for x, e in zip(row, edges, strict=True)]
        at = [place for place in places if place is not None]
        if len(at) == len(places):
            found[at] = add(found[at], 1.0 if weight is None else weight.data[i])
    if density:
        total = sum_of(found.data)
        for at in found.indices():
            value = div(found[at], total)
            for place, e in zip(at, edges, strict=True):
                value = div(value, _widths(e)[place])
            found[at] = value
    return found


_DENSE = [
    f"{c}{weight}, density={density}"
    for c in _ROWS
    for weight in ("", *((", weight=wide[203]#4",) if "[203, 2]" in c else ()))
    for density in (True, False)
]


@reference("_histogramdd_from_bin_cts", cases=_DENSE)
def histogramdd(
    self: Tensor, bins: list[int], weight: Tensor | None = None, density: bool = False, **more: Any
) -> Tensor:
    return _counted_rows(self, _edges(self, bins, more.get("range")), weight, density)


@reference(
    "_histogramdd_from_bin_tensors",
    cases=[
        f"self={x}, bins={bins}{weight}, density={density}"
        for x, bins, weight in (
            ("normal[203, 2]#1", "[rising[5]#2, rising[4]#3]", ""),
            ("ties[203, 2]#1", "[rising[5]#2, rising[4]#3]", ", weight=wide[203]#4"),
            ("special[203, 2]#1", "[rising[5]#2, rising[7]#3]", ", weight=normal[203]#4"),
            ("normal[20011, 2]#1", "[rising[5]#2, rising[4]#3]", ", weight=wide[20011]#4"),
        )
        for density in (True, False)
    ],
)
def histogramdd_between(
    self: Tensor, bins: list[Tensor], weight: Tensor | None = None, density: bool = False
) -> Tensor:
    return _counted_rows(self, [list(e.data) for e in bins], weight, density)
