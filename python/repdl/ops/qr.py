# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample


@op(outputs=("factors", "tau", "order"))
def geqrf(input: Tensor, pivot: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Q and R of A = Q R by Householder's reflections; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n).
        pivot: take the longest column that is left first, so that A has its columns in another order.

    Returns:
        The type of input, (…, n, m): row j is column j of R down to its diagonal, and below it reflection j without its
        first number, 1. The type of input, (…, min(m, n)): the factors of the reflections. int64, (…, n): what column
        of A each column is.
    """


@op()
def householder(factors: Tensor, tau: Tensor, rows: Tensor, adjoint: bool = False) -> Tensor:
    """Q x, for Q from what `geqrf` returned; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, m).
        tau: of its type, (…, k), k up to m and n.
        rows: of its type, (…, r, m): each row is an x.
        adjoint: Qᵀ x.

    Returns:
        The type of factors, (…, r, m): each row is a result.
    """


@op(outputs=("q", "r"))
def qr(input: Tensor, complete: bool = False) -> tuple[Tensor, Tensor]:
    """Q and R of A = Q R, as matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n).
        complete: make Q square, where A has more rows than columns.

    Returns:
        The type of input, (…, k, m), k = min(m, n) or if complete m: row j is column j of Q; and (…, n, k): row j is
        column j of R.
    """


@op()
def orgqr(factors: Tensor, tau: Tensor, columns: int) -> Tensor:
    """The first columns of Q, from what `geqrf` returned; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, m).
        tau: of its type, (…, k), k up to m and n.
        columns: how many, up to m.

    Returns:
        The type of factors, (…, columns, m): each row is a column of Q.
    """


geqrf.rows(matrices_of("input"))
qr.rows(matrices_of("input"))
orgqr.rows(matrices_of("factors", "tau"))
householder.rows(matrices_of("factors", "tau", "rows"))


@geqrf.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (2, 2), (5, 4), (4, 9), (33, 32), (20, 70), (90, 40), (120, 120)):
        yield sample(input=f"normal[{m}, {n}]#1")
    for m, n in ((1, 1), (5, 4), (4, 9), (40, 70), (1500, 100)):
        yield sample(input=f"normal[{m}, {n}]#1", pivot=True)
    yield sample(input="normal[3, 2, 17, 19]#2")
    yield sample(input="normal[500, 6, 6]#2")
    for kind in ("wide", "special", "infinite", "zeros", "tiny"):
        yield sample(input=f"{kind}[7, 9, 11]#3")
        yield sample(input=f"{kind}[7, 12, 9]#3", pivot=True)
    for seed in (1, 2, 3, 4):
        yield sample(input=f"nonnegative.float64[6, {seed}, 3]#{seed}", pivot=seed % 2 == 0)  # of all sizes


@householder.samples
def _() -> Iterator[Sample]:
    for adjoint in (False, True):
        for n, m, r in ((1, 1, 1), (2, 3, 0), (3, 3, 2), (4, 9, 33), (40, 90, 70)):
            yield sample(
                factors=f"uniform[{n}, {m}]#1",
                tau=f"uniform[{min(m, n)}]#2",
                rows=f"normal[{r}, {m}]#3",
                adjoint=adjoint,
            )
        yield sample(
            factors="uniform[3, 2, 5, 7]#1", tau="uniform[3, 2, 4]#2", rows="normal[3, 2, 3, 7]#3", adjoint=adjoint
        )
        for kind in ("special", "wide", "zeros"):
            yield sample(
                factors=f"{kind}[7, 9, 9]#1", tau=f"{kind}[7, 9]#2", rows=f"{kind}[7, 3, 9]#3", adjoint=adjoint
            )
    yield sample(factors="uniform[500, 6, 6]#1", tau="uniform[500, 6]#2", rows="normal[500, 6, 6]#3")


@qr.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (4, 4), (9, 5), (5, 9), (40, 33)):
        yield sample(input=f"normal[{m}, {n}]#1")
        yield sample(input=f"normal[{m}, {n}]#1", complete=True)
    yield sample(input="normal[500, 6, 5]#2")  # worth a fork
    yield sample(input="special[7, 9, 8]#3")


@orgqr.samples
def _() -> Iterator[Sample]:
    for n, m, columns in ((1, 1, 1), (2, 3, 0), (4, 9, 9), (33, 40, 20)):
        yield sample(factors=f"uniform[{n}, {m}]#1", tau=f"uniform[{min(m, n)}]#2", columns=columns)
    yield sample(factors="uniform[500, 6, 6]#1", tau="uniform[500, 5]#2", columns=4)  # worth a fork
    yield sample(factors="special[7, 9, 9]#1", tau="special[7, 9]#2", columns=9)


def _reflected(x: Any, v: Any, tau: Any) -> Any:
    return x - tau * np.outer(v, v @ x)


def _factored(input: Any, pivot: bool = False) -> Any:
    a = input.copy()
    tau = np.zeros((*a.shape[:-2], min(a.shape[-2:])))
    order = np.broadcast_to(np.arange(a.shape[-1]), (*a.shape[:-2], a.shape[-1])).copy()
    for place in np.ndindex(a.shape[:-2]):
        one = a[place]
        for j in range(tau.shape[-1]):
            chosen = j + int(np.argmax((one[j:, j:] ** 2).sum(0))) if pivot else j
            one[:, [j, chosen]] = one[:, [chosen, j]]
            order[*place, [j, chosen]] = order[*place, [chosen, j]]
            head, size = one[j, j], np.linalg.norm(one[j:, j])
            if size == abs(head):
                continue
            first = size if head < 0 else -size
            tau[*place, j] = (first - head) / first
            one[j + 1 :, j] /= head - first
            one[j, j] = first
            v = np.concatenate([[1.0], one[j + 1 :, j]])
            one[j:, j + 1 :] = _reflected(one[j:, j + 1 :], v, tau[*place, j])
    return np.swapaxes(a, -1, -2), tau, order


def _turned(factors: Any, tau: Any, rows: Any, adjoint: bool = False) -> Any:
    result = np.swapaxes(rows, -1, -2).copy()
    steps = range(tau.shape[-1])
    for place in np.ndindex(rows.shape[:-2]):
        for j in steps if adjoint else reversed(steps):
            v = np.concatenate([[1.0], factors[place][j, j + 1 :]])
            result[place][j:] = _reflected(result[place][j:], v, tau[*place, j])
    return np.swapaxes(result, -1, -2)


geqrf.oracle(_factored)
householder.oracle(_turned)


@orgqr.oracle
def _(factors: Any, tau: Any, columns: int) -> Any:
    rows = np.broadcast_to(np.eye(factors.shape[-1])[:columns], (*factors.shape[:-2], columns, factors.shape[-1]))
    return _turned(factors, tau, rows)


@qr.oracle
def _(input: Any, complete: bool = False) -> Any:
    m, n = input.shape[-2:]
    columns = m if complete else min(m, n)
    factors, tau, _ = _factored(input)
    rows = np.broadcast_to(np.eye(m)[:columns], (*input.shape[:-2], columns, m))
    return _turned(factors, tau, rows), np.tril(factors)[..., :columns]
