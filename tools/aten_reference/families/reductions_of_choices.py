# SPDX-License-Identifier: MIT
"""Largest and smallest numbers, orders of numbers, counts, along dimensions: nothing is rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ..cases import LARGE
from ..registry import reference
from ..tensors import Tensor, from_lines, groups, lines, reduced_shape
from .choices import larger, smaller

_DTYPES = ("", ".bfloat16", ".float16", ".int64", ".int32", ".uint8")


def _operands(more: str, *, large: bool = True) -> list[str]:
    """Calls along a dimension, with ties, NaN and both zeros."""
    calls = []
    for t in _DTYPES:
        ties, hard = f"ties{t}", f"extreme{t}" if "int" in t else f"special{t}"
        zeros = "ties" + t if "int" in t else f"zeros{t}"
        calls += [
            f"self={ties}[5, 37]#1, dim=1{more}",
            f"self={ties}[37, 5]#2, dim=0{more}",
            f"self={zeros}[3, 19, 4]#3, dim=-2{more}",
            f"self={hard}[31, 3]#4, dim=0{more}",
            f"self={hard}[11, 40]#5, dim=1{more}",
        ]
    if large:
        calls += [f"self=zeros[3, 33003]#1, dim=1{more}", f"self=ties[331, 303]#1, dim=0{more}"]
    return calls


def first_of(best: Callable[[Any, Any], Any], values: Sequence[Any]) -> int:
    """The lowest index of the largest, or the smallest; that of the first NaN, if there is one."""
    for i, value in enumerate(values):
        if value != value:
            return i
    extreme = reduce(best, values)
    return next(i for i, value in enumerate(values) if value == extreme)


def _with_index(name: str, best: Callable[[Any, Any], Any]) -> None:
    @reference(f"{name}.dim", cases=[*_operands(""), *_operands(", keepdim=True", large=False)[:3]])
    def run(self: Tensor, dim: int, keepdim: bool = False) -> list[Tensor]:
        shape = reduced_shape(self.shape, (dim,), keepdim)
        places = [first_of(best, line) for line in lines(self, dim)]
        values = [line[i] for line, i in zip(lines(self, dim), places, strict=True)]
        return [Tensor(self.dtype, shape, values), Tensor("int64", shape, places)]

    @reference(
        f"arg{name}", cases=[*_operands(""), "self=ties[13, 41]#1", f"self=ties[{LARGE}]#1", "self=special[203]#1"]
    )
    def run_place(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            return Tensor("int64", (), [first_of(best, self.data)])
        shape = reduced_shape(self.shape, (dim,), keepdim)
        return Tensor("int64", shape, [first_of(best, line) for line in lines(self, dim)])

    @reference(
        name,
        cases=[
            "self=ties[13, 41]#1",
            f"self=zeros[{LARGE}]#1",
            "self=special[203]#1",
            "self=zeros.bfloat16[7]#3",
            "self=zeros.float16[99]#3",
            "self=extreme.int16[99]#3",
        ],
    )
    def run_all(self: Tensor) -> Tensor:
        return Tensor(self.dtype, (), [reduce(best, self.data)])

    @reference(
        f"a{name}",
        cases=[
            *_operands(""),
            "self=zeros[5, 7, 9]#1, dim=(0, 2)",
            "self=zeros[5, 7, 9]#1, dim=(1, 2), keepdim=True",
            "self=zeros[64, 33, 17]#1, dim=(0, 1)",
        ],
    )
    def run_values(self: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        dims = (dim,) if isinstance(dim, int) else dim
        found = [reduce(best, group) for group in groups(self, dims)]
        return Tensor(self.dtype, reduced_shape(self.shape, dims, keepdim), found)

    running = f"cum{name}"

    @reference(running, cases=_operands("", large=False))
    def run_running(self: Tensor, dim: int) -> list[Tensor]:
        """Of equal numbers the last index, as torch has it; a NaN stays."""
        values, places = [], []
        for line in lines(self, dim):
            best_place = 0
            of_line, at = [], []
            for i, x in enumerate(line):
                held = line[best_place]
                if x != x or (held == held and (x >= held if name == "max" else x <= held)):
                    best_place = i
                of_line.append(line[best_place])
                at.append(best_place)
            values.append(of_line)
            places.append(at)
        return [from_lines(values, self.shape, dim, self.dtype), from_lines(places, self.shape, dim, "int64")]


_with_index("max", larger)
_with_index("min", smaller)


@reference("aminmax", cases=[*_operands(""), "self=zeros[137]#1", f"self=zeros[{LARGE}]#3"])
def aminmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> list[Tensor]:
    found = [self.data] if dim is None else lines(self, dim)
    shape = () if dim is None else reduced_shape(self.shape, (dim,), keepdim)
    return [Tensor(self.dtype, shape, [reduce(best, line) for line in found]) for best in (smaller, larger)]


def _sort_key(x: Any) -> tuple[bool, Any]:
    return (x != x, 0 if x != x else x)


def sorted_places(line: Sequence[Any], descending: bool) -> list[int]:
    """The order of a line: equal numbers by index, NaN as the largest."""
    keys = [_sort_key(x) for x in line]
    return sorted(range(len(line)), key=keys.__getitem__, reverse=descending)


def _sorted(self: Tensor, dim: int, descending: bool) -> list[Tensor]:
    places = [sorted_places(line, descending) for line in lines(self, dim)]
    values = [[line[i] for i in order] for line, order in zip(lines(self, dim), places, strict=True)]
    return [from_lines(values, self.shape, dim, self.dtype), from_lines(places, self.shape, dim, "int64")]


@reference("sort", cases=[*_operands(""), *_operands(", descending=True", large=False)])
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> list[Tensor]:
    return _sorted(self, dim, descending)


@reference(
    "sort.stable",
    cases=[*_operands(", stable=True", large=False), *_operands(", stable=True, descending=True", large=False)],
)
def sort_stable(self: Tensor, stable: bool, dim: int = -1, descending: bool = False) -> list[Tensor]:
    return _sorted(self, dim, descending)


@reference("argsort", cases=_operands("", large=False))
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return _sorted(self, dim, descending)[1]


@reference("any", cases=["self=special[33]#1", "self=classes2.bool[9]#1", "self=classes1[9]#1"])
def any_of(self: Tensor) -> Tensor:
    return Tensor("bool", (), [int(any(x != 0 for x in self.data))])


@reference("all", cases=["self=special[33]#1", "self=classes2.bool[9]#1", "self=classes1[9]#1"])
def all_of(self: Tensor) -> Tensor:
    return Tensor("bool", (), [int(all(x != 0 for x in self.data))])


def _bool_type(x: Tensor) -> str:
    return "uint8" if x.dtype == "uint8" else "bool"


@reference("any.dim", cases=_operands(""))
def any_along(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    found = [int(any(x != 0 for x in line)) for line in lines(self, dim)]
    return Tensor(_bool_type(self), reduced_shape(self.shape, (dim,), keepdim), found)


@reference("all.dim", cases=_operands(""))
def all_along(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    found = [int(all(x != 0 for x in line)) for line in lines(self, dim)]
    return Tensor(_bool_type(self), reduced_shape(self.shape, (dim,), keepdim), found)


@reference("count_nonzero", cases=_operands(""))
def count_nonzero(self: Tensor, dim: int) -> Tensor:
    return Tensor(
        "int64", reduced_shape(self.shape, (dim,), False), [sum(x != 0 for x in line) for line in lines(self, dim)]
    )


def _ranked(line: Sequence[Any], rank: int) -> int:
    return sorted_places(line, False)[rank]


@reference(
    "kthvalue",
    cases=[
        f"self={x}, k={k}, dim=1"
        for x in ("normal[5, 37]#1", "bits[3, 50]#2", "normal.bfloat16[3, 9]#2")
        for k in (1, 7)
    ],
)
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> list[Tensor]:
    places = [_ranked(line, k - 1) for line in lines(self, dim)]
    shape = reduced_shape(self.shape, (dim,), keepdim)
    values = [line[i] for line, i in zip(lines(self, dim), places, strict=True)]
    return [Tensor(self.dtype, shape, values), Tensor("int64", shape, places)]


@reference(
    "median",
    cases=[
        "self=ties[38]#1",
        "self=special[203]#1",
        "self=normal[9001]#1",
        "self=normal.bfloat16[99]#1",
        "self=extreme.int64[99]#1",
    ],
)
def median(self: Tensor) -> Tensor:
    """The lower one of two; NaN if there is one."""
    if any(x != x for x in self.data):
        return Tensor(self.dtype, (), [math.nan])
    return Tensor(self.dtype, (), [sorted(self.data)[(len(self.data) - 1) // 2]])


@reference("nanmedian", cases=["self=normal[38]#1", "self=bits[203]#1", "self=normal.float16[99]#1"])
def nanmedian(self: Tensor) -> Tensor:
    known = sorted(x for x in self.data if x == x)
    return Tensor(self.dtype, (), [known[(len(known) - 1) // 2]])


@reference(
    "bincount", cases=["self=classes9[300]#1", "self=classes9.uint8[300]#1, minlength=12", "self=classes7[100003]#3"]
)
def bincount(self: Tensor, weights: None = None, minlength: int = 0) -> Tensor:
    size = max([minlength, *(x + 1 for x in self.data)])
    return Tensor("int64", (size,), [self.data.count(i) for i in range(size)])


def _place(edges: Sequence[Any], x: Any, right: bool) -> int:
    """The first edge that is not below x, or with `right` the first above it; NaN is above all."""
    for i, edge in enumerate(edges):
        if x == x and (edge > x if right else edge >= x):
            return i
    return len(edges)


_EDGES = [
    f"self={x}, boundaries={b}, right={right}"
    for x, b in (
        ("ties[203]#1", "rising[9]#0"),
        ("special[99]#1", "rising[9]#0"),
        ("ties.bfloat16[99]#1", "rising.bfloat16[9]#0"),
        ("ties.int64[99]#1", "rising.int64[9]#0"),
        ("normal[100003]#1", "rising[9]#0"),
    )
    for right in (True, False)
]


@reference("bucketize.Tensor", cases=[*_EDGES, "self=ties[33]#1, boundaries=rising[9]#0, out_int32=True"])
def bucketize(self: Tensor, boundaries: Tensor, out_int32: bool = False, right: bool = False) -> Tensor:
    dtype = "int32" if out_int32 else "int64"
    return Tensor(dtype, self.shape, [_place(boundaries.data, x, right) for x in self.data])


@reference(
    "searchsorted.Tensor",
    cases=[
        f"sorted_sequence=rising{t}[{n}]#0, self=ties{t}[5, 41]#1, right={r}"
        for t in ("", ".float16", ".int32")
        for n in (1, 10)
        for r in (True, False)
    ],
)
def searchsorted(sorted_sequence: Tensor, self: Tensor, right: bool = False) -> Tensor:
    return Tensor("int64", self.shape, [_place(sorted_sequence.data, x, right) for x in self.data])


@reference(
    "isin.Tensor_Tensor",
    cases=[
        f"elements={x}, test_elements={y}{m}"
        for x, y in (
            ("ties[203]#1", "ties[5]#2"),
            ("special[203]#1", "special[7]#2"),
            ("ties[203]#1", "ties[99]#2"),
            ("extreme.int64[99]#1", "extreme.int64[4]#3"),
        )
        for m in ("", ", invert=True")
    ],
)
def isin(elements: Tensor, test_elements: Tensor, invert: bool = False) -> Tensor:
    found = [any(x == y for y in test_elements.data) for x in elements.data]
    return Tensor("bool", elements.shape, [int(f != invert) for f in found])


@reference(
    "_unique2",
    cases=[
        f"self={x}, sorted=True, return_inverse=True, return_counts=True"
        for x in (
            "ties.int64[203]#1",
            "extreme.int32[99]#2",
            "classes2.bool[33]#1",
            "ties[7, 9]#1",
            "normal[33]#1",
            "ties.int64[100003]#1",
        )
    ],
)
def unique(self: Tensor, sorted: bool, return_inverse: bool, return_counts: bool) -> list[Tensor]:
    """+0 and -0 are one, of the sign that comes first in the tensor."""
    firsts: dict[Any, Any] = {}
    for x in self.data:
        firsts.setdefault(x, x)
    keys = list(firsts)
    keys.sort()
    place = {x: i for i, x in enumerate(keys)}
    counts = [0] * len(keys)
    for x in self.data:
        counts[place[x]] += 1
    return [
        Tensor(self.dtype, (len(keys),), [firsts[x] for x in keys]),
        Tensor("int64", self.shape, [place[x] for x in self.data]),
        Tensor("int64", (len(keys),), counts),
    ]


@reference(
    "unique_consecutive",
    cases=[
        f"self={x}, return_inverse=True, return_counts=True"
        for x in ("classes3[203]#1", "zeros[203]#1", "rising[99]#1", "special[99]#1")
    ],
)
def unique_consecutive(self: Tensor, return_inverse: bool, return_counts: bool) -> list[Tensor]:
    values: list[Any] = []
    inverse, counts = [], list[int]()
    for x in self.data:
        if not values or values[-1] != x:
            values.append(x)
            counts.append(0)
        counts[-1] += 1
        inverse.append(len(values) - 1)
    n = len(values)
    return [Tensor(self.dtype, (n,), values), Tensor("int64", self.shape, inverse), Tensor("int64", (n,), counts)]


@reference("mode", cases=_operands("", large=False)[:3] + _operands("", large=False)[15:18])
def mode(self: Tensor, dim: int) -> list[Tensor]:
    """The smallest of the most frequent numbers, and its first index."""
    values, places = [], []
    for line in lines(self, dim):
        most = max(line.count(x) for x in line)
        value = min(x for x in line if line.count(x) == most)
        place = line.index(value)
        values.append(line[place])
        places.append(place)
    shape = reduced_shape(self.shape, (dim,), False)
    return [Tensor(self.dtype, shape, values), Tensor("int64", shape, places)]


@reference(
    "topk",
    cases=[
        f"self={x}, k={k}, dim=1, largest={largest}"
        for x in ("ties[5, 37]#1", "special[7, 40]#2", "ties.bfloat16[5, 90]#1", "ties.int64[5, 90]#1")
        for k, largest in ((1, True), (9, True), (9, False), (37, True))
    ],
)
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True) -> list[Tensor]:
    """The first of a stable sort."""
    values, places = _sorted(self, dim, largest)
    shape = tuple(k if d == dim % len(self.shape) else n for d, n in enumerate(self.shape))
    return [from_lines([line[:k] for line in lines(t, dim)], shape, dim, t.dtype) for t in (values, places)]
