# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample


@op()
def sparse_mm(values: Tensor, row_indices: Tensor, col_indices: Tensor, mat2: Tensor, num_rows: int) -> Tensor:
    """The product of a sparse matrix, given by its elements and their places, and a dense one.

    Args:
        values: float32 or float64, (n): the elements that are present.
        row_indices: int64, (n), in [0, num_rows).
        col_indices: int64, (n), in [0, k).
        mat2: as values, (k, columns).
        num_rows: rows of the sparse matrix.

    Returns:
        float32 or float64, (num_rows, columns).
    """


@op()
def sampled_mm(
    input: Tensor, mat2: Tensor, row_indices: Tensor, col_indices: Tensor, order: str | None = None
) -> Tensor:
    """Elements of a matrix product, at places that are given.

    Args:
        input: float32 or float64, (m, k).
        mat2: of its type, (k, n).
        row_indices: int64, (count), in [0, m).
        col_indices: int64, (count), in [0, n).
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32 or float64, (count).
    """


@sparse_mm.backward(saves=("values", "row_indices", "col_indices", "mat2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "values": lambda: sampled_mm(grad, saved.mat2.mT, saved.row_indices, saved.col_indices),
        "mat2": lambda: sparse_mm(saved.values, saved.col_indices, saved.row_indices, grad, saved.mat2_shape[0]),
    }


@sampled_mm.backward(saves=("input", "mat2", "row_indices", "col_indices"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    a, b, rows, columns = saved.input, saved.mat2, saved.row_indices, saved.col_indices
    return {
        "input": lambda: sparse_mm(grad, rows, columns, b.mT, a.shape[0]),
        "mat2": lambda: sparse_mm(grad, columns, rows, a, b.shape[1]).mT,
    }


sparse_mm.rows(no_rows)
sampled_mm.rows(rows_of("row_indices", "col_indices"))


@sparse_mm.samples
def _() -> Iterator[Sample]:
    def places(rows: int, columns: int, count: int) -> dict[str, object]:
        of_rows, of_columns = f"classes{rows}[{count}]#2", f"classes{columns}[{count}]#3"
        return {"row_indices": of_rows, "col_indices": of_columns, "num_rows": rows}

    yield sample(values="normal[33]#1", **places(7, 9, 33), mat2="normal[9, 5]#4")
    yield sample(values="normal[900]#1", **places(50, 70, 900), mat2="normal[70, 131]#4")
    yield sample(values="normal[20000]#1", **places(300, 200, 20000), mat2="normal[200, 1]#4")
    yield sample(values="normal[0]#1", **places(3, 4, 0), mat2="normal[4, 2]#4")
    for kind in ("wide", "tiny", "special"):
        yield sample(values=f"{kind}[40]#1", **places(7, 9, 40), mat2=f"{kind}[9, 17]#4")


@sampled_mm.samples
def _() -> Iterator[Sample]:
    # Around the edges of vectors and chunks.
    for m, n, k, count in [
        (7, 9, 5, 33), (40, 30, 300, 129), (3, 2, 0, 7), (4, 5, 6, 0), (1, 1, 8, 1), (2, 3, 256, 17), (9, 4, 1300, 40),
        (5, 6, 7 * 256 - 1, 15), (70, 80, 64, 2000),
    ]:  # fmt: skip
        yield sample(input=f"normal[{m}, {k}]#1", mat2=f"normal[{k}, {n}]#2", row_indices=f"classes{m}[{count}]#3",
                     col_indices=f"classes{n}[{count}]#4")  # fmt: skip
    for kind in ("wide", "tiny", "bits", "special", "infinite"):
        yield sample(input=f"{kind}[9, 21]#1", mat2=f"{kind}[21, 11]#2", row_indices="classes9[40]#3",
                     col_indices="classes11[40]#4")  # fmt: skip


@sparse_mm.oracle
def _(values: Any, row_indices: Any, col_indices: Any, mat2: Any, num_rows: int) -> Any:
    sums = np.zeros((num_rows, mat2.shape[1]))
    np.add.at(sums, row_indices, values[:, None] * mat2[col_indices])
    return sums


@sampled_mm.oracle
def _(input: Any, mat2: Any, row_indices: Any, col_indices: Any) -> Any:
    return (input @ mat2)[row_indices, col_indices]
