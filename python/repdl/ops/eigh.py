# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from repdl._op import Sample, Tensor, matrices_of, op, sample
from repdl.ops.cholesky import gradient_of_triangle
from repdl.ops.elementwise.arithmetic import div
from repdl.ops.mm import mm


@op(outputs=("values", "vectors", "info"))
def eigh(input: Tensor, upper: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.
        upper: read the upper triangles.

    Returns:
        The type of input, (…, n): the eigenvalues, the smallest first. The type of input, (…, n, n): each row is the
        eigenvector of a value. int64, (…): 0; or 1 where the search was given up; or -1 where a number is not finite,
        and all results are NaN.
    """


@op(outputs=("values", "info"))
def eigvalsh(input: Tensor, upper: bool = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues of symmetric matrices, the bits of `eigh`.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.
        upper: read the upper triangles.

    Returns:
        The type of input, (…, n): the eigenvalues, the smallest first; and int64, (…): the info of `eigh`.
    """


eigh.rows(matrices_of("input"))
eigvalsh.rows(matrices_of("input"))


@eigh.backward(saves=("values", "vectors"), non_differentiable=("info",))
def _(saved: Any, grad_values: Any, grad_vectors: Any) -> dict[str, Any]:
    """Not finite where vectors are asked for and values are equal, and unique up to the signs of vectors."""

    def of_input() -> Any:
        values, rows = saved.values, saved.vectors
        inner = rows.new_zeros(rows.shape) if grad_values is None else grad_values.diag_embed()
        if grad_vectors is not None:
            distances = (values.unsqueeze(-2) - values.unsqueeze(-1)).clone()
            distances.diagonal(dim1=-2, dim2=-1).fill_(math.inf)  # a vector's length does not change
            inner = inner + div(mm(rows, grad_vectors, transB=True), distances)
        return gradient_of_triangle(mm(mm(rows, inner, transA=True), rows), saved.upper)

    return {"input": of_input}


@eigvalsh.backward(saves=("input",), non_differentiable=("info",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def of_input() -> Any:
        rows = eigh(saved.input, saved.upper)[1]
        by_matrix = mm(rows, grad.unsqueeze(-1) * rows, transA=True)
        return gradient_of_triangle(by_matrix, saved.upper)

    return {"input": of_input}


@eigh.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 4, 9, 33, 70):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[40, 40]#1", upper=True)
    yield sample(input="dominant[2, 3, 17, 17]#2", upper=True)
    yield sample(input="normal[300, 5, 5]#2")
    for kind in ("zeros", "special", "infinite", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")


@eigvalsh.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 4, 33):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[226, 226]#1")  # worth a fork
    yield sample(input="normal[300, 5, 5]#2", upper=True)
    for kind in ("zeros", "special", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")
