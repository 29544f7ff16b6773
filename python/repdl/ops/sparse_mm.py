# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, sample
from repdl.ops.sum import sum as sum_of


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


@sparse_mm.backward(saves=("values", "row_indices", "col_indices", "mat2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "values": lambda: sum_of(
            saved.mat2.index_select(0, saved.col_indices) * grad.index_select(0, saved.row_indices), 1
        ),
        "mat2": lambda: sparse_mm(saved.values, saved.col_indices, saved.row_indices, grad, saved.mat2_shape[0]),
    }


sparse_mm.rows(no_rows)


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


@sparse_mm.oracle
def _(values: Any, row_indices: Any, col_indices: Any, mat2: Any, num_rows: int) -> Any:
    sums = np.zeros((num_rows, mat2.shape[1]))
    np.add.at(sums, row_indices, values[:, None] * mat2[col_indices])
    return sums
