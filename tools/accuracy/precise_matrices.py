# SPDX-License-Identifier: MIT
"""Linear algebra in long doubles, for which LAPACK has nothing: textbook algorithms, a matrix at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from accuracy.precise import Array, LongDouble


def each_matrix(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Of a stack of matrices."""
    return lambda matrices: np.array([function(matrix) for matrix in matrices])


def _eliminated(a: Array, sides: Array) -> tuple[Array, Array, int]:
    """The upper factor, the right sides after the same steps, and the sign of the permutation."""
    a, sides, sign = a.copy(), sides.copy(), 1
    for k in range(len(a)):
        pivot = k + int(np.abs(a[k:, k]).argmax())
        if pivot != k:
            a[[k, pivot]], sides[[k, pivot]], sign = a[[pivot, k]], sides[[pivot, k]], -sign
        factors = (a[k + 1 :, k] / a[k, k])[:, None]
        a[k + 1 :] -= factors * a[k]
        sides[k + 1 :] -= factors * sides[k]
    return a, sides, sign


def back_substituted(upper: Array, sides: Array) -> Array:
    x = sides.copy()
    for k in reversed(range(len(upper))):
        x[k] = (x[k] - upper[k, k + 1 :] @ x[k + 1 :]) / upper[k, k]
    return x


def solve(a: Array, sides: Array) -> Array:
    upper, changed, _ = _eliminated(a, sides)
    return back_substituted(upper, changed)


def inverse(a: Array) -> Array:
    return solve(a, np.eye(len(a), dtype=LongDouble))


def determinant(a: Array) -> Array:
    upper, _, sign = _eliminated(a, a)
    return sign * np.diag(upper).prod()


def cholesky(a: Array) -> Array:
    factor = np.zeros_like(a)
    for k in range(len(a)):
        column = a[k:, k] - factor[k:, :k] @ factor[k, :k]
        factor[k:, k] = column / np.sqrt(column[0])
    return factor


def triangular_of_qr(a: Array, sides: Array | None = None) -> tuple[Array, Array]:
    """R by Householder's reflections, with LAPACK's signs, and the right sides after the same reflections."""
    r = a.copy()
    sides = np.zeros((len(a), 0), dtype=LongDouble) if sides is None else sides.copy()
    for k in range(min(a.shape[1], len(a) - 1)):
        v = r[k:, k].copy()
        v[0] += np.copysign(np.sqrt(v @ v), v[0])
        scale = 2 / (v @ v)
        r[k:] -= np.outer(v, scale * (v @ r[k:]))
        sides[k:] -= np.outer(v, scale * (v @ sides[k:]))
    return np.triu(r)[: a.shape[1]], sides[: a.shape[1]]


def least_squares(a: Array, sides: Array) -> Array:
    return back_substituted(*triangular_of_qr(a, sides))


def singular_values(a: Array) -> Array:
    """By Jacobi's rotations from one side, which are exact to a few units of long doubles for each value."""
    a = a.copy()
    for _ in range(30):
        rotated = False
        for i in range(a.shape[1] - 1):
            for j in range(i + 1, a.shape[1]):
                x, y = a[:, i].copy(), a[:, j].copy()
                xx, yy, xy = x @ x, y @ y, x @ y
                if np.abs(xy) <= np.finfo(LongDouble).eps * np.sqrt(xx * yy):
                    continue
                rotated = True
                zeta = (yy - xx) / (2 * xy)
                t = np.copysign(1, zeta) / (np.abs(zeta) + np.sqrt(1 + zeta * zeta))
                c = 1 / np.sqrt(1 + t * t)
                a[:, i], a[:, j] = c * (x - t * y), c * (y + t * x)
        if not rotated:
            break
    return np.sort(np.sqrt((a * a).sum(0)))[::-1]


def eigenvalues(a: Array) -> Array:
    """Of a symmetric matrix: singular values of one that is shifted to be positive, with the shift taken off."""
    shift = np.abs(a).sum(1).max() * 2
    return singular_values(a + shift * np.eye(len(a), dtype=LongDouble))[::-1] - shift


def exponential(a: Array) -> Array:
    """By Taylor's series of the matrix over 2^k, squared k times."""
    halvings = max(0, int(np.ceil(np.log2(float(np.abs(a).sum(1).max()) + 1e-300))) + 3)
    small = a / LongDouble(2) ** halvings
    term = result = np.eye(len(a), dtype=LongDouble)
    for k in range(1, 30):
        term = term @ small / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result
