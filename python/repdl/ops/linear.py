# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from repdl._op import Sample, Tensor, op, rows_of, sample
from repdl.ops.mm import mm
from repdl.ops.sum import sum as sum_of


@op()
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, order: str | None = None) -> Tensor:
    """A linear layer: input times weight transposed, plus bias.

    Args:
        input: float32, float64, bfloat16 or float16, (…, k).
        weight: float32, float64, bfloat16 or float16, (n, k).
        bias: float32, float64, bfloat16 or float16, (n), or None.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32, float64, bfloat16 or float16, (…, n).
    """


@op()
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, order: str | None = None) -> Tensor:
    """The product of two matrices, plus a row: mat1 times mat2, plus input.

    Args:
        input: float32, float64, bfloat16 or float16, (n).
        mat1: float32, float64, bfloat16 or float16, (m, k).
        mat2: float32, float64, bfloat16 or float16, (k, n).
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32, float64, bfloat16 or float16, (m, n).
    """


@linear.backward(saves=("input", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    order = saved.order
    rows = math.prod(saved.input_shape[:-1])
    g = grad.reshape(rows, grad.shape[-1])

    def grad_input() -> Any:
        return mm(g, saved.weight, False, False, order).reshape(saved.input_shape)

    def grad_weight() -> Any:
        return mm(g, saved.input.reshape(rows, saved.input_shape[-1]), True, False, order)

    return {"input": grad_input, "weight": grad_weight, "bias": lambda: sum_of(g, (0,), order=order)}


@addmm.backward(saves=("mat1", "mat2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    order = saved.order
    return {
        "input": lambda: sum_of(grad, (0,), order=order),
        "mat1": lambda: mm(grad, saved.mat2, False, True, order),
        "mat2": lambda: mm(saved.mat1, grad, True, False, order),
    }


addmm.rows(rows_of("mat1"))


@linear.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    return None if arguments["input"].ndim == 1 else rows_of("input")(arguments, rows)


@linear.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[100, 400]#1", weight="normal[120, 400]#2", bias="normal[120]#3")
    yield sample(input="normal[7, 84]#1", weight="normal[10, 84]#2", bias="normal[10]#3")
    yield sample(input="normal[2, 5, 300]#1", weight="wide[33, 300]#2")
    yield sample(input="normal[300]#1", weight="normal[5, 300]#2", bias="normal[5]#3")
    yield sample(input="normal[2, 300]#1", weight="normal[37, 300]#2", bias="normal[37]#3")
    yield sample(input="normal[3, 0]#1", weight="normal[5, 0]#2", bias="normal[5]#3")
    yield sample(input="bits[4, 9]#1", weight="special[6, 9]#2", bias="special[6]#3")
    for dtype in ("bfloat16", "float16"):
        for shape in ("300", "2, 300", "2, 20, 300"):
            yield sample(
                input=f"normal.{dtype}[{shape}]#1", weight=f"normal.{dtype}[77, 300]#2", bias=f"normal.{dtype}[77]#3"
            )
        yield sample(input=f"normal.{dtype}[50, 30]#1", weight=f"normal.{dtype}[1, 30]#2", bias=f"normal.{dtype}[1]#3")
        yield sample(input=f"bits.{dtype}[4, 9]#1", weight=f"special.{dtype}[37, 9]#2", bias=f"special.{dtype}[37]#3")


@addmm.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[120]#3", mat1="normal[100, 400]#1", mat2="normal[400, 120]#2")
    yield sample(input="normal[10]#3", mat1="normal[7, 84]#1", mat2="normal[84, 10]#2")
    yield sample(input="normal[37]#3", mat1="normal[2, 300]#1", mat2="normal[300, 37]#2")
    yield sample(input="normal[5]#3", mat1="normal[3, 0]#1", mat2="normal[0, 5]#2")
    yield sample(input="special[6]#3", mat1="bits[4, 9]#1", mat2="special[9, 6]#2")
    for dtype in ("bfloat16", "float16"):
        for m in (2, 40):
            yield sample(
                input=f"normal.{dtype}[77]#3", mat1=f"normal.{dtype}[{m}, 300]#1", mat2=f"normal.{dtype}[300, 77]#2"
            )


@addmm.oracle
def _(input: Any, mat1: Any, mat2: Any) -> Any:
    return mat1 @ mat2 + input


@linear.oracle
def _(input: Any, weight: Any, bias: Any = None) -> Any:
    return input @ weight.T + (0 if bias is None else bias)
