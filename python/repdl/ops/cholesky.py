# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample
from repdl.ops.mm import mm
from repdl.ops.solve_triangular import solve_triangular


@op(outputs=("output", "info"))
def cholesky(input: Tensor) -> tuple[Tensor, Tensor]:
    """U of UᵀU = A for symmetric, positive definite matrices A. The gradient is by the lower triangles.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.

    Returns:
        The type of input, (…, n, n), upper triangular; and int64, (…): 0, or where A is not positive definite the first
        row of U, from 1, that shows it.
    """


cholesky.rows(matrices_of("input"))


@cholesky.backward(saves=("output",), non_differentiable=("info",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def of_input() -> Any:
        # With L = Uᵀ, the gradient by a symmetric A is L⁻ᵀ phi(Lᵀ grad_L) L⁻¹, where phi takes the lower triangle and
        # half of the diagonal: Murray, "Differentiation of the Cholesky decomposition", arXiv 1602.07527, equation 8.
        u = saved.output
        product = mm(u, grad.triu(), transB=True)
        phi = product.tril(-1) + (product.diagonal(dim1=-2, dim2=-1) * 0.5).diag_embed()
        half = solve_triangular(u, solve_triangular(u, phi.mT, upper=True).mT, upper=True)
        return gradient_of_triangle(half, upper=False)

    return {"input": of_input}


def gradient_of_triangle(by_matrix: Any, upper: bool) -> Any:
    """From the gradient by all numbers of a symmetric matrix, that by one triangle, which stands for both."""
    both = by_matrix + by_matrix.mT
    return (both.triu(1) if upper else both.tril(-1)) + by_matrix.diagonal(dim1=-2, dim2=-1).diag_embed()


@cholesky.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 5, 8, 9, 31, 70, 140, 300):
        yield sample(input=f"dominant[{n}, {n}]#1")
    yield sample(input="dominant[3, 2, 17, 17]#2")
    yield sample(input="dominant[600, 6, 6]#2")
    for kind in ("wide", "special", "infinite", "zeros"):
        yield sample(input=f"{kind}[9, 11, 11]#3")
        yield sample(input=f"{kind}[21, 4, 4]#3")


@cholesky.oracle
def _(input: Any) -> Any:
    full = np.tril(input) + np.swapaxes(np.tril(input, -1), -1, -2)
    return np.swapaxes(np.linalg.cholesky(full), -1, -2), np.zeros(input.shape[:-2], dtype=np.int64)
