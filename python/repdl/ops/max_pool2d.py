# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repdl._op import Pair, Sample, Tensor, op, rows_of, sample


@op(outputs=("output", "indices"))
def max_pool2d(
    input: Tensor, kernel_size: Pair, stride: Pair = 0, padding: Pair = 0, dilation: Pair = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its place.

    Args:
        input: float32 or float64, (n, c, h, w) or (c, h, w).
        kernel_size, stride, padding, dilation: a number, or a pair (height, width). A stride of 0 stands for the
            kernel size.
        ceil_mode: a last window that reaches over the edge counts too.

    Returns:
        float32 or float64, and int64, (…, p, q); a place is h * width + w in its image.
    """


@op(outputs=("grad_input",))
def max_pool2d_grad(grad_output: Tensor, indices: Tensor, input_shape: tuple[int, ...]) -> Tensor:
    """The gradient of max_pool2d by its input, of shape `input_shape`; indices is what max_pool2d returned."""


@max_pool2d.backward(saves=("indices",), non_differentiable=("indices",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: max_pool2d_grad(grad, saved.indices, saved.input_shape)}


max_pool2d.rows(rows_of("input"))


@max_pool2d_grad.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any]:
    some = rows_of("grad_output", "indices")(arguments, rows)
    return {**some, "input_shape": (len(some["indices"]), *arguments["input_shape"][1:])}


@max_pool2d.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[3, 6, 28, 28]#1", kernel_size=2)
    yield sample(input="normal[2, 5, 9, 11]#1", kernel_size=3, stride=2, padding=1)
    yield sample(input="normal[4, 9, 10]#1", kernel_size=(2, 3), stride=(1, 2), dilation=2, ceil_mode=True)
    yield sample(input="normal[1, 2, 7, 7]#1", kernel_size=3, stride=3, padding=1, ceil_mode=True)
    yield sample(input="special[2, 3, 8, 8]#2", kernel_size=2, stride=1)


@max_pool2d_grad.samples
def _() -> Iterator[Sample]:
    yield sample(grad_output="normal[2, 3, 4, 5]#1", indices="classes80[2, 3, 4, 5]#2", input_shape=(2, 3, 8, 10))
    yield sample(grad_output="normal[2, 8, 15, 15]#1", indices="classes900[2, 8, 15, 15]#2", input_shape=(2, 8, 30, 30))
    yield sample(grad_output="wide[3, 20, 20]#1", indices="classes9[3, 20, 20]#2", input_shape=(3, 3, 3))
    yield sample(grad_output="special[3, 9, 9]#1", indices="classes64[3, 9, 9]#2", input_shape=(3, 8, 8))
