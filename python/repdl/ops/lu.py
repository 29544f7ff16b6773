# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample
from repdl.ops.mm import mm


@op(outputs=("output", "sign", "factors", "pivots"))
def det(input: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Determinants, and what `lu` returns but info. The gradient is not finite for a singular matrix.

    Args:
        input: float32 or float64, (…, n, n).

    Returns:
        The type of input, (…): the determinants; and 1 or, where an odd number of rows was exchanged, -1. Then the
        factors and pivots of `lu`.
    """


@op(outputs=("sign", "logabsdet", "factors", "pivots"))
def slogdet(input: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Signs of determinants and logarithms of their sizes, and what `lu` returns but info.

    Args:
        input: float32 or float64, (…, n, n).

    Returns:
        The type of input, (…): 1, -1, 0 or NaN; and the logarithms. Then the factors and pivots of `lu`.
    """


@op(outputs=("factors", "pivots", "info"))
def lu(input: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """L and U of P A = L U, by partial pivoting; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n).
        pivot: exchange rows, so that the largest number comes to the diagonal.

    Returns:
        The type of input, (…, n, m): row j is column j of U, and of L below its ones, which are left out. int64,
        (…, min(m, n)): with what row each row was exchanged, from 1. int64, (…): 0, or the first zero of the diagonal
        of U, from 1.
    """


@op()
def lu_solve(factors: Tensor, pivots: Tensor, rows: Tensor, adjoint: bool = False) -> Tensor:
    """The solutions x of A x = b from what `lu` returned for square matrices A. The gradient is by `rows` alone.

    Args:
        factors: float32 or float64, (…, n, n).
        pivots: int64, (…, n); 0 exchanges nothing.
        rows: of the type of factors, (…, m, n): each row is a right side b.
        adjoint: solve Aᵀ x = b.

    Returns:
        The type of factors, (…, m, n): each row is a solution.
    """


@op(outputs=("output", "factors", "pivots", "info"))
def solve(input: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The solutions x of A x = b for square matrices A, and what `lu` returns.

    Args:
        input: float32 or float64, (…, n, n).
        rows: of its type, (…, m, n): each row is a right side b.

    Returns:
        The type of input, (…, m, n): each row is a solution; then the factors, pivots and info of `lu`.
    """


@op(outputs=("output", "info"))
def inv(input: Tensor) -> tuple[Tensor, Tensor]:
    """Inverse matrices.

    Args:
        input: float32 or float64, (…, n, n).

    Returns:
        The type of input, (…, n, n): row j is column j of the inverse. int64, (…): 0, or the first zero of the
        diagonal of U in the factors, from 1; then there is no inverse.
    """


lu.rows(matrices_of("input"))
solve.rows(matrices_of("input", "rows"))
inv.rows(matrices_of("input"))
det.rows(matrices_of("input"))
slogdet.rows(matrices_of("input"))
lu_solve.rows(matrices_of("factors", "pivots", "rows"))


_OF_LU = ("factors", "pivots")

# Gradients are made of the matrices, and not of their factors, which carry no gradient: they have gradients themselves.


@det.backward(saves=("input", "output"), non_differentiable=("sign", *_OF_LU))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: (grad * saved.output)[..., None, None] * inv(saved.input)[0]}


@slogdet.backward(saves=("input",), non_differentiable=("sign", *_OF_LU))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad[..., None, None] * inv(saved.input)[0]}


@lu_solve.backward(saves=("factors", "pivots"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"rows": lambda: lu_solve(saved.factors, saved.pivots, grad, not saved.adjoint)}


@solve.backward(saves=("input", "output"), non_differentiable=(*_OF_LU, "info"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    rows = solve(saved.input.mT, grad)[0]
    return {"input": lambda: -mm(rows, saved.output, transA=True), "rows": rows}


@inv.backward(saves=("output",), non_differentiable=("info",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -mm(mm(saved.output, grad, transB=True), saved.output)}


@lu.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (2, 2), (5, 4), (4, 9), (9, 8), (31, 31), (20, 70), (150, 140), (300, 300)):
        yield sample(input=f"normal[{m}, {n}]#1")
    yield sample(input="dominant[40, 70]#1", pivot=False)
    yield sample(input="normal[3, 2, 17, 17]#2")
    yield sample(input="normal[500, 6, 6]#2")
    for kind in ("wide", "special", "infinite", "zeros", "tiny"):
        yield sample(input=f"{kind}[7, 9, 11]#3")
        yield sample(input=f"{kind}[7, 12, 9]#3", pivot=False)
    for m, n in ((1, 1), (2, 2), (5, 4), (4, 7), (8, 8)):  # so small and many that they go side by side
        yield sample(input=f"special[37, {m}, {n}]#4")
        yield sample(input=f"zeros[13, {m}, {n}]#4", pivot=m > 2)


@lu_solve.samples
def _() -> Iterator[Sample]:
    for adjoint in (False, True):
        for kind, m, n in (("normal", 0, 3), ("normal", 2, 0), ("normal", 3, 5), ("tiny", 19, 31), ("tiny", 1, 150)):
            yield sample(
                factors=f"{kind}[{n}, {n}]#1",
                pivots=f"classes{n + 1}[{n}]#2",
                rows=f"normal[{m}, {n}]#3",
                adjoint=adjoint,
            )
        yield sample(
            factors="dominant[200, 9, 9]#1", pivots="classes9[200, 9]#2", rows="normal[200, 3, 9]#3", adjoint=adjoint
        )
        for kind in ("special", "wide"):
            yield sample(
                factors=f"{kind}[7, 9, 9]#1", pivots="classes9[7, 9]#2", rows=f"{kind}[7, 3, 9]#3", adjoint=adjoint
            )
            yield sample(
                factors=f"{kind}[21, 6, 6]#1", pivots="classes7[21, 6]#2", rows=f"{kind}[21, 3, 6]#3", adjoint=adjoint
            )


def _systems() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (2, 0), (3, 2), (1, 9), (19, 8), (5, 31), (1, 150), (150, 70)):
        yield sample(input=f"normal[{n}, {n}]#1", rows=f"normal[{m}, {n}]#2")
    yield sample(input="normal[4, 3, 17, 17]#3", rows="normal[4, 3, 2, 17]#4")
    yield sample(input="normal[500, 6, 6]#3", rows="normal[500, 3, 6]#4")
    for kind in ("special", "infinite", "zeros", "wide"):
        yield sample(input=f"{kind}[7, 9, 9]#5", rows=f"{kind}[7, 3, 9]#6")
        yield sample(input=f"{kind}[21, 3, 3]#5", rows=f"{kind}[21, 5, 3]#6")


solve.samples(_systems)


def _square() -> Iterator[Sample]:
    for n in (0, 1, 2, 9, 31):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[4, 3, 17, 17]#3")
    yield sample(input="normal[500, 6, 6]#3")
    for kind in ("special", "infinite", "zeros", "wide"):
        yield sample(input=f"{kind}[7, 9, 9]#5")
        yield sample(input=f"{kind}[21, 3, 3]#5")


@inv.samples
def _() -> Iterator[Sample]:
    yield from _square()
    yield sample(input="normal[70, 70]#1")


det.samples(_square)


@slogdet.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 9, 33):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[500, 6, 6]#3")  # worth a fork
    for kind in ("special", "zeros", "wide"):
        yield sample(input=f"{kind}[7, 9, 9]#5")
        yield sample(input=f"{kind}[21, 3, 3]#5")


def _factored(a: Any) -> tuple[Any, Any, Any]:
    a = a.copy()
    steps = min(a.shape[-2:])
    pivots = np.zeros((*a.shape[:-2], steps), dtype=np.int64)
    for place in np.ndindex(a.shape[:-2]):
        one = a[place]
        for k in range(steps):
            chosen = k + int(np.argmax(np.abs(one[k:, k])))
            one[[k, chosen]] = one[[chosen, k]]
            one[k + 1 :, k] /= one[k, k]
            one[k + 1 :, k + 1 :] -= np.outer(one[k + 1 :, k], one[k, k + 1 :])
            pivots[*place, k] = chosen + 1
    return np.swapaxes(a, -1, -2), pivots, np.zeros(a.shape[:-2], dtype=np.int64)


def _solved(a: Any, rows: Any) -> Any:
    return np.swapaxes(np.linalg.solve(a, np.swapaxes(rows, -1, -2)), -1, -2)


@lu.oracle
def _(input: Any, pivot: bool = True) -> Any:
    return _factored(input)  # without pivots the samples are dominant, so that there is nothing to exchange


solve.oracle(lambda input, rows: (_solved(input, rows), *_factored(input)))
inv.oracle(lambda input: (np.swapaxes(np.linalg.inv(input), -1, -2), np.zeros(input.shape[:-2], dtype=np.int64)))


def _determinants(input: Any) -> Any:
    factors, pivots, _ = _factored(input)
    sign = 1.0 - 2.0 * ((pivots != np.arange(1, input.shape[-1] + 1)).sum(-1) % 2)
    return sign * np.diagonal(factors, axis1=-2, axis2=-1).prod(-1), sign, factors, pivots


det.oracle(_determinants)


@slogdet.oracle
def _(input: Any) -> Any:
    det, _, factors, pivots = _determinants(input)
    return np.sign(det), np.log(np.abs(det)), factors, pivots


@lu_solve.oracle
def _(factors: Any, pivots: Any, rows: Any, adjoint: bool = False) -> Any:
    columns = np.swapaxes(factors, -1, -2)
    eye = np.eye(columns.shape[-1])
    a = (np.tril(columns, -1) + eye) @ np.triu(columns)
    for place in np.ndindex(a.shape[:-2]):
        for k in reversed(range(a.shape[-1])):
            other = pivots[*place, k] - 1
            if other >= 0:
                a[*place, [k, other]] = a[*place, [other, k]]
    return _solved(np.swapaxes(a, -1, -2) if adjoint else a, rows)
