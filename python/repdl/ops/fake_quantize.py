# SPDX-License-Identifier: MIT
"""Numbers as the steps of a quantised type have them: for training, and the steps themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise._family import to_shape


@op(outputs=("output", "mask"))
def fake_quantize(
    input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int, zero_first: bool = False
) -> tuple[Tensor, Tensor]:
    """Each number as the nearest step has it: `(step - zero_point) * scale` of the step between `low` and `high`.

    The gradient goes through to the numbers whose steps lie between the ends.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        scale: the same, of a shape that broadcasts: how far apart the steps are. It is rounded to float32.
        zero_point: the same: the step of 0.
        low, high: the first step and the last.
        zero_first: the zero is added before a step is chosen, as for zeros that lie between steps; else after that.

    Returns:
        The numbers, of the type of input, and which of them lay between the ends, bool. NaN stays, and lies outside.
    """


@op(outputs=("grad_input", "grad_scale", "grad_zero_point"))
def fake_quantize_grad(
    grad_output: Tensor,
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    low: int,
    high: int,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of fake_quantize where the steps are learned, as torch's: one of each for every number.

    Args:
        grad_output: float32, or all float64: the gradient of the output.
        input, scale, zero_point, low, high: as fake_quantize takes them.
        factor: what the gradients of scale and zero are multiplied by.

    Returns:
        The gradients of input, scale and zero_point, of the shape to which the operands broadcast.
    """


@op()
def quantize(input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    """The step of each number, between `low` and `high`: `round(input * (1 / scale) + zero_point)`. NaN has the lowest.

    Args:
        input: float32, or all float64, any shape.
        scale: the same, of a shape that broadcasts: how far apart the steps are. It is rounded to float32.
        zero_point: the same: the step of 0.
        low, high: the first step and the last.
    """


@fake_quantize.backward(saves=("mask",), non_differentiable=("mask",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: to_shape(grad.masked_fill(~saved.mask, 0.0), saved.input_shape)}


_SHAPES = (("5, 301", "", ""), ("4, 3, 5, 7", "3, 1, 1", "3, 1, 1"), ("6, 50", "50", ""), ("9", "4, 1", "9"))
"""Of the operand, the scale and the zero: as of a tensor, of channels and of columns."""


def _operands() -> Iterator[dict[str, object]]:
    for x, s, z in _SHAPES:
        yield {"input": f"normal[{x}]#1", "scale": f"positive[{s}]#2", "zero_point": f"normal[{z}]#3"}
    for kind in ("special", "bits", "wide"):
        yield {"input": f"{kind}[1000]#1", "scale": "positive[1000]#2", "zero_point": "few[1000]#3"}
    yield {"input": "normal[600]#1", "scale": "special[600]#2", "zero_point": "special[600]#3"}
    yield {"input": "bits[600]#1", "scale": "bits[600]#2", "zero_point": "zeros[600]#3"}
    yield {"input": "special[600]#4", "scale": "special[600]#2", "zero_point": "zeros[600]#3"}
    yield {"input": "tiny[300]#1", "scale": "tiny[300]#2", "zero_point": "few[300]#3"}
    yield {"input": "normal[3, 0]#1", "scale": "positive[]#2", "zero_point": "normal[]#3"}
    yield {"input": "normal[]#1", "scale": "positive[]#2", "zero_point": "normal[]#3"}
    yield {"input": "normal[20011]#1", "scale": "positive[]#5", "zero_point": "few[]#3"}
    yield {"input": "normal[9001]#1", "scale": "positive[9001]#2", "zero_point": "few[9001]#3"}


@fake_quantize.samples
def _() -> Iterator[Sample]:
    for operands in _operands():
        for low, high, zero_first in ((-2, 3, False), (0, 15, True)):
            yield sample(**operands, low=low, high=high, zero_first=zero_first)
    yield sample(input="special[300]#1", scale="positive[]#2", zero_point="few[]#3", low=-(2**31), high=2**31 - 1)
    for dtype in ("bfloat16", "float16"):
        of_tensor = {"scale": f"positive.{dtype}[]#2", "zero_point": f"few.{dtype}[]#3"}
        yield sample(input=f"sweep.{dtype}[65536]#0", **of_tensor, low=-128, high=127)
        of_columns = {"scale": "positive[50]#2", "zero_point": "normal[50]#3"}
        yield sample(input=f"normal.{dtype}[6, 50]#1", **of_columns, low=-2, high=3, zero_first=True)


@fake_quantize_grad.samples
def _() -> Iterator[Sample]:
    for operands in _operands():
        kind, _, shape = str(operands["input"]).partition("#")[0].partition("[")
        grad = "special" if kind == "special" else "normal"
        for low, high, factor in ((-2, 3, 1.0), (0, 15, 0.3)):
            yield sample(grad_output=f"{grad}[{shape}#4", **operands, low=low, high=high, factor=factor)


@quantize.samples
def _() -> Iterator[Sample]:
    for operands in _operands():
        for low, high in ((-2, 3), (0, 255)):
            yield sample(**operands, low=low, high=high)
    yield sample(input="bits[300]#1", scale="positive[]#2", zero_point="few[]#3", low=-(2**31), high=2**31 - 1)


@quantize.oracle
def _(input: Any, scale: Any, zero_point: Any, low: int, high: int) -> Any:
    return np.clip(np.rint(input / scale + zero_point), low, high)
