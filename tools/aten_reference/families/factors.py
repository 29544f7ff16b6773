# SPDX-License-Identifier: MIT
"""Determinants, and factors that torch has in another form than the core: by elimination in binary64."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import mpmath

from ..doubles import fma, quotient, sqrt
from ..numbers import float32
from ..registry import reference
from ..tensors import Tensor, size_of

Matrix = list[list[float]]

_KINDS = ("normal", "special", "infinite", "signed", "wide", "few")
_SQUARE = [
    f"{g}{t}[{shape}]#1"
    for t in ("", ".float64")
    for g, shape in (*((g, "5, 4, 4") for g in _KINDS), ("normal", "0, 0"), ("normal", "1, 1"), ("normal", "23, 23"))
]


def _rounded(x: float, dtype: str) -> float:
    return float32(x) if dtype == "float32" else x


def _matrices(x: Tensor) -> Iterator[Matrix]:
    rows, columns = x.shape[-2:]
    for first in (
        range(0, size_of(x.shape[:-2]) * rows * columns, max(rows * columns, 1))
        if rows * columns
        else [0] * size_of(x.shape[:-2])
    ):
        yield [x.data[first + i * columns : first + (i + 1) * columns] for i in range(rows)]


def _lu(a: Matrix, rows: int, columns: int, pivot: bool = True) -> list[int]:
    """Makes L and U of a matrix in its place; the rows that were exchanged, from 0."""
    pivots = []
    for k in range(min(rows, columns)):
        chosen = k
        if pivot:
            for i in range(k + 1, rows):
                x, best = a[i][k], a[chosen][k]
                if best == best and (x != x or abs(x) > abs(best)):
                    chosen = i
        a[k], a[chosen] = a[chosen], a[k]
        pivots.append(chosen)
        for i in range(k + 1, rows):
            factor = a[i][k] if a[k][k] == 0 else quotient(a[i][k], a[k][k])
            a[i][k] = factor
            for j in range(k + 1, columns):
                a[i][j] = fma(-factor, a[k][j], a[i][j])
    return pivots


def _stacked(matrices: list[Matrix], batch: tuple[int, ...], rows: int, columns: int, dtype: str) -> Tensor:
    data = [_rounded(x, dtype) for matrix in matrices for row in matrix for x in row]
    return Tensor(dtype, (*batch, rows, columns), data)


@reference(
    "linalg_lu",
    cases=[
        *(f"A={x}" for x in _SQUARE),
        *(f"A={g}[3, {m}, {n}]#1" for g in ("normal", "zeros", "few") for m, n in ((5, 3), (3, 5))),
        *(f"A={g}[3, 4, 5]#1, pivot=False" for g in ("normal", "wide")),
    ],
)
def linalg_lu(A: Tensor, pivot: bool = True) -> list[Tensor]:
    """P, L and U; P is empty without pivots."""
    *batch, m, n = A.shape
    k, permutations, lower, upper = min(m, n), list[Matrix](), list[Matrix](), list[Matrix]()
    for a in _matrices(A):
        order = list(range(m))
        for i, other in enumerate(_lu(a, m, n, pivot)):
            order[i], order[other] = order[other], order[i]
        permutations.append([[float(order[j] == i) for j in range(m)] for i in range(m)])
        lower.append([[a[i][j] if j < i else float(i == j) for j in range(k)] for i in range(m)])
        upper.append([[a[i][j] if j >= i else 0.0 for j in range(n)] for i in range(k)])
    first = _stacked(permutations, tuple(batch), m, m, A.dtype) if pivot else Tensor(A.dtype, (0,), [])
    return [first, *(_stacked(x, tuple(batch), *s, A.dtype) for x, s in ((lower, (m, k)), (upper, (k, n))))]


def _turned(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def _diagonals(A: Tensor) -> Iterator[tuple[float, list[float]]]:
    """Of each transpose 1, or -1 where an odd number of rows was exchanged, and the diagonal of U."""
    n = A.shape[-1]
    for a in map(_turned, _matrices(A)):
        pivots = _lu(a, n, n)
        yield -1.0 if sum(p != i for i, p in enumerate(pivots)) % 2 else 1.0, [a[i][i] for i in range(n)]


def _determinants(A: Tensor) -> Tensor:
    found = []
    for sign, diagonal in _diagonals(A):
        result = sign
        for x in diagonal:
            result *= x
        found.append(_rounded(result, A.dtype))
    return Tensor(A.dtype, A.shape[:-2], found)


@reference("linalg_det", cases=[f"A={x}" for x in _SQUARE])
def linalg_det(A: Tensor) -> Tensor:
    return _determinants(A)


@reference("_linalg_det", cases=[f"A={x}, read=['as is', 'left out', 'left out']" for x in _SQUARE])
def det_alone(A: Tensor, read: list[str]) -> Tensor:
    """The factors are those of the matrix or of its transpose, by its strides, as torch's gradients expect."""
    return _determinants(A)


