# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample
from repdl.ops.mm import mm


@op()
def solve_triangular(input: Tensor, rows: Tensor, upper: bool = False, unitriangular: bool = False) -> Tensor:
    """The solutions x of A x = b for triangular matrices A.

    Args:
        input: float32 or float64, (…, n, n), of which one triangle is read.
        rows: of its type, (…, m, n): each row is a right side b.
        upper: A is upper triangular.
        unitriangular: the diagonal of A counts as ones and is not read.

    Returns:
        The type of input, (…, m, n): each row is a solution.
    """


@op()
def cholesky_solve(factor: Tensor, rows: Tensor) -> Tensor:
    """The solutions x of L Lᵀ x = b for lower triangular matrices L.

    Args:
        factor: float32 or float64, (…, n, n), of which the lower triangles are read.
        rows: of its type, (…, m, n): each row is a right side b.

    Returns:
        The type of factor, (…, m, n): each row is a solution.
    """


cholesky_solve.rows(matrices_of("factor", "rows"))
solve_triangular.rows(matrices_of("input", "rows"))


@solve_triangular.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    rows = solve_triangular(saved.input.mT, grad, not saved.upper, saved.unitriangular)

    def of_input() -> Any:
        of_all = -mm(rows, saved.output, transA=True)
        unread = 1 if saved.unitriangular else 0
        return of_all.triu(unread) if saved.upper else of_all.tril(-unread)

    return {"input": of_input, "rows": rows}


@cholesky_solve.backward(saves=("factor", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    factor = saved.factor.tril()
    rows = cholesky_solve(factor, grad)

    def of_factor() -> Any:
        of_matrix = mm(rows, saved.output, transA=True)
        return -mm(of_matrix + of_matrix.mT, factor).tril()

    return {"factor": of_factor, "rows": rows}


@solve_triangular.samples
def _() -> Iterator[Sample]:
    for upper in (False, True):
        for m, n in ((1, 1), (0, 3), (2, 0), (3, 2), (1, 9), (19, 8), (5, 31), (1, 150), (150, 70)):
            yield sample(input=f"dominant[{n}, {n}]#1", rows=f"normal[{m}, {n}]#2", upper=upper)
        yield sample(input="dominant[4, 3, 17, 17]#3", rows="normal[4, 3, 2, 17]#4", upper=upper)
        yield sample(input="tiny[30, 30]#3", rows="normal[7, 30]#4", upper=upper, unitriangular=True)
        for kind in ("special", "infinite", "zeros", "wide"):
            yield sample(input=f"{kind}[7, 9, 9]#5", rows=f"{kind}[7, 3, 9]#6", upper=upper)
            yield sample(input=f"{kind}[21, 4, 4]#5", rows=f"{kind}[21, 3, 4]#6", upper=upper, unitriangular=upper)
    yield sample(input="dominant[500, 6, 6]#3", rows="normal[500, 3, 6]#4")


@cholesky_solve.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (2, 0), (3, 2), (19, 8), (1, 33), (40, 33)):
        yield sample(factor=f"dominant[{n}, {n}]#1", rows=f"normal[{m}, {n}]#2")
    yield sample(factor="dominant[500, 6, 6]#3", rows="normal[500, 3, 6]#4")  # worth a fork
    yield sample(factor="special[7, 9, 9]#5", rows="special[7, 9, 9]#6")
    yield sample(factor="special[21, 4, 4]#5", rows="special[21, 4, 4]#6")


def _solved(input: Any, rows: Any, upper: bool = False, unitriangular: bool = False) -> Any:
    a = np.triu(input) if upper else np.tril(input)
    if unitriangular:
        a = np.where(np.eye(a.shape[-1], dtype=bool), 1.0, a)
    return np.swapaxes(np.linalg.solve(a, np.swapaxes(rows, -1, -2)), -1, -2)


solve_triangular.oracle(_solved)


@cholesky_solve.oracle
def _(factor: Any, rows: Any) -> Any:
    return _solved(np.swapaxes(factor, -1, -2), _solved(factor, rows), upper=True)
