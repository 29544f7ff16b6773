# SPDX-License-Identifier: MIT
"""Windows made of special functions."""

from __future__ import annotations

import math

import mpmath

from ..numbers import float32
from ..registry import reference
from ..tensors import Tensor, rounded


def _i0(x: float) -> float:
    with mpmath.workprec(160):
        return float(mpmath.besseli(0, mpmath.mpf(x)))


_LENGTHS = [f"window_length={n}, dtype={t}" for n in (0, 1, 2, 7, 400) for t in ("float32", "bfloat16", "float16")]


@reference("kaiser_window", cases=_LENGTHS)
@reference("kaiser_window.periodic", cases=[f"{c}, periodic={p}" for c in _LENGTHS for p in (True, False)])
@reference(
    "kaiser_window.beta",
    cases=[f"{c}, periodic={p}, beta={b}" for c in _LENGTHS for p in (True, False) for b in (8.6, 0.0, 100.0)],
)
def kaiser_window(window_length: int, dtype: str, periodic: bool = True, beta: float = 12.0) -> Tensor:
    """I_0(beta sqrt(1 - x^2)) / I_0(beta), x evenly from -1 to 1, in binary64; rounded to float32, then to the type."""
    if window_length < 2:
        return Tensor(dtype, (window_length,), [1.0] * window_length)
    found = []
    for i in range(window_length):
        last = window_length - 1 + periodic
        step = 2 / last
        x = -1 + step * i if i < (last + 1) // 2 else 1 - step * (last - i)
        found.append(rounded(float32(_i0(math.sqrt(1 - x * x) * beta) / _i0(beta)), dtype))
    return Tensor(dtype, (window_length,), found)
