# SPDX-License-Identifier: MIT
"""Gated linear units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample
from repdl.ops.elementwise.activation import sigmoid


@op()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of the input along a dimension, times the sigmoid of the second half.

    Args:
        input: float32, float64, bfloat16 or float16; its size along dim is even.
        dim: the dimension, from the end if negative.
    """


@op(outputs=("grad_input",))
def glu_grad(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    """The gradient of glu by its input."""


@glu.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: glu_grad(grad, saved.input, saved.dim)}


@glu_grad.backward(saves=("grad_output", "input"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    """The second derivatives, in steps that have gradients themselves."""
    value, gate = saved.input.chunk(2, saved.dim)
    by_value, by_gate = grad.chunk(2, saved.dim)
    first = sigmoid(gate)
    second = first * (1.0 - first)

    def by_input() -> Any:
        import torch

        g = saved.grad_output
        third = second * (1.0 - 2.0 * first)
        return torch.cat((second * g * by_gate, second * g * by_value + third * g * value * by_gate), saved.dim)

    return {"grad_output": lambda: first * by_value + second * value * by_gate, "input": by_input}


def _rows(*tensors: str) -> Any:
    def take(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        return None if arguments["dim"] % arguments["input"].ndim == 0 else rows_of(*tensors)(arguments, rows)

    return take


glu.rows(_rows("input"))
glu_grad.rows(_rows("grad_output", "input"))

_CASES = (
    ("normal", "1000", "500", -1),
    ("wide", "1000", "500", 0),
    ("bits", "2, 20000", "2, 10000", 1),
    ("special", "7, 58", "7, 29", 1),
    ("special", "58, 7", "29, 7", 0),
    ("zeros", "6, 34", "6, 17", 1),
    ("normal", "3, 70, 5", "3, 35, 5", 1),
    ("normal", "3, 2, 131", "3, 1, 131", -2),
    ("normal", "0, 4", "0, 2", 1),
    ("normal", "3, 0", "3, 0", 1),
)


@glu.samples
def _() -> Iterator[Sample]:
    for kind, shape, _, dim in _CASES:
        yield sample(input=f"{kind}[{shape}]#1", dim=dim)
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"bits.{dtype}[3, 1400]#2", dim=1)
        yield sample(input=f"normal.{dtype}[60, 30]#2", dim=0)


@glu_grad.samples
def _() -> Iterator[Sample]:
    for kind, shape, half, dim in _CASES:
        yield sample(
            grad_output=f"{'special' if kind == 'special' else 'normal'}[{half}]#2", input=f"{kind}[{shape}]#1", dim=dim
        )
    for dtype in ("bfloat16", "float16"):
        yield sample(grad_output=f"normal.{dtype}[3, 700]#1", input=f"bits.{dtype}[3, 1400]#2", dim=1)
        yield sample(grad_output=f"normal.{dtype}[30, 30]#1", input=f"normal.{dtype}[60, 30]#2", dim=0)


@glu.oracle
def _(input: Any, dim: int) -> Any:
    value, gate = np.split(input, 2, dim)
    return value / (1 + np.exp(-gate))


@glu_grad.oracle
def _(grad_output: Any, input: Any, dim: int) -> Any:
    value, gate = np.split(input, 2, dim)
    first = 1 / (1 + np.exp(-gate))
    return np.concatenate((grad_output * first, grad_output * value * first / (1 + np.exp(gate))), dim)
