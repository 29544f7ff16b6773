# SPDX-License-Identifier: MIT
"""Functions of float32 numbers, correctly rounded: by mpmath, with digits to spare."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath

from .numbers import nearest

DIGITS = 220
"""Binary digits: more than twice those that the hardest of float32 numbers needs."""


def _rounded(function: Callable[[mpmath.mpf], mpmath.mpf], x: float) -> float:
    with mpmath.workprec(DIGITS):
        return nearest(function(mpmath.mpf(x)), "float32")


def exp(x: float) -> float:
    if x != x or x == math.inf:
        return x
    return 0.0 if x < -200 else math.inf if x > 200 else _rounded(mpmath.exp, x)


def exp64(x: float) -> float:
    """In binary64."""
    return 0.0 if x < -800 else math.inf if x > 800 else float(mpmath.exp(x))


def log(x: float) -> float:
    if x != x or x == math.inf:
        return x
    return math.nan if x < 0 else -math.inf if x == 0 else _rounded(mpmath.log, x)


def pow(x: float, y: float) -> float:
    """x to the power of y, for an x that is not -inf, and no -0."""
    if x == 1 or y == 0:
        return 1.0
    if x < 0 and math.isfinite(y):
        return math.nan if y != math.floor(y) else -pow(-x, y) if y % 2 == 1 else pow(-x, y)
    if x != x or y != y:
        return math.nan
    if x == 0 or math.isinf(x) or math.isinf(y):
        return math.inf if (x > 1) == (y > 0) else 0.0
    if y * math.log2(x) > 200:
        return math.inf
    return 0.0 if y * math.log2(x) < -200 else _rounded(lambda v: v ** mpmath.mpf(y), x)


def logaddexp(x: float, y: float) -> float:
    """log(exp(x) + exp(y)); +0 where one is -inf and the other a zero."""
    if x != x or y != y:
        return math.nan
    low, high = sorted((x, y))
    if low == -math.inf or high == math.inf:
        return high + 0.0
    if high - low > 200:  # then the rest is far below half a unit of the sum, or of any number
        return high + 0.0
    return _rounded(lambda v: v + mpmath.log1p(mpmath.exp(mpmath.mpf(low) - v)), high)


def expm1(x: float) -> float:
    if x != x or x in (0, math.inf):
        return x
    return -1.0 if x < -200 else math.inf if x > 200 else _rounded(mpmath.expm1, x)


def log1p(x: float) -> float:
    if x != x or x in (0, math.inf):
        return x
    return math.nan if x < -1 else -math.inf if x == -1 else _rounded(mpmath.log1p, x)


def sigmoid(x: float) -> float:
    if x != x:
        return x
    if abs(x) > 200:
        return 0.0 if x < 0 else 1.0
    return _rounded(lambda v: 1 / (1 + mpmath.exp(-v)), x)


def softplus(x: float) -> float:
    if x != x:
        return x
    if abs(x) > 200:
        return 0.0 if x < 0 else x
    return _rounded(lambda v: mpmath.log1p(mpmath.exp(v)), x)
