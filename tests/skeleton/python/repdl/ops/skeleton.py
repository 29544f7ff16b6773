# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Sample, Tensor, op, sample


@op()
def skeleton(input: Tensor, factor: float = 1.0) -> Tensor:  # type: ignore[empty-body]
    """What the op gives, in a line.

    Args:
        input: float32, any shape.
        factor: what it is multiplied by, rounded to float32.

    Returns:
        float32, the shape of input.
    """


@skeleton.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    # Written in ops, so that it is as reproducible as they are. Left out for an op without a gradient.
    return {"input": lambda: skeleton(grad, saved.factor)}


@skeleton.samples
def _() -> Iterator[Sample]:
    # The calls of the golden file and of every test over all ops: usual shapes, odd sizes, nothing, one that is worth a
    # fork, hard numbers.
    yield sample(input="normal[5, 7]#1", factor=0.7)
    yield sample(input="normal[3, 4, 131]#2", factor=-3.0)
    yield sample(input="normal[20000]#4", factor=0.1)
    yield sample(input="normal[]#3")
    yield sample(input="normal[0, 4]#3", factor=2.0)
    for kind in ("wide", "tiny", "bits", "special"):
        yield sample(input=f"{kind}[1000]#4", factor=0.1)


@skeleton.oracle
def _(input: Any, factor: float = 1.0) -> Any:
    # float64 NumPy, for accuracy alone.
    return input * factor
