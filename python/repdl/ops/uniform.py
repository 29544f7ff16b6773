# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Sample, Tensor, op, sample


@op()
def uniform(input: Tensor, low: float, high: float) -> Tensor:
    """Numbers of [0, 1) moved to [low, high), as torch's `uniform_` does with what its generator draws.

    Args:
        input: float32, any shape, numbers in [0, 1).
        low, high: the interval; rounded to float32.
    """


@uniform.samples
def _() -> Iterator[Sample]:
    yield sample(input="unit[5000]#1", low=-0.2, high=0.2)
    yield sample(input="unit[30, 7]#2", low=0.0, high=1.0)
    yield sample(input="unit[100]#3", low=-1e30, high=3.5)
    yield sample(input="special[200]#4", low=-1.0, high=0.0)


@uniform.oracle
def _(input: Any, low: float, high: float) -> Any:
    return input * (high - low) + low
