# SPDX-License-Identifier: MIT
"""Functions of float32 numbers, correctly rounded: by mpmath, with digits to spare."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath

from .numbers import nearest

DIGITS = 220
"""Binary digits: more than twice those that the hardest of float32 numbers needs."""


def _rounded(function: Callable[[mpmath.mpf], mpmath.mpf], x: float, dtype: str = "float32") -> float:
    with mpmath.workprec(DIGITS):
        return nearest(function(mpmath.mpf(x)), dtype)


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


def tanh(x: float) -> float:
    if x != x or x == 0:
        return x
    return math.copysign(1.0, x) if abs(x) > 50 else _rounded(mpmath.tanh, x)


def softplus(x: float) -> float:
    if x != x:
        return x
    if abs(x) > 200:
        return 0.0 if x < 0 else x
    return _rounded(lambda v: mpmath.log1p(mpmath.exp(v)), x)


def _of_angle(function: Callable[[mpmath.mpf], mpmath.mpf], x: float, at_zero: float) -> float:
    if not math.isfinite(x):
        return math.nan
    return at_zero if x == 0 else _rounded(function, x)


def sin(x: float) -> float:
    return _of_angle(mpmath.sin, x, x)


def cos(x: float) -> float:
    return _of_angle(mpmath.cos, x, 1.0)


def sinpi(x: float) -> float:
    """sin(pi x): a zero has the sign of x."""
    value = _of_angle(mpmath.sinpi, x, x)
    return math.copysign(value, x) if value == 0 else value


def cospi(x: float) -> float:
    return _of_angle(mpmath.cospi, x, 1.0)


def gelu(x: float) -> float:
    """x / 2 * erfc(-x / sqrt(2))."""
    if x != x or x == 0:
        return x
    if abs(x) > 50:
        return -0.0 if x < 0 else x
    return _rounded(lambda v: v / 2 * mpmath.erfc(-v / mpmath.sqrt(2)), x)


def power(x: float, y: float) -> float:
    """x to the y."""
    if y == 0 or x == 1:
        return 1.0
    if x != x or y != y:
        return math.nan
    if math.isinf(y):
        return 1.0 if x == -1 else math.inf if (abs(x) > 1) == (y > 0) else 0.0
    is_whole, is_odd = y == math.floor(y), y % 2 == 1
    if x < 0 and not is_whole:
        return math.nan
    sign = -1.0 if is_odd and math.copysign(1.0, x) < 0 else 1.0
    if x == 0:
        return math.copysign(math.inf if y < 0 else 0.0, sign)
    bits = y * math.log2(abs(x))
    if abs(bits) > 200:
        return math.copysign(math.inf if bits > 0 else 0.0, sign)
    return sign * _rounded(lambda v: v ** mpmath.mpf(y), abs(x))


def xlog1py(x: float, y: float) -> float:
    """x log(1 + y), +0 where x is 0 and y is not NaN."""
    if x == 0 and y == y:
        return 0.0
    if y == 0 or not (math.isfinite(x) and -1 < y < math.inf):
        return x * log1p(y)
    return _rounded(lambda v: v * mpmath.log1p(mpmath.mpf(y)), x)


def xlogy(x: float, y: float) -> float:
    """x log(y), +0 where x is 0 and y is not NaN."""
    if x == 0 and y == y:
        return 0.0
    if y == 1 or not (math.isfinite(x) and 0 < y < math.inf):
        return x * log(y)
    return _rounded(lambda v: v * mpmath.log(mpmath.mpf(y)), x)


def logaddexp2(x: float, y: float) -> float:
    """log2(2^x + 2^y); +0 where one is -inf and the other a zero."""
    if x != x or y != y:
        return math.nan
    low, high = sorted((x, y))
    if low == high:
        return nearest(mpmath.mpf(x) + 1, "float32") if math.isfinite(x) else x
    if low == -math.inf or high == math.inf:
        return high + 0.0
    if high - low > 250:  # then the rest is far below half a unit of the sum, or of any number
        return high + 0.0
    return _rounded(lambda v: v + mpmath.log(1 + mpmath.mpf(2) ** (mpmath.mpf(low) - v), 2), high)


def entr(x: float, dtype: str) -> float:
    """-x log(x), rounded once to a dtype; +0 of zeros, and -inf below."""
    if x != x or x in (0, 1, math.inf):
        return x if x != x else {0: 0.0, 1: -0.0}.get(x, -math.inf)
    return -math.inf if x < 0 else _rounded(lambda v: -v * mpmath.log(v), x, dtype)


def logit(x: float, dtype: str) -> float:
    """log(x / (1 - x)), rounded once to a dtype."""
    if not 0 < x < 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(x, math.nan)
    return 0.0 if x == 0.5 else _rounded(lambda v: mpmath.log(v / (1 - v)), x, dtype)


def sinc(x: float, dtype: str) -> float:
    """sin(pi x) / (pi x), rounded once to a dtype; 1 at 0."""
    if not math.isfinite(x):
        return math.nan
    if x == math.floor(x):
        return 1.0 if x == 0 else 0.0
    return _rounded(lambda v: mpmath.sinpi(v) / (mpmath.pi * v), x, dtype)
