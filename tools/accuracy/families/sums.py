# SPDX-License-Identifier: MIT
"""Sums, means, variances and norms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from accuracy.calls import Call, Draw, family
from accuracy.precise import Array, total


def _sum(x: Tensor) -> Tensor:
    return x.sum(1)


def _variance(x: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    return (centred * centred).sum(1) / (x.shape[1] - 1)


@family("sums, means, variances, norms")
def _sums(draw: Draw) -> Iterator[Call]:
    rows = (draw.normal(500, 4096),)
    apart = (draw.normal(500, 4096) + 1000,)
    positive = (draw.between(0, 1, 500, 4096),)
    wide = (draw.wide(500, 4096),)
    yield Call("sum, rows of 4096", _sum, rows, total)
    yield Call("sum, rows of 4096, positive", _sum, positive, total)
    yield Call("sum, rows of 4096, cancelling", _sum, (draw.cancelling(500, 4096),), total)
    yield Call("sum, rows of 4096, wide exponents", _sum, wide, total)
    yield Call("sum, rows of 100", _sum, (draw.normal(2000, 100),), total)
    yield Call("sum, columns of 4096", lambda x: x.sum(0), (draw.normal(4096, 500),), lambda x: total(x, 0))
    yield Call(
        "sum, 64 of 10^5", lambda x: torch.stack([row.sum() for row in x]), (draw.normal(64, 100_000),), total
    )  # fmt: skip
    yield Call("mean, rows of 4096", lambda x: x.mean(1), rows, lambda x: total(x) / 4096)
    yield Call("mean, rows of 4096 around 1000", lambda x: x.mean(1), apart, lambda x: total(x) / 4096)
    yield Call("var, rows of 4096", lambda x: x.var(1), rows, _variance)
    yield Call("var, rows of 4096 around 1000", lambda x: x.var(1), apart, _variance)
    yield Call("std, rows of 4096", lambda x: x.std(1), rows, lambda x: np.sqrt(_variance(x)))
    yield Call("norm 1, rows of 4096", lambda x: torch.linalg.vector_norm(x, 1, 1), rows, lambda x: total(np.abs(x)))
    yield Call(
        "norm 2, rows of 4096", lambda x: torch.linalg.vector_norm(x, 2, 1), rows, lambda x: np.sqrt((x * x).sum(1))
    )
    yield Call(
        "norm 2, wide exponents", lambda x: torch.linalg.vector_norm(x, 2, 1), wide, lambda x: np.sqrt((x * x).sum(1))
    )
    yield Call(
        "norm 3, rows of 4096",
        lambda x: torch.linalg.vector_norm(x, 3, 1),
        rows,
        lambda x: np.cbrt((np.abs(x) ** 3).sum(1)),
    )
    near_one = draw.between(0.9, 1.1, 1000, 256)
    yield Call("prod, rows of 256 near 1", lambda x: x.prod(1), (near_one,), lambda x: x.prod(1))
