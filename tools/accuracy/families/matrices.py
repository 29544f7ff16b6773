# SPDX-License-Identifier: MIT
"""Linear algebra: solutions, factors, eigenvalues."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, linalg

from accuracy.calls import Call, Draw, family
from accuracy.precise import Array, LongDouble
from accuracy.precise_matrices import (
    cholesky,
    determinant,
    each_matrix,
    eigenvalues,
    exponential,
    inverse,
    least_squares,
    singular_values,
    solve,
    triangular_of_qr,
)


def _conditioned(draw: Draw, n: int) -> Tensor:
    """A matrix whose singular values go from 1 down to 1e-3, or to 1e-8 for float64."""
    a = np.diag(np.logspace(0, -3 if draw.dtype == torch.float32 else -8, n)).astype(LongDouble)
    for _ in range(4):
        v = draw.generator.standard_normal(n).astype(LongDouble)
        a = (a - np.outer(v, (v @ a) * (2 / (v @ v)))).T
    return draw.of(a)


def _positive(draw: Draw, a: Tensor) -> Tensor:
    exact = a.numpy().astype(LongDouble)
    n = a.shape[-1]
    return draw.of(exact @ exact.swapaxes(-1, -2) / n + np.eye(n))


def _orthogonality(q: Array, _: Array) -> Array:
    return q.swapaxes(-1, -2) @ q


def _one(a: Array) -> Array:
    return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)


@family("linear algebra")
def _matrices(draw: Draw) -> Iterator[Call]:
    square, sides = draw.normal(100, 100), draw.normal(100, 10)
    drawn = draw.normal(200, 24, 24)
    many = drawn[linalg.cond(drawn).argsort()[:100]]  # so that no single matrix decides the mean
    bad = _conditioned(draw, 100)
    symmetric = many + many.mT
    yield Call("solve, 100², 10 sides", linalg.solve, (square, sides), solve)
    yield Call("solve, 100², badly conditioned", linalg.solve, (bad, sides), solve)
    yield Call(
        "solve, 100 of 24²",
        linalg.solve,
        (many, many[..., :3].flip(0)),
        lambda a, b: np.array([solve(*both) for both in zip(a, b)]),
    )
    yield Call(
        "solve_triangular, 100²",
        lambda a, b: linalg.solve_triangular(a, b, upper=True),
        (square.triu() + 10 * torch.eye(100, dtype=draw.dtype), sides),
        solve,
    )
    yield Call("inv, 100²", linalg.inv, (square,), inverse)
    yield Call("inv, 100², badly conditioned", linalg.inv, (bad,), inverse)
    yield Call("inv, 100 of 24²", linalg.inv, (many,), each_matrix(inverse))
    yield Call("det, 100 of 24²", linalg.det, (many,), each_matrix(determinant))
    yield Call(
        "slogdet, 100 of 24²",
        lambda a: linalg.slogdet(a)[1],
        (many,),
        lambda a: np.log(np.abs(each_matrix(determinant)(a))),
    )
    yield Call("cholesky, 100²", linalg.cholesky, (_positive(draw, square),), cholesky)
    yield Call("cholesky, 100 of 24²", linalg.cholesky, (_positive(draw, many),), each_matrix(cholesky))
    tall = draw.normal(100, 32, 16)
    yield Call("qr, 100², R", lambda a: linalg.qr(a)[1], (square,), lambda a: triangular_of_qr(a)[0])
    yield Call(
        "qr, 100 of 32 × 16, R", lambda a: linalg.qr(a)[1], (tall,), each_matrix(lambda a: triangular_of_qr(a)[0])
    )
    yield Call("qr, 100², Q R", linalg.qr, (square,), lambda a: a, np.matmul)
    yield Call("qr, 100², Qᵀ Q", linalg.qr, (square,), _one, _orthogonality)
    yield Call("svdvals, 100 of 24²", linalg.svdvals, (many,), each_matrix(singular_values))
    yield Call("svd, 100 of 24², U S Vᵀ", linalg.svd, (many,), lambda a: a, lambda u, s, v: u * s[:, None] @ v)
    yield Call("svd, 100 of 24², Uᵀ U", linalg.svd, (many,), _one, lambda u, s, v: _orthogonality(u, s))
    yield Call("svd, 100², U S Vᵀ", linalg.svd, (square,), lambda a: a, lambda u, s, v: u * s @ v)
    yield Call("eigvalsh, 100 of 24²", linalg.eigvalsh, (symmetric,), each_matrix(eigenvalues))
    yield Call(
        "eigh, 100 of 24², V W Vᵀ",
        linalg.eigh,
        (symmetric,),
        lambda a: a,
        lambda w, v: v * w[:, None] @ v.swapaxes(-1, -2),
    )
    yield Call("eigh, 100 of 24², Vᵀ V", linalg.eigh, (symmetric,), _one, lambda w, v: _orthogonality(v, w))
    yield Call(
        "eigh, 100², V W Vᵀ", linalg.eigh, (square + square.mT,), lambda a: a, lambda w, v: v * w @ v.swapaxes(-1, -2)
    )
    yield Call(
        "lstsq, 100 × 40, 10 sides",
        lambda a, b: linalg.lstsq(a, b).solution,
        (square[:, :40].contiguous(), sides),
        least_squares,
    )
    yield Call("matrix_exp, 64²", linalg.matrix_exp, (square[:64, :64].contiguous() / 4,), exponential)
    yield Call("matrix_exp, 64², small", linalg.matrix_exp, (square[:64, :64].contiguous() / 100,), exponential)
    yield Call("matrix_exp, 100 of 24²", linalg.matrix_exp, (many / 2,), each_matrix(exponential))
    yield Call("pinv, 100 × 40", linalg.pinv, (square[:, :40].contiguous(),), lambda a: solve(a.T @ a, a.T))
    yield Call(
        "matrix_power 5, 64²", lambda a: linalg.matrix_power(a, 5), (square[:64, :64].contiguous() / 8,),
        lambda a: a @ a @ a @ a @ a,
    )  # fmt: skip
