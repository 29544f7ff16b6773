# SPDX-License-Identifier: MIT
"""Evenly spaced numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Sample, Tensor, op, sample


@op()
def spaced(input: Tensor, start: float, end: float, count: int) -> Tensor:
    """Of evenly spaced numbers, those at some places; the lower half is counted from start, the upper half from end.

    Args:
        input: the places, counted from 0; float32, float64, bfloat16 or float16, any shape.
        start, end: the first and the last of the numbers; rounded to float32, or float64.
        count: how many numbers there are; 2 or more.
    """


@spaced.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    step = (saved.end - saved.start) / (saved.count - 1)
    return {"input": lambda: grad * step}


@spaced.samples
def _() -> Iterator[Sample]:
    for kind, size in (("normal", "1000"), ("wide", "1000"), ("bits", "20000")):
        yield sample(input=f"{kind}[{size}]#1", start=-1.0, end=0.3, count=7)
    for start, end, count in ((-1.0, 0.3, 7), (0.1, 0.1, 2), (1e30, -3e38, 301), (0.0, -0.0, 3)):
        for kind in ("special[203]", "zeros[67]", "normal[3, 5, 7]"):
            yield sample(input=f"{kind}#2", start=start, end=end, count=count)
    for shape in ("0", ""):
        yield sample(input=f"normal[{shape}]#3", start=2.0, end=3.0, count=100_000_007)
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"bits.{dtype}[5000]#2", start=-1.0, end=0.3, count=201)


@spaced.oracle
def _(input: Any, start: float, end: float, count: int) -> Any:
    return start + (end - start) * (input / (count - 1))
