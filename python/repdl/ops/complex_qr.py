# SPDX-License-Identifier: MIT
"""QR of complex matrices: pairs of a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.complex_factors import complex_of, pair_matrices_of, pairs_of


@op(outputs=("factors", "tau", "order"))
def complex_geqrf(input: Tensor, pivot: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Q and R of A = Q R for complex matrices, by Householder's reflections; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n, 2): pairs of a real and an imaginary part.
        pivot: take the longest column that is left first, so that A has its columns in another order.

    Returns:
        The type of input, (…, n, m, 2): row j is column j of R down to its diagonal, which is real, and below it
        reflection j without its first number, 1. The type of input, (…, min(m, n), 2): the factors of the reflections.
        int64, (…, n): what column of A each column is.
    """


@op()
def complex_householder(factors: Tensor, tau: Tensor, rows: Tensor, adjoint: bool = False) -> Tensor:
    """Q x, for Q from what `complex_geqrf` returned; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, m, 2): pairs of a real and an imaginary part.
        tau: of its type, (…, k, 2), k up to m and n.
        rows: of its type, (…, r, m, 2): each row is an x.
        adjoint: Qᴴ x.

    Returns:
        The type of factors, (…, r, m, 2): each row is a result.
    """


@op(outputs=("q", "r"))
def complex_qr(input: Tensor, complete: bool = False) -> tuple[Tensor, Tensor]:
    """Q and R of A = Q R for complex matrices, as matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n, 2): pairs of a real and an imaginary part.
        complete: make Q square, where A has more rows than columns.

    Returns:
        The type of input, (…, k, m, 2), k = min(m, n) or if complete m: row j is column j of Q; and (…, n, k, 2): row j
        is column j of R, whose diagonal is real.
    """


@op()
def complex_orgqr(factors: Tensor, tau: Tensor, columns: int) -> Tensor:
    """The first columns of Q, from what `complex_geqrf` returned; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, m, 2): pairs of a real and an imaginary part.
        tau: of its type, (…, k, 2), k up to m and n.
        columns: how many, up to m.

    Returns:
        The type of factors, (…, columns, m, 2): each row is a column of Q.
    """


complex_geqrf.rows(pair_matrices_of("input"))
complex_qr.rows(pair_matrices_of("input"))
complex_orgqr.rows(pair_matrices_of("factors", "tau"))
complex_householder.rows(pair_matrices_of("factors", "tau", "rows"))


@complex_geqrf.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (2, 2), (5, 4), (4, 9), (33, 32), (20, 70), (90, 40)):
        yield sample(input=f"normal[{m}, {n}, 2]#1")
    for m, n in ((1, 1), (5, 4), (4, 9), (40, 70), (700, 60)):
        yield sample(input=f"normal[{m}, {n}, 2]#1", pivot=True)
    yield sample(input="normal[3, 2, 17, 19, 2]#2")
    yield sample(input="normal[400, 6, 6, 2]#2")
    for kind in ("wide", "special", "infinite", "zeros", "tiny", "few"):
        yield sample(input=f"{kind}[7, 9, 11, 2]#3")
        yield sample(input=f"{kind}[7, 12, 9, 2]#3", pivot=True)
    for seed in (1, 2, 3, 4):
        yield sample(input=f"nonnegative.float64[6, {seed}, 3, 2]#{seed}", pivot=seed % 2 == 0)  # of all sizes


@complex_householder.samples
def _() -> Iterator[Sample]:
    for adjoint in (False, True):
        for n, m, r in ((1, 1, 1), (2, 3, 0), (3, 3, 2), (4, 9, 33), (40, 90, 20)):
            yield sample(
                factors=f"uniform[{n}, {m}, 2]#1",
                tau=f"uniform[{min(m, n)}, 2]#2",
                rows=f"normal[{r}, {m}, 2]#3",
                adjoint=adjoint,
            )
        yield sample(
            factors="uniform[3, 2, 5, 7, 2]#1",
            tau="uniform[3, 2, 4, 2]#2",
            rows="normal[3, 2, 3, 7, 2]#3",
            adjoint=adjoint,
        )
        for kind in ("special", "wide", "zeros"):
            yield sample(
                factors=f"{kind}[7, 9, 9, 2]#1", tau=f"{kind}[7, 9, 2]#2", rows=f"{kind}[7, 3, 9, 2]#3", adjoint=adjoint
            )
    yield sample(factors="uniform[400, 6, 6, 2]#1", tau="uniform[400, 6, 2]#2", rows="normal[400, 6, 6, 2]#3")


