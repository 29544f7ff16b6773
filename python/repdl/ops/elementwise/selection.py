# SPDX-License-Identifier: MIT
"""One of two numbers. Nothing is rounded; what becomes of NaN and of zeros of both signs is defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Op, Sample, Tensor, op, sample
from repdl.ops.elementwise._family import binary_samples, takes_numbers, to_shape


@op()
def maximum(input: Tensor, other: Tensor | float) -> Tensor:
    """The larger of two numbers; +0 is larger than -0, and NaN wins. The operands are broadcast.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        other: the same, of a shape that broadcasts, or a number, which is rounded to float32, or float64, first.
    """


@op()
def minimum(input: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of two numbers; -0 is smaller than +0, and NaN wins. Operands as for `maximum`."""


@op()
def fmax(input: Tensor, other: Tensor | float) -> Tensor:
    """The larger of two numbers; +0 is larger than -0, and NaN loses. Operands as for `maximum`."""


@op()
def fmin(input: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of two numbers; -0 is smaller than +0, and NaN loses. Operands as for `maximum`."""


@op()
def clamp_min(input: Tensor, other: Tensor | float) -> Tensor:
    """`other` where the input is less, else the input: equal numbers, zeros too, stay, and NaN wins. Operands as for
    `maximum`.
    """


@op()
def clamp_max(input: Tensor, other: Tensor | float) -> Tensor:
    """`other` where the input is greater, else the input: equal numbers, zeros too, stay, and NaN wins. Operands as for
    `maximum`.
    """


def _declare_gradients(op: Op[..., Any], larger: bool, kind: str) -> None:
    @op.backward(saves=("input", "other"))
    def backward(saved: Any, grad: Any) -> dict[str, Any]:
        x, y = saved.input, saved.other
        ahead, behind = (x > y, x < y) if larger else (x < y, x > y)
        share = grad
        if kind == "nan wins":  # halves to equal numbers, and the whole to both where one is NaN
            share = grad * (1.0 - 0.5 * (x == y).to(grad.dtype))
            to_input, to_other = ~behind, ~ahead
        elif kind == "nan loses":
            to_input = ahead | (x == y) | y.isnan()
            to_other = ~to_input
        else:  # a number that meets its bound is not clamped
            to_other = behind
            to_input = ahead | (x == y)
        return {
            "input": lambda: to_shape(share.masked_fill(~to_input, 0.0), saved.input_shape),
            "other": lambda: to_shape(share.masked_fill(~to_other, 0.0), saved.other_shape),
        }


def _samples() -> Iterator[Sample]:
    yield from binary_samples("input", "other")()
    yield sample(input="zeros[999]#1", other="zeros[999]#2")
    yield sample(input="zeros.bfloat16[40, 3]#1", other="zeros.bfloat16[3]#2")


for _op, _larger, _kind in (
    (maximum, True, "nan wins"),
    (minimum, False, "nan wins"),
    (fmax, True, "nan loses"),
    (fmin, False, "nan loses"),
    (clamp_min, True, "bound"),
    (clamp_max, False, "bound"),
):
    _declare_gradients(_op, _larger, _kind)
    takes_numbers(_op)
    _op.samples(_samples)

maximum.oracle(lambda input, other: np.maximum(input, other))
minimum.oracle(lambda input, other: np.minimum(input, other))
fmax.oracle(lambda input, other: np.fmax(input, other))
fmin.oracle(lambda input, other: np.fmin(input, other))
clamp_min.oracle(lambda input, other: np.maximum(input, other))
clamp_max.oracle(lambda input, other: np.minimum(input, other))
