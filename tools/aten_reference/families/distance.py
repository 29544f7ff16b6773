# SPDX-License-Identifier: MIT
"""Distances between rows, and their gradients; norms of slices."""

from __future__ import annotations

import math
from itertools import combinations, product

from .. import functions
from ..numbers import add, div, float32, mul, sub
from ..registry import reference
from ..sums import norm_of, sum_of
from ..tensors import Tensor, groups, reduced_shape, rounded
from .choices import sign

_LOW = ("", ".bfloat16", ".float16")
_POWERS = (2.0, 1.0, 0.0, math.inf, 0.5, 3.0)


def _rows(x: Tensor) -> list[list[float]]:
    width = x.shape[-1]
    return [x.data[i * width : (i + 1) * width] for i in range(math.prod(x.shape[:-1]))]


def _away(x: list[float], y: list[float]) -> list[float]:
    return [sub(a, b) for a, b in zip(x, y, strict=True)]


def _slope(d: float, distance: float, p: float) -> float:
    if p == 0:
        return 0.0
    if p == 1:
        return sign(d)  # type: ignore[no-any-return]
    if p == math.inf:
        return mul(sign(d), float(abs(d) == distance))
    if distance == 0 or d == 0:
        return 0.0
    if p == 2:
        return div(d, distance)
    power = float32(p - 1)
    return div(mul(sign(d), functions.pow(abs(d), power)), functions.pow(distance, power))


def _pairs(x1: Tensor, x2: Tensor) -> list[tuple[list[list[float]], list[list[float]]]]:
    """The rows of both, for each of the batch."""
    a, b = _rows(x1), _rows(x2)
    count = math.prod(x1.shape[:-2])
    m, n = x1.shape[-2], x2.shape[-2]
    return [(a[k * m : (k + 1) * m], b[k * n : (k + 1) * n]) for k in range(count)]


_OPERANDS = [
    *((f"x1={g}{t}[5, 7]#1, x2={g}{t}[3, 7]#2", t, "5, 3") for t in _LOW for g in ("normal", "special", "ties")),
    ("x1=wide[2, 3, 131]#1, x2=wide[2, 4, 131]#2", "", "2, 3, 4"),
]


def _large(p: float) -> str:
    return f"x1=normal[40, 5]#1, x2=normal[70, 5]#2, p={p}"


@reference(
    "_cdist_forward",
    cases=[
        *(f"{x}, p={p}, compute_mode=None" for x, *_ in _OPERANDS for p in _POWERS),
        f"{_large(2.0)}, compute_mode=1",
        "x1=normal[3, 0]#1, x2=normal[2, 0]#2, p=2.0, compute_mode=None",
        "x1=normal[2, 9001]#1, x2=normal[2, 9001]#2, p=2.0, compute_mode=2",
    ],
)
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    found = [rounded(norm_of(_away(a, b), p), x1.dtype) for rows in _pairs(x1, x2) for a, b in product(*rows)]
    return Tensor(x1.dtype, (*x1.shape[:-1], x2.shape[-2]), found)


@reference("_euclidean_dist", cases=[x for x, *_ in _OPERANDS])
def euclidean(x1: Tensor, x2: Tensor) -> Tensor:
    return cdist(x1, x2, 2.0, None)


@reference(
    "_cdist_backward",
    cases=[
        *(
            f"grad={g}{t}[{shape}]#3, {x}, p={p}, cdist={d}{t}[{shape}]#4"
            for x, t, shape in _OPERANDS
            for p in _POWERS
            for g, d in (("normal", "positive"), ("special", "zeros"))[: 1 if t else 2]
        ),
        f"grad=normal[40, 70]#3, {_large(2.0)}, cdist=positive[40, 70]#4",
    ],
)
def cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    found = []
    places = iter(zip(grad.data, cdist.data, strict=True))
    for rows, others in _pairs(x1, x2):
        for row in rows:
            of_row = [next(places) for _ in others]
            terms = [
                [mul(_slope(d, distance, p), g) for d in _away(row, other)]
                for other, (g, distance) in zip(others, of_row, strict=True)
            ]
            found += [rounded(sum_of(column), x1.dtype) for column in zip(*terms, strict=True)]
    return Tensor(x1.dtype, x1.shape, found)


_ONE = [f"{g}{t}[6, 7]#1" for t in _LOW for g in ("normal", "special", "ties")]


@reference(
    "_pdist_forward",
    cases=[
        *(f"self={x}, p={p}" for x in _ONE for p in _POWERS),
        "self=normal[1, 5]#1, p=2.0",
        "self=wide[70, 5]#1, p=2.0",
    ],
)
def pdist(self: Tensor, p: float) -> Tensor:
    found = [rounded(norm_of(_away(a, b), p), self.dtype) for a, b in combinations(_rows(self), 2)]
    return Tensor(self.dtype, (len(found),), found)


@reference(
    "_pdist_backward",
    cases=[
        *(
            f"grad={g}{x[x.index('.') : x.index('[')] if '.' in x else ''}[15]#3, self={x}, p={p}, "
            f"pdist={d}{x[x.index('.') : x.index('[')] if '.' in x else ''}[15]#4"
            for x in _ONE
            for p in _POWERS
            for g, d in (("normal", "positive"), ("special", "zeros"))[: 1 if "." in x else 2]
        ),
        "grad=normal[2415]#3, self=wide[70, 5]#1, p=2.0, pdist=positive[2415]#4",
    ],
)
def pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    pairs = list(combinations(range(self.shape[0]), 2))
    rows = _rows(self)
    terms = [
        [mul(_slope(d, distance, p), g) for d in _away(rows[i], rows[j])]
        for (i, j), g, distance in zip(pairs, grad.data, pdist.data, strict=True)
    ]
    total = [[0.0] * self.shape[1] for _ in rows]
    for place, factor in ((0, 1.0), (1, -1.0)):
        for pair, row in zip(pairs, terms, strict=True):
            at = pair[place]
            total[at] = [add(x, factor * y) for x, y in zip(total[at], row, strict=True)]
    return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for row in total for x in row])


_NORMED = [
    *(f"self={g}{t}[5, 7, 3]#1" for t in _LOW for g in ("normal", "special")),
    "self=wide[3, 4999]#1",
    "self=tiny[3, 70]#1",
    "self=zeros[9, 2]#1",
]


@reference(
    "norm.Scalar",
    cases=[
        f"{x}, p={p}{', order=' + repr('sequential') if i % 2 else ''}"
        for i, x in enumerate(_NORMED)
        for p in (2, 1, 0, "inf", "-inf", 0.5, 3, -1.5)
    ],
)
def norm_of_all(self: Tensor, p: float, order: str = "blocked") -> Tensor:
    return Tensor(self.dtype, (), [rounded(norm_of(self.data, p, order), self.dtype)])


@reference(
    "norm.ScalarOpt_dim",
    cases=[
        f"{x}, p={p}, dim={dim}, keepdim={keep}"
        for x in _NORMED
        for p, dim, keep in (
            (2, (0,), False),
            ("None", (1,), True),
            (1, (-1,), False),
            ("inf", (0, 1), False),
            (3, (0,), True),
            (-1.5, (1,), False),
            (0, (), True),
        )
    ],
)
def norm_along(self: Tensor, p: float | None, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    over = dim or tuple(range(len(self.shape)))
    found = [rounded(norm_of(group, 2 if p is None else p), self.dtype) for group in groups(self, over)]
    return Tensor(self.dtype, reduced_shape(self.shape, over, keepdim), found)
