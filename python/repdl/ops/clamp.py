# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise._family import to_shape


@op()
def clamp(input: Tensor, min: float, max: float) -> Tensor:
    """Each number, or the bound that it lies beyond. What equals a bound stays, zeros too; NaN stays.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        min, max: the bounds, which are rounded to float32, or float64; infinite for none. If they cross, max is taken.
    """


@op()
def clamp_tensor(input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    """The same with a bound for each number; the operands are broadcast.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        min, max: the same, of shapes that broadcast.
    """


@clamp.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    import torch

    dtype = torch.promote_types(saved.input.dtype, torch.float32)
    low, high = (torch.full((), bound, dtype=dtype) for bound in (saved.min, saved.max))
    inside = (saved.input >= low) & (saved.input <= high)
    return {"input": lambda: grad.masked_fill(~inside, 0.0)}


@clamp_tensor.backward(saves=("input", "min", "max"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x, low, high = saved.input, saved.min, saved.max
    inside = (x >= low) & (x <= high)
    to_low, to_high = (low < high) & (x < low), (x > high) | (high < low)
    return {
        "input": lambda: to_shape(grad.masked_fill(~inside, 0.0), saved.input_shape),
        "min": lambda: to_shape(grad.masked_fill(~to_low, 0.0), saved.min_shape),
        "max": lambda: to_shape(grad.masked_fill(~to_high, 0.0), saved.max_shape),
    }


@clamp.samples
def _() -> Iterator[Sample]:
    for kind, size in (("normal", "1000"), ("wide", "1000"), ("special", "1000"), ("bits", "20000")):
        yield sample(input=f"{kind}[{size}]#1", min=-0.5, max=0.7)
    yield sample(input="zeros[300]#2", min=0.0, max=-0.0)
    for low, high in ((0.0, 1.0), (-0.0, -0.0), (1.0, -1.0), (float("-inf"), 0.1), (0.1, float("inf"))):
        yield sample(input="special[300]#2", min=low, max=high)
    for shape in ("3, 5, 7", "0", ""):
        yield sample(input=f"normal[{shape}]#3", min=0.0, max=6.0)
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"sweep.{dtype}[65536]#0", min=-0.1, max=0.3)


@clamp_tensor.samples
def _() -> Iterator[Sample]:
    for kind, size in (("normal", "1000"), ("special", "1000"), ("bits", "20000")):
        yield sample(input=f"{kind}[{size}]#1", min=f"{kind}[{size}]#2", max=f"{kind}[{size}]#3")
    yield sample(input="zeros[300]#1", min="zeros[300]#2", max="zeros[300]#3")
    for a, b, c in (("5, 7, 9", "7, 1", ""), ("9", "4, 1", "9"), ("", "3, 0", "")):
        yield sample(input=f"normal[{a}]#1", min=f"normal[{b}]#2", max=f"normal[{c}]#3")
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"bits.{dtype}[2000]#1", min=f"bits.{dtype}[2000]#2", max=f"bits.{dtype}[2000]#3")
    yield sample(input="normal.bfloat16[99]#1", min="normal[99]#2", max="normal[]#3")


clamp.oracle(lambda input, min, max: np.minimum(np.maximum(input, min), max))
clamp_tensor.oracle(lambda input, min, max: np.minimum(np.maximum(input, min), max))
