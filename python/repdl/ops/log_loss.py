# SPDX-License-Identifier: MIT
"""Losses that are logarithms of probabilities: their terms, before a sum or mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Op, Sample, Tensor, op, sample
from repdl.ops.clamp import clamp
from repdl.ops.elementwise._family import to_shape
from repdl.ops.elementwise.logarithmic import log, log1p


@op()
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    """The terms of binary_cross_entropy: -target * log(input) - (1 - target) * log(1 - input), logarithms from -100 on.

    Args:
        input: float32, float64, bfloat16 or float16, any shape: probabilities. Outside of [0, 1] the result is NaN.
        target: the same, of a shape that broadcasts.
        weight: the same, a factor for each term, or None.
    """


@op(outputs=("grad_input",))
def binary_cross_entropy_grad(
    grad_output: Tensor, input: Tensor, target: Tensor, weight: Tensor | None = None, part: float = 1.0
) -> Tensor:
    """The gradient of binary_cross_entropy by its input, times `part`."""


@op()
def soft_margin(input: Tensor, target: Tensor) -> Tensor:
    """The terms of soft_margin_loss: log(1 + exp(-target * input)).

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        target: the same, of a shape that broadcasts: 1 or -1.
    """


@op(outputs=("grad_input",))
def soft_margin_grad(grad_output: Tensor, input: Tensor, target: Tensor, part: float = 1.0) -> Tensor:
    """The gradient of soft_margin by its input, times `part`."""


@binary_cross_entropy.backward(saves=("input", "target", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x, y, weight = saved.input, saved.target, saved.weight

    def by_target() -> Any:
        off, on = (clamp(t, -100.0, float("inf")) for t in (log1p(-x), log(x)))
        slope = grad * (off - on)
        return slope if weight is None else slope * weight

    return {
        "input": lambda: to_shape(binary_cross_entropy_grad(grad, x, y, weight), saved.input_shape),
        "target": lambda: to_shape(by_target(), saved.target_shape),
        "weight": lambda: to_shape(grad * binary_cross_entropy(x, y), saved.weight_shape),
    }


@soft_margin.backward(saves=("input", "target"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(soft_margin_grad(grad, saved.input, saved.target), saved.input_shape),
        "target": lambda: to_shape(soft_margin_grad(grad, saved.target, saved.input), saved.target_shape),
    }


def _weighted() -> Iterator[tuple[str, str, str, str]]:
    """Gradients, inputs, targets and weights."""
    for kinds in (("normal", "unit", "unit", "normal"), ("special",) * 4, ("bits", "unit", "bits", "special")):
        yield tuple(f"{kind}[1000]#{i}" for i, kind in enumerate(kinds))  # type: ignore[misc]
    yield "normal[9000]#0", "unit[9000]#1", "unit[9000]#2", "positive[]#3"
    yield "normal[3, 1, 7]#0", "unit[3, 1, 7]#1", "unit[5, 7]#2", "positive[5, 1]#3"
    yield "normal[77]#0", "unit[77]#1", "zeros[77]#2", "zeros[77]#3"
    for t in ("bfloat16", "float16"):
        yield f"normal.{t}[5, 50]#0", f"unit.{t}[5, 50]#1", f"unit.{t}[50]#2", f"normal.{t}[50]#3"
        yield f"normal.{t}[9000]#0", f"unit.{t}[9000]#1", f"unit.{t}[9000]#2", "normal[9000]#3"


def _declare(loss: Op[..., Any], slopes: Op[..., Any], ordinary: str) -> None:
    kinds = (ordinary, "special", "bits")
    weighted = list(_weighted()) if loss is binary_cross_entropy else []

    @loss.samples
    def _() -> Iterator[Sample]:
        for kind in kinds:
            yield sample(input=f"{kind}[1000]#1", target=f"{kind}[1000]#2")
        yield sample(input=f"{ordinary}[9000]#1", target=f"{ordinary}[]#2")
        yield sample(input=f"{ordinary}[3, 1, 7]#1", target=f"{ordinary}[5, 7]#2")
        yield sample(input="zeros[77]#1", target=f"{ordinary}[77]#2")
        for dtype in ("bfloat16", "float16"):
            yield sample(input=f"{ordinary}.{dtype}[5, 50]#1", target=f"{ordinary}.{dtype}[50]#2")
            yield sample(input=f"special.{dtype}[300]#1", target=f"special.{dtype}[300]#2")
        for _, input, target, weight in weighted:
            yield sample(input=input, target=target, weight=weight)

    @slopes.samples
    def _() -> Iterator[Sample]:
        for kind in kinds:
            operands = {"input": f"{kind}[1000]#1", "target": f"{kind}[1000]#2"}
            yield sample(grad_output="normal[1000]#3", **operands, part=0.7)
        yield sample(grad_output="special[300]#3", input=f"{ordinary}[300]#1", target=f"{ordinary}[300]#2")
        operands = {"input": f"{ordinary}[9000]#1", "target": f"{ordinary}[9000]#2"}
        yield sample(grad_output="normal[]#3", **operands, part=1 / 9000)
        yield sample(grad_output="normal[77]#3", input="zeros[77]#1", target=f"{ordinary}[77]#2")
        for dtype in ("bfloat16", "float16"):
            operands = {"input": f"{ordinary}.{dtype}[5, 50]#1", "target": f"{ordinary}.{dtype}[50]#2"}
            yield sample(grad_output=f"normal.{dtype}[5, 50]#3", **operands)
        for grad, input, target, weight in weighted:
            yield sample(grad_output=grad, input=input, target=target, weight=weight, part=0.7)


_declare(binary_cross_entropy, binary_cross_entropy_grad, "unit")
_declare(soft_margin, soft_margin_grad, "normal")


@binary_cross_entropy.oracle
def _(input: Any, target: Any, weight: Any = None) -> Any:
    off, on = np.maximum(np.log1p(-input), -100.0), np.maximum(np.log(input), -100.0)
    terms = off * (target - 1) - on * target
    return terms if weight is None else terms * weight


@soft_margin.oracle
def _(input: Any, target: Any) -> Any:
    return np.logaddexp(0.0, -target * input)