@complex_qr.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (4, 4), (9, 5), (5, 9), (40, 33)):
        yield sample(input=f"normal[{m}, {n}, 2]#1")
        yield sample(input=f"normal[{m}, {n}, 2]#1", complete=True)
    yield sample(input="normal[400, 6, 5, 2]#2")  # worth a fork
    for kind in ("special", "few"):
        yield sample(input=f"{kind}[7, 9, 8, 2]#3")


@complex_orgqr.samples
def _() -> Iterator[Sample]:
    for n, m, columns in ((1, 1, 1), (2, 3, 0), (4, 9, 9), (33, 40, 20)):
        yield sample(factors=f"uniform[{n}, {m}, 2]#1", tau=f"uniform[{min(m, n)}, 2]#2", columns=columns)
    yield sample(factors="uniform[400, 6, 6, 2]#1", tau="uniform[400, 5, 2]#2", columns=4)  # worth a fork
    yield sample(factors="special[7, 9, 9, 2]#1", tau="special[7, 9, 2]#2", columns=9)


def _reflected(x: Any, v: Any, tau: Any) -> Any:
    return x - tau * np.outer(v, v.conj() @ x)


def _factored(pairs: Any, pivot: bool = False) -> Any:
    a = complex_of(pairs)
    tau = np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    order = np.broadcast_to(np.arange(a.shape[-1]), (*a.shape[:-2], a.shape[-1])).copy()
    for place in np.ndindex(a.shape[:-2]):
        one = a[place]
        for j in range(tau.shape[-1]):
            chosen = j + int(np.argmax((np.abs(one[j:, j:]) ** 2).sum(0))) if pivot else j
            one[:, [j, chosen]] = one[:, [chosen, j]]
            order[*place, [j, chosen]] = order[*place, [chosen, j]]
            head, size = one[j, j], np.linalg.norm(one[j:, j])
            if size == abs(head.real):
                continue
            first = size if head.real < 0 else -size
            tau[*place, j] = (first - head) / first
            one[j + 1 :, j] /= head - first
            one[j, j] = first
            v = np.concatenate([[1.0], one[j + 1 :, j]])
            one[j:, j + 1 :] = _reflected(one[j:, j + 1 :], v, tau[*place, j].conj())
    return np.swapaxes(a, -1, -2), tau, order


def _turned(factors: Any, tau: Any, rows: Any, adjoint: bool = False) -> Any:
    result = np.swapaxes(rows, -1, -2).astype(complex)
    steps = range(tau.shape[-1])
    for place in np.ndindex(rows.shape[:-2]):
        for j in steps if adjoint else reversed(steps):
            v = np.concatenate([[1.0], factors[place][j, j + 1 :]])
            factor = tau[*place, j].conj() if adjoint else tau[*place, j]
            result[place][j:] = _reflected(result[place][j:], v, factor)
    return np.swapaxes(result, -1, -2)


def _columns(factors: Any, tau: Any, count: int) -> Any:
    m = factors.shape[-1]
    return _turned(factors, tau, np.broadcast_to(np.eye(m)[:count], (*factors.shape[:-2], count, m)))


@complex_geqrf.oracle
def _(input: Any, pivot: bool = False) -> Any:
    factors, tau, order = _factored(input, pivot)
    return pairs_of(factors), pairs_of(tau), order


@complex_householder.oracle
def _(factors: Any, tau: Any, rows: Any, adjoint: bool = False) -> Any:
    return pairs_of(_turned(complex_of(factors), complex_of(tau), complex_of(rows), adjoint))


@complex_orgqr.oracle
def _(factors: Any, tau: Any, columns: int) -> Any:
    return pairs_of(_columns(complex_of(factors), complex_of(tau), columns))


@complex_qr.oracle
def _(input: Any, complete: bool = False) -> Any:
    m, n = input.shape[-3:-1]
    columns = m if complete else min(m, n)
    factors, tau, _ = _factored(input)
    return pairs_of(_columns(factors, tau, columns)), pairs_of(np.tril(factors)[..., :columns])
