# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.sum import count_and_expand, rows_of_reduction


@op()
def amax(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """The largest number over some dimensions, or over all; NaN if there is one, and +0 rather than -0.

    Args:
        input: float32, float64, bfloat16 or float16, any shape with numbers to reduce.
        dim: a dimension or several; None for all.
        keepdim: leave the reduced dimensions in the result, with size 1.

    Returns:
        The type of input, and its other dimensions.
    """


@op()
def amin(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """The smallest number over some dimensions, or over all; NaN if there is one, and -0 rather than +0. Arguments as
    for `amax`.
    """


def _shares(saved: Any, grad: Any) -> dict[str, Any]:
    """The gradient by equal parts to all that equal the result."""
    from repdl.ops.elementwise.arithmetic import div
    from repdl.ops.sum import sum as sum_of

    expanded = count_and_expand(saved, grad)[1]
    met = (saved.input == count_and_expand(saved, saved.output)[1]).to(grad.dtype)
    count = sum_of(met.float(), saved.dim, True).to(grad.dtype)
    return {"input": lambda: div(expanded, count) * met}


amax.backward(saves=("input", "output"))(_shares)
amin.backward(saves=("input", "output"))(_shares)


def _samples() -> Iterator[Sample]:
    for n in (1, 3, 16, 63, 65, 200, 513, 4097, 70003):
        yield sample(input=f"normal[{n}]#1")
    yield sample(input="normal[]#1")
    yield sample(input="normal[300, 37]#2", dim=(0,))
    yield sample(input="normal[900, 2]#2", dim=(0,))
    yield sample(input="normal[3, 2500]#2", dim=(0,))
    yield sample(input="normal[37, 300]#2", dim=(1,), keepdim=True)
    yield sample(input="normal[10, 7, 9, 11]#3", dim=(0, 2, 3))
    yield sample(input="normal[10, 7, 9, 11]#3", dim=(1, -1), keepdim=True)
    yield sample(input="normal[0, 3]#3", dim=(1,))
    for kind in ("wide", "tiny", "bits", "special"):
        yield sample(input=f"{kind}[70, 100]#5", dim=(1,))
    yield sample(input="zeros[90, 61]#5", dim=(0,))
    yield sample(input="zeros[200, 7]#5", dim=(1,))
    yield sample(input="zeros[7, 3, 50]#5", dim=(0, 2))
    yield sample(input="special[3, 700]#6", dim=(0,))
    yield sample(input="special[700, 3]#6", dim=(1,))
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"bits.{dtype}[50, 77]#1", dim=(0,))
        yield sample(input=f"normal.{dtype}[50, 77]#1", dim=(1,))
        yield sample(input=f"normal.{dtype}[50, 77]#1")


for _op in (amax, amin):
    _op.samples(_samples)
    _op.rows(rows_of_reduction)
amax.oracle(lambda input, dim=None, keepdim=False: np.max(input, axis=dim, keepdims=keepdim))
amin.oracle(lambda input, dim=None, keepdim=False: np.min(input, axis=dim, keepdims=keepdim))
