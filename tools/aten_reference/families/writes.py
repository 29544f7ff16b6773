# SPDX-License-Identifier: MIT
"""Writes by index: what comes to one place is added in the order of the index, or the last of it stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from ..cases import LARGE
from ..registry import reference
from ..tensors import Shape, Tensor, broadcast_shape, expand, lines, offset, rounded, size_of
from .in_order import plus

_LOW = ("", ".bfloat16", ".float16")


def _written(self: Tensor, places: Sequence[int], values: Sequence[Any], accumulate: bool) -> Tensor:
    """Sums of low types are in float32, and rounded at the end."""
    data = list(self.data)
    add = plus(self.dtype)
    for place, value in zip(places, values, strict=True):
        data[place] = add(data[place], value) if accumulate else value
        if not self.is_float:
            data[place] = rounded(data[place], self.dtype)
    return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in data])


def _columns(index: Tensor | None) -> list[Tensor | None]:
    """An index for each dimension: a mask is the places where it is true, in row-major order."""
    if index is None or index.dtype != "bool":
        return [index]
    found = [at for at, inside in zip(index.indices(), index.data, strict=True) if inside]
    return [Tensor("int64", (len(found),), [at[d] for at in found]) for d in range(len(index.shape))]


def _places(shape: Shape, indices: Sequence[Tensor | None]) -> tuple[Shape, list[int]]:
    """The shape of what is indexed, and the place of each of its elements.

    The dimensions of the indices, broadcast, stand where the indexed ones stood; first if those are not neighbours.
    """
    columns = [column for index in indices for column in _columns(index)]
    columns += [None] * (len(shape) - len(columns))
    indexed = [d for d, column in enumerate(columns) if column is not None]
    common = broadcast_shape(*(column.shape for column in columns if column is not None))
    at = {d: expand(column, common) for d, column in enumerate(columns) if column is not None}
    first = indexed[0] if indexed == list(range(indexed[0], indexed[-1] + 1)) else 0
    kept = [d for d in range(len(shape)) if d not in indexed]
    before, after = kept[:first], kept[first:]
    found = []
    for left, k, right in product(
        product(*(range(shape[d]) for d in before)), range(size_of(common)), product(*(range(shape[d]) for d in after))
    ):
        where = dict(zip(before + after, left + right, strict=True)) | {d: at[d][k] % shape[d] for d in indexed}
        found.append(offset(shape, [where[d] for d in range(len(shape))]))
    return (*(shape[d] for d in before), *common, *(shape[d] for d in after)), found


_PUT = [
    f"self={self}, indices=[{indices}], values={values}, accumulate={accumulate}"
    for self, indices, values in (
        *(
            (f"normal{t}[5, 7]#1", "classes5[40]#2", f"{v}{t}[{shape}]#3")
            for t in _LOW
            for v in ("normal", "special")
            for shape in ("40, 7", "7")
        ),
        *((f"normal{t}[5, 7, 3]#1", "classes5[4, 1]#2, classes7[6]#4", f"wide{t}[4, 6, 3]#3") for t in _LOW),
        ("zeros[9]#1", "ties.int64[300]#2", "wide[300]#3"),
        ("zeros[9]#1", "ties.int32[300]#2", "zeros[300]#3"),
        ("normal[5, 7]#1", "None, classes7[40]#2", "normal[5, 40]#3"),
        ("normal[5, 7, 3]#1", "classes5[40]#2, None, classes3[40]#4", "normal[40, 7]#3"),
        ("normal[2, 5, 7, 3]#1", "None, classes5[40]#2, classes7[40]#4", "normal[2, 40, 1]#3"),
        ("normal[5, 7]#1", "classes2.bool[5, 7]#2", "normal[]#3"),
        ("normal[5, 7]#1", "classes2.bool[5]#2", "zeros[7]#3"),
        ("normal[5, 7]#1", "classes5[0]#2", "normal[0, 7]#3"),
        ("extreme.int64[5, 7]#1", "classes5[40]#2", "extreme.int64[40, 7]#3"),
        ("extreme.uint8[5, 7]#1", "classes5[40]#2", "extreme.uint8[40, 7]#3"),
        ("classes2.bool[5, 7]#1", "classes5[3]#2", "classes2.bool[3, 7]#3"),
        ("normal[5]#1", f"classes5[{LARGE}]#2", f"normal[{LARGE}]#3"),
    )
    for accumulate in (True, False)
]


@reference("index_put", "_index_put_impl_", cases=_PUT)
def index_put(self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    shape, places = _places(self.shape, indices)
    return _written(self, places, expand(values, shape), accumulate)


@reference(
    "put_",
    cases=[
        f"self={self}, index={index}, source={source}, accumulate={accumulate}"
        for self, index, source in (
            *((f"normal{t}[3, 7]#1", "classes21[5, 40]#2", f"wide{t}[200]#3") for t in _LOW),
            *((f"special{t}[3, 3]#1", "ties.int64[4, 10]#2", f"special{t}[10, 4]#3") for t in _LOW),
            ("zeros[9]#1", "ties.int64[300]#2", "zeros[300]#3"),
            ("extreme.int64[3, 7]#1", "classes21[40]#2", "extreme.int64[40]#3"),
            ("extreme.int8[3, 7]#1", "classes21[40]#2", "extreme.int8[40]#3"),
            ("normal[3, 7]#1", "classes21[0]#2", "normal[0]#3"),
            ("normal[]#1", "classes1[5]#2", "wide[5]#3"),
            ("normal[10]#1", f"classes10[{LARGE}]#2", f"normal[{LARGE}]#3"),
        )
        for accumulate in (True, False)
    ],
)
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """The tensor and the index as rows; a negative place counts from the end."""
    return _written(self, [k % len(self.data) for k in index.data], source.data, accumulate)


@reference(
    "index_copy",
    cases=[
        *(f"self=normal{t}[3, 7]#1, dim=0, index=classes3[40]#2, source=special{t}[40, 7]#3" for t in _LOW),
        *(f"self=special{t}[3, 7]#1, dim=-1, index=classes7[11]#2, source=zeros{t}[3, 11]#3" for t in _LOW),
        "self=normal[9, 300, 5]#1, dim=1, index=classes300[400]#2, source=normal[9, 400, 5]#3",
        "self=ties.int64[3, 7]#1, dim=0, index=classes3[40]#2, source=extreme.int64[40, 7]#3",
        "self=classes2.bool[5]#1, dim=0, index=classes5[4]#2, source=classes2.bool[4]#3",
        "self=normal[]#1, dim=0, index=classes1[1]#2, source=normal[1]#3",
        "self=normal[5, 7]#1, dim=0, index=classes5[0]#2, source=normal[0, 7]#3",
        f"self=normal[10]#1, dim=0, index=classes10[{LARGE}]#2, source=normal[{LARGE}]#3",
    ],
)
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    if not self.shape:
        return Tensor(self.dtype, (), list(source.data))
    dim %= len(self.shape)
    _, places = _places(self.shape, [*[None] * dim, index])
    return _written(self, places, source.data, False)


def _slices(self: Tensor, dim: int) -> list[tuple[Any, ...]]:
    return list(zip(*lines(self, dim), strict=True))


def _chosen(self: Tensor, dim: int, chosen: Sequence[int]) -> Tensor:
    shape = tuple(len(chosen) if d == dim else n for d, n in enumerate(self.shape))
    places = ([chosen[i] if d == dim else i for d, i in enumerate(at)] for at in product(*map(range, shape)))
    return Tensor(self.dtype, shape, [self[at] for at in places])


@reference(
    "unique_dim",
    cases=[
        f"self={self}, dim={dim}, sorted=True, return_inverse={inverse}, return_counts=True"
        for self, dim in (
            ("zeros[203, 2]#1", 0),
            ("zeros[2, 203]#1", 1),
            ("zeros.bfloat16[99, 2]#1", 0),
            ("ties.float16[3, 99]#1", 1),
            ("ties[203, 1]#1", 0),
            ("classes3[203, 3]#1", 0),
            ("extreme.int32[2, 99, 1]#1", 1),
            ("classes2.bool[99, 3]#1", 0),
            ("normal[33]#1", 0),
            ("rising[301, 1]#1", 0),
        )
        for inverse in (True, False)
    ],
)
def unique_dim(self: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> list[Tensor]:
    """The slices in lexical order, zeros of both signs equal; of equal ones the first. The inverse is always given."""
    slices = _slices(self, dim)
    firsts: dict[tuple[Any, ...], int] = {}
    for i, each in enumerate(slices):
        firsts.setdefault(each, i)
    keys = list(firsts)
    keys.sort()
    place = {key: i for i, key in enumerate(keys)}
    inverse = [place[each] for each in slices]
    return [
        _chosen(self, dim, [firsts[key] for key in keys]),
        Tensor("int64", (len(inverse),), inverse),
        Tensor("int64", (len(keys),), [inverse.count(i) for i in range(len(keys))]),
    ]
