# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


def matrices_of(*names: str) -> Callable[[Mapping[str, Any], slice], Mapping[str, Any] | None]:
    """For `Op.rows`: the batch is the first dimension of these tensors of matrices, if they have one."""

    def take(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        return rows_of(*names)(arguments, rows) if arguments[names[0]].ndim > 2 else None

    return take


@op(outputs=("output", "info"))
def cholesky(input: Tensor) -> tuple[Tensor, Tensor]:
    """U of UᵀU = A for symmetric, positive definite matrices A; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.

    Returns:
        The type of input, (…, n, n), upper triangular; and int64, (…): 0, or where A is not positive definite the first
        row of U, from 1, that shows it.
    """


cholesky.rows(matrices_of("input"))


@cholesky.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 5, 8, 9, 31, 70, 140, 300):
        yield sample(input=f"dominant[{n}, {n}]#1")
    yield sample(input="dominant[3, 2, 17, 17]#2")
    yield sample(input="dominant[600, 6, 6]#2")
    for kind in ("wide", "special", "infinite", "zeros"):
        yield sample(input=f"{kind}[9, 11, 11]#3")


@cholesky.oracle
def _(input: Any) -> Any:
    full = np.tril(input) + np.swapaxes(np.tril(input, -1), -1, -2)
    return np.swapaxes(np.linalg.cholesky(full), -1, -2), np.zeros(input.shape[:-2], dtype=np.int64)
