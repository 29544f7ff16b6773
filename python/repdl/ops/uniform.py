# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, sample


@op()
def uniform(input: Tensor, low: float, high: float) -> Tensor:
    """Numbers of [0, 1) moved to [low, high), as torch's `uniform_` does with what its generator draws.

    Args:
        input: float32 or float64, any shape, numbers in [0, 1).
        low, high: the interval; rounded to the dtype.
    """


@op()
def box_muller(input: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Makes normally distributed numbers of uniform ones, as torch's `normal_` does with what its generator draws.

    Args:
        input: float32, any shape with a multiple of 16 elements, numbers in [0, 1).
        mean, std: std >= 0; rounded to float32.
    """


box_muller.rows(no_rows)


@box_muller.samples
def _() -> Iterator[Sample]:
    yield sample(input="unit[48]#1")
    yield sample(input="unit[5, 32]#2", mean=0.3, std=2.5)
    yield sample(input="special[7, 16]#3", mean=-1.0, std=1e30)
    yield sample(input="unit[0, 3]#1")
    yield sample(input="unit[2080]#4", mean=1e-3, std=0.02)


@box_muller.oracle
def _(input: Any, mean: float, std: float) -> Any:
    u, a = np.moveaxis(input.reshape(-1, 2, 8), 1, 0)
    radius = np.sqrt(-2 * np.log1p(-u))
    pair = np.stack([radius * np.cos(2 * np.pi * a), radius * np.sin(2 * np.pi * a)], 1)
    return pair.reshape(input.shape) * std + mean


@uniform.samples
def _() -> Iterator[Sample]:
    yield sample(input="unit[5000]#1", low=-0.2, high=0.2)
    yield sample(input="unit[30, 7]#2", low=0.0, high=1.0)
    yield sample(input="unit[100]#3", low=-1e30, high=3.5)
    yield sample(input="special[200]#4", low=-1.0, high=0.0)


@uniform.oracle
def _(input: Any, low: float, high: float) -> Any:
    return input * (high - low) + low
