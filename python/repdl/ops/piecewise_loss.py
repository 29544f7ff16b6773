# SPDX-License-Identifier: MIT
"""Losses that are squares near the target and linear far from it: their terms, before a sum or mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Op, Sample, Tensor, op, sample
from repdl.ops.elementwise._family import to_shape


@op()
def smooth_l1(input: Tensor, target: Tensor, beta: float = 1.0) -> Tensor:
    """The terms of smooth_l1_loss: d * d / (2 * beta) for a distance d below beta, d - beta / 2 for others.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        target: the same, of a shape that broadcasts.
        beta: not negative; rounded to float32, or float64.
    """


@op(outputs=("grad_input",))
def smooth_l1_grad(grad_output: Tensor, input: Tensor, target: Tensor, beta: float = 1.0, part: float = 1.0) -> Tensor:
    """The gradient of smooth_l1 by its input, times `part`."""


@op()
def huber(input: Tensor, target: Tensor, delta: float = 1.0) -> Tensor:
    """The terms of huber_loss: d * d / 2 for a distance d up to delta, delta * (d - delta / 2) for others.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        target: the same, of a shape that broadcasts.
        delta: above 0; rounded to float32, or float64.
    """


@op(outputs=("grad_input",))
def huber_grad(grad_output: Tensor, input: Tensor, target: Tensor, delta: float = 1.0, part: float = 1.0) -> Tensor:
    """The gradient of huber by its input, times `part`."""


def _declare(loss: Op[..., Any], slopes: Op[..., Any], bound: str) -> None:
    @loss.backward(saves=("input", "target"))
    def _(saved: Any, grad: Any) -> dict[str, Any]:
        def slope() -> Any:
            return slopes(grad, saved.input, saved.target, getattr(saved, bound))

        return {
            "input": lambda: to_shape(slope(), saved.input_shape),
            "target": lambda: to_shape(-slope(), saved.target_shape),
        }

    @loss.samples
    def _() -> Iterator[Sample]:
        for kind in ("normal", "special", "bits"):
            yield sample(input=f"{kind}[300]#1", target=f"{kind}[300]#2", **{bound: 0.3})
        yield sample(input="special[203]#1", target="special[203]#2", **{bound: 1.0})
        yield sample(input="normal[20000]#1", target="normal[]#2", **{bound: 2.0})
        for low in ("bfloat16", "float16"):
            yield sample(input=f"normal.{low}[5, 7]#1", target=f"normal.{low}[7]#2", **{bound: 1e-3})

    @slopes.samples
    def _() -> Iterator[Sample]:
        for kind in ("normal", "special", "bits"):
            operands = {"grad_output": f"{kind}[300]#3", "input": f"{kind}[300]#1", "target": f"{kind}[300]#2"}
            yield sample(**operands, **{bound: 0.3, "part": 0.7})
        yield sample(grad_output="normal[]#3", input="special[203]#1", target="special[203]#2", **{bound: 1.0})
        yield sample(grad_output="normal[]#3", input="normal[20000]#1", target="normal[20000]#2", part=1 / 20000)
        for low in ("bfloat16", "float16"):
            operands = {"input": f"normal.{low}[5, 7]#1", "target": f"normal.{low}[7]#2"}
            yield sample(grad_output=f"normal.{low}[5, 7]#3", **operands)


_declare(smooth_l1, smooth_l1_grad, "beta")
_declare(huber, huber_grad, "delta")


@smooth_l1.oracle
def _(input: Any, target: Any, beta: float = 1.0) -> Any:
    away = np.abs(input - target)
    return np.where(away < beta, 0.5 * away * away / beta, away - 0.5 * beta)


@huber.oracle
def _(input: Any, target: Any, delta: float = 1.0) -> Any:
    away = np.abs(input - target)
    return np.where(away <= delta, 0.5 * away * away, (away - 0.5 * delta) * delta)