def _log(x: float) -> float:
    if x == 0 or not math.isfinite(x):
        return -math.inf if x == 0 else x
    with mpmath.workprec(200):
        return float(mpmath.log(mpmath.mpf(x)))


def _logarithms(A: Tensor) -> list[Tensor]:
    signs, sizes = [], []
    for sign, diagonal in _diagonals(A):
        size = 0.0
        for x in diagonal:
            sign *= x if x != x or x == 0 else math.copysign(1.0, x)
            size += _log(abs(x))
        signs.append(sign)
        sizes.append(_rounded(size, A.dtype))
    return [Tensor(A.dtype, A.shape[:-2], column) for column in (signs, sizes)]


@reference("linalg_slogdet", cases=[f"A={x}" for x in _SQUARE])
def linalg_slogdet(A: Tensor) -> list[Tensor]:
    return _logarithms(A)


@reference("_linalg_slogdet", cases=[f"A={x}, read=['as is', 'as is', 'left out', 'left out']" for x in _SQUARE])
def slogdet_alone(A: Tensor, read: list[str]) -> list[Tensor]:
    return _logarithms(A)


# Cholesky's.


def _cholesky(a: Matrix) -> Matrix:
    """L of L times its transpose; of the matrix the lower triangle is read."""
    n = len(a)
    u = [[0.0] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            total = a[i][j]
            for k in range(j):
                total = fma(-u[k][j], u[k][i], total)
            u[j][i] = sqrt(total) if i == j else quotient(total, u[j][j])
    return _turned(u)


def _solved(lower: Matrix, b: list[float]) -> list[float]:
    """x of L Lᵀ x = b."""
    n, x = len(b), list(b)
    for i in range(n):
        for k in range(i):
            x[i] = fma(-lower[i][k], x[k], x[i])
        x[i] = quotient(x[i], lower[i][i])
    for i in reversed(range(n)):
        for k in reversed(range(i + 1, n)):
            x[i] = fma(-lower[k][i], x[k], x[i])
        x[i] = quotient(x[i], lower[i][i])
    return x


_DEFINITE = [f"dominant{t}[{shape}]#1" for t in ("", ".float64") for shape in ("1, 1", "5, 4, 4", "23, 23")]


def _of_each(A: Tensor, function: Callable[[Matrix], Matrix]) -> Tensor:
    n = A.shape[-1]
    return _stacked([function(a) for a in _matrices(A)], A.shape[:-2], n, n, A.dtype)


@reference("cholesky", cases=[*(f"self={x}" for x in _DEFINITE), *(f"self={x}.mT, upper=True" for x in _DEFINITE)])
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    return _of_each(self, lambda a: _turned(_cholesky(_turned(a))) if upper else _cholesky(a))


def _inverse(lower: Matrix) -> Matrix:
    n = len(lower)
    return _turned([_solved(lower, [float(i == j) for j in range(n)]) for i in range(n)])


@reference(
    "cholesky_inverse",
    cases=[
        *(f"self={x}" for x in (*_DEFINITE, "wide[5, 4, 4]#1")),
        *(f"self={x}, upper=True" for x in _DEFINITE),
    ],
)
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    return _of_each(self, lambda a: _inverse(_turned(a) if upper else a))
