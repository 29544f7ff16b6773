# SPDX-License-Identifier: MIT
"""Data that is moved by an index or a mask, and what comes twice."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import Any

from ..numbers import nearest
from ..registry import reference
from ..tensors import Tensor, each, from_lines, lines, rounded

_LOW = ("", ".bfloat16", ".float16", ".int64", ".bool")


def _of(t: str) -> str:
    return "classes2.bool" if t == ".bool" else f"ties{t}" if "int" in t else f"bits{t}"


@reference(
    "gather", cases=[f"self={_of(t)}[9, 37]#1, dim={dim}, index=classes9[4, 30]#2" for t in _LOW for dim in (0, 1)]
)
def gather(self: Tensor, dim: int, index: Tensor) -> Tensor:
    data = []
    for at, place in zip(index.indices(), index.data, strict=True):
        source = list(at)
        source[dim] = place
        data.append(self[source])
    return Tensor(self.dtype, index.shape, data)


@reference(
    "index_select",
    cases=[f"self={_of(t)}[9, 37, 2]#1, dim={dim}, index=classes9[14]#2" for t in _LOW for dim in (0, 1)],
)
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    found = [[line[i] for i in index.data] for line in lines(self, dim)]
    shape = tuple(len(index.data) if d == dim else n for d, n in enumerate(self.shape))
    return from_lines(found, shape, dim, self.dtype)


@reference(
    "narrow_copy",
    cases=[f"self={_of(t)}[9, 37, 2]#1, dim=1, start={start}, length=5" for t in _LOW for start in (0, 32, -7)]
    + ["self=normal[3, 4]#1, dim=-2, start=3, length=0"],
)
def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    dim %= len(self.shape)
    start = start + self.shape[dim] if start < 0 else start
    shape = tuple(length if d == dim else n for d, n in enumerate(self.shape))
    return from_lines([line[start : start + length] for line in lines(self, dim)], shape, dim, self.dtype)


@reference(
    "where.self",
    cases=[f"condition=classes2.bool[9, 37]#3, self={_of(t)}[9, 37]#1, other={_of(t)}[37]#2" for t in _LOW],
)
def where(condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return each(lambda c, x, y: x if c else y, condition, self, other, common=self.dtype)


@reference(
    "masked_fill.Scalar", cases=[f"self={_of(t)}[9, 37]#1, mask=classes2.bool[37]#2, value=0.3" for t in _LOW[:3]]
)
def masked_fill(self: Tensor, mask: Tensor, value: float) -> Tensor:
    return each(lambda x, m: rounded(value, "float32") if m else x, self, mask, common=self.dtype)


@reference("flip", cases=[f"self={_of(t)}[3, 5, 7]#1, dims=(0, 2)" for t in _LOW])
def flip(self: Tensor, dims: Any) -> Tensor:
    data = [
        self[[n - 1 - i if d in dims else i for d, (i, n) in enumerate(zip(at, self.shape, strict=True))]]
        for at in self.indices()
    ]
    return Tensor(self.dtype, self.shape, data)


@reference("cat", cases=[f"tensors=[{_of(t)}[3, 5]#1, {_of(t)}[3, 4]#2, {_of(t)}[3, 0]#3], dim=1" for t in _LOW])
def cat(tensors: list[Tensor], dim: int) -> Tensor:
    each_of = [lines(t, dim) if t.shape[dim] else [[]] * t.shape[0] for t in tensors]
    found = [list(chain.from_iterable(parts)) for parts in zip(*each_of, strict=True)]
    return from_lines(found, (tensors[0].shape[0], len(found[0])), dim, tensors[0].dtype)


@reference(
    "embedding",
    cases=[f"weight={_of(t)}[9, 7]#1, indices=classes9{i}[4, 5]#2" for t in _LOW[:3] for i in ("", ".int32")],
)
def embedding(weight: Tensor, indices: Tensor) -> Tensor:
    width = weight.shape[1]
    data = [weight.data[row * width + j] for row in indices.data for j in range(width)]
    return Tensor(weight.dtype, (*indices.shape, width), data)


@reference("constant_pad_nd", cases=[f"self={_of(t)}[3, 5]#1, pad=(1, 2, 0, 3), value=0.3" for t in _LOW[:3]])
def pad(self: Tensor, pad: Any, value: float) -> Tensor:
    left, right, top, bottom = pad
    rows, columns = self.shape
    filled = rounded(rounded(value, "float32"), self.dtype)
    data = [
        self[i, j] if 0 <= i < rows and 0 <= j < columns else filled
        for i in range(-top, rows + bottom)
        for j in range(-left, columns + right)
    ]
    return Tensor(self.dtype, (rows + top + bottom, columns + left + right), data)


def _cast(t: str, to: str) -> str:
    return f"self={t}, dtype={to}"


@reference(
    "_to_copy",
    cases=[
        _cast(t, to)
        for t in (
            "bits[500]#1",
            "ties.int64[99]#1",
            "extreme.int64[99]#1",
            "extreme.int32[99]#1",
            "bits.bfloat16[500]#1",
            "bits.float16[500]#1",
        )
        for to in ("float32", "bfloat16", "float16")
        if not ("int" in t and to != "float32")
    ],
)
def to_copy(self: Tensor, dtype: str) -> Tensor:
    """From integers and other floating-point types, rounded once."""
    if self.is_float:
        return Tensor(dtype, self.shape, [rounded(x, dtype) for x in self.data])
    return Tensor(dtype, self.shape, [nearest(Fraction(x), dtype) for x in self.data])
