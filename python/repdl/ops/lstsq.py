# SPDX-License-Identifier: MIT
"""Equations with more rows than unknowns, or fewer, by QR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample
from repdl.ops.complex_factors import complex_of, pair_matrices_of, pairs_of


@op(outputs=("output", "rank"))
def lstsq(input: Tensor, rows: Tensor, rcond: float, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """The shortest of the x whose A x is nearest to b; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n).
        rows: of its type, (…, r, m): each row is a right side b.
        rcond: numbers on the diagonal of R up to this times the first count as 0.
        pivot: find the rank, by QR with the longest column that is left first; else A is taken to have the largest one.

    Returns:
        The type of input, (…, r, n): each row is a solution; and int64, (…): the ranks.
    """


@op(outputs=("output", "rank"))
def complex_lstsq(input: Tensor, rows: Tensor, rcond: float, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """The shortest of the x whose A x is nearest to b, for complex numbers; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n, 2): pairs of a real and an imaginary part.
        rows: of its type, (…, r, m, 2): each row is a right side b.
        rcond: numbers on the diagonal of R up to this times the first count as 0.
        pivot: find the rank, by QR with the longest column that is left first; else A is taken to have the largest one.

    Returns:
        The type of input, (…, r, n, 2): each row is a solution; and int64, (…): the ranks.
    """


lstsq.rows(matrices_of("input", "rows"))
complex_lstsq.rows(pair_matrices_of("input", "rows"))


def _samples(parts: str) -> Callable[[], Iterator[Sample]]:
    dominant = "dominant_pairs" if parts else "dominant"

    def samples() -> Iterator[Sample]:
        def call(matrix: str, sides: str, rcond: float, **settings: object) -> Sample:
            return sample(input=matrix.format(parts), rows=sides.format(parts), rcond=rcond, **settings)

        for pivot in (True, False):
            for r, m, n in ((1, 1, 1), (2, 0, 3), (2, 3, 0), (0, 3, 2), (1, 4, 4), (2, 9, 5), (7, 5, 9), (33, 40, 21)):
                kind = dominant if m == n else "normal"
                yield call(f"{kind}[{m}, {n}{{}}]#1", f"normal[{r}, {m}{{}}]#2", 1e-6, pivot=pivot)
            yield call("normal[2, 3, 17, 19{}]#3", "normal[2, 3, 2, 17{}]#4", 1e-6, pivot=pivot)
            yield call(f"{dominant}[300, 4, 4{{}}]#3", "normal[300, 3, 4{}]#4", 1e-6, pivot=pivot)  # worth a fork
            for kind in ("special", "infinite", "zeros", "wide", "tiny", "few"):
                yield call(f"{kind}[7, 6, 4{{}}]#5", f"{kind}[7, 3, 6{{}}]#6", 1e-3, pivot=pivot)
                yield call(f"{kind}[7, 4, 6{{}}]#5", f"{kind}[7, 8, 4{{}}]#6", 1e-3, pivot=pivot)
        for rcond in (0.5, 0.0, 1.0, -1.0):  # of every rank
            yield call("normal[9, 7, 6{}]#5", "normal[9, 2, 7{}]#6", rcond)
            yield call("normal[9, 6, 7{}]#5", "normal[9, 9, 6{}]#6", rcond)
        for seed in (1, 2):
            yield call(
                f"nonnegative.float64[6, {seed + 2}, 3{{}}]#{seed}", f"normal.float64[6, 2, {seed + 2}{{}}]#4", 0.1
            )

    return samples


lstsq.samples(_samples(""))
complex_lstsq.samples(_samples(", 2"))


def _nearest(a: Any, b: Any, rcond: float, pivot: bool) -> tuple[Any, int]:
    """Of one matrix and the columns of another, by the columns that are the longest beside those before."""
    if not pivot:
        return np.linalg.pinv(a) @ b, min(a.shape)
    left, vectors, first = a.copy(), np.zeros((len(a), 0), a.dtype), 0.0
    for k in range(min(a.shape)):
        sizes = np.linalg.norm(left, axis=0)
        first = sizes.max() if k == 0 else first
        if not sizes.max() > first * rcond:
            break
        vector = left[:, [sizes.argmax()]] / sizes.max()
        vectors = np.concatenate([vectors, vector], 1)
        left = left - vector @ (vector.conj().T @ left)
    turned = vectors.conj().T
    return np.linalg.pinv(turned @ a) @ (turned @ b), vectors.shape[1]


@lstsq.oracle
def _(input: Any, rows: Any, rcond: float, pivot: bool = True) -> Any:
    output, ranks = np.zeros((*rows.shape[:-1], input.shape[-1]), rows.dtype), np.zeros(input.shape[:-2], np.int64)
    for place in np.ndindex(ranks.shape):
        solution, ranks[place] = _nearest(input[place], rows[place].T, rcond, pivot)
        output[place] = solution.T
    return output, ranks


@complex_lstsq.oracle
def _(input: Any, rows: Any, rcond: float, pivot: bool = True) -> Any:
    output, ranks = lstsq.compute_oracle(complex_of(input), complex_of(rows), rcond, pivot)  # type: ignore[misc]
    return pairs_of(output), ranks
