# SPDX-License-Identifier: MIT
"""What the first numbers along a dimension come to, at each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def cumsum(input: Tensor, dim: int) -> Tensor:
    """The sums of the first numbers along a dimension, from left to right.

    Args:
        input: float32 or float64, any shape.
        dim: the dimension.
    """


@op()
def cumprod(input: Tensor, dim: int) -> Tensor:
    """The products of the first numbers along a dimension, from left to right. Arguments as for `cumsum`."""


@op()
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the sums of the exponentials of the first numbers. Arguments as for `cumsum`."""


@cumsum.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: cumsum(grad.flip(saved.dim), saved.dim).flip(saved.dim)}


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    rank = arguments["input"].ndim
    return None if rank == 0 or arguments["dim"] % rank == 0 else rows_of("input")(arguments, rows)


def _samples() -> Iterator[Sample]:
    yield sample(input="normal[703]#1", dim=0)
    yield sample(input="normal[37, 65]#2", dim=1)
    yield sample(input="normal[65, 37]#2", dim=0)
    yield sample(input="normal[300, 130]#3", dim=-1)
    yield sample(input="normal[4, 30, 3]#4", dim=1)
    yield sample(input="normal[]#5", dim=-1)
    yield sample(input="normal[3, 0]#5", dim=1)
    for kind in ("wide", "special", "zeros"):
        yield sample(input=f"{kind}[19, 40]#6", dim=1)


for _op in (cumsum, cumprod, logcumsumexp):
    _op.rows(_rows)
    _op.samples(_samples)


@cumsum.oracle
def _(input: Any, dim: int) -> Any:
    return np.cumsum(input, dim) if input.ndim else input


@cumprod.oracle
def _(input: Any, dim: int) -> Any:
    return np.cumprod(input, dim) if input.ndim else input


@logcumsumexp.oracle
def _(input: Any, dim: int) -> Any:
    return np.logaddexp.accumulate(input, dim) if input.ndim else input
