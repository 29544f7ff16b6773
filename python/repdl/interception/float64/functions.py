# SPDX-License-Identifier: MIT
"""Functions in steps that round once, of which those of float64 are made that the core lacks; within 0.6 ulp.

Each ends in a sum of two parts, of which the first has the digits of the result and the second some more.
"""

from __future__ import annotations

import math

import torch

from repdl.interception.float64 import constants
from repdl.interception.float64.steps import (
    INF,
    NAN,
    TINY,
    Number,
    Pair,
    Steps,
    number_of,
    pair_sum,
    power_of_two,
    quick_two_sum,
    scaled,
    two_product,
    two_sum,
    where,
)


def table_of(numbers: list[float]) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64, device="cpu")


def tables_of(numbers: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    """Doubles, and what they leave."""
    return table_of(numbers[: len(numbers) // 2]), table_of(numbers[len(numbers) // 2 :])


def polynomial(x: Steps, *coefficients: Number) -> Steps:
    """From the lowest degree, by Horner's rule."""
    *others, last = coefficients
    result: Number = last
    for c in reversed(others):
        result = x * result + c
    assert isinstance(result, Steps)
    return result


def zeros(like: Steps) -> Steps:
    return Steps(torch.zeros_like(like.tensor))


def parts(x: Steps) -> Pair:
    return x, zeros(x)


# The square root, correctly rounded.


def sqrt(x: Steps) -> Steps:
    """Of a mantissa m in [1, 4) by Newton's steps; then m is compared with the squares of what lies half-way."""
    small = x < TINY
    bits = where(small, x * 2.0**54, x).bits()
    twice = ((bits >> 52) - 1023) & -2
    m = (bits - (twice << 52)).bits()
    y = (_NEAR_ROOT - (m.bits() >> 1)).bits()
    for _ in range(4):
        y = y * (1.5 - 0.5 * m * y * y)
    s = m * y
    square, rest = two_product(s, s)
    s = s + ((m - square) - rest) * (0.5 * y)
    square, rest = two_product(s, s)
    off, gap = m - square, s * 2.0**-52
    up, down = (off - gap) > rest, (off + gap) > rest
    s = where(up, s + 2.0**-52, where(down, s, s - 2.0**-52))
    root = s * power_of_two((twice >> 1) - where(small, 27, 0))
    return where((x > 0.0) & (x < INF), root, where(x < 0.0, NAN, x))


_NEAR_ROOT = 0x5FE6EB50C7B537A9
"""Less half of the bits of m it is near to the bits of 1 / sqrt(m)."""


# Exponential functions.

_EXP2 = tables_of(constants.EXP2)
_LARGEST, _LEAST = 709.79, -746.0
"""Beyond these exp is infinite, or 0."""


def _exp_terms(x: Pair) -> tuple[Steps, Pair, Steps]:
    """(t, c, k) with exp(x) = 2^k (t + c): t is 2^(j/16), and 1 for small x, where c is exp(x) - 1."""
    n = (x[0] * (16 * constants.LOG_SCALES[0])).round()
    high, low = two_sum(x[0] - n * constants.LN2_16[0], x[1] - n * constants.LN2_16[1])
    more = high * high * polynomial(high, *(1 / math.factorial(i) for i in range(2, 11)))
    r = quick_two_sum(high, low + (more + low * high))
    places = n.integer()
    which = places & 15
    t, rest = (which.among(table) for table in _EXP2)
    first, second = two_product(t, r[0])
    return t, quick_two_sum(first, second + (rest + (t * r[1] + rest * r[0]))), places >> 4


def exp_pair(x: Pair) -> tuple[Pair, Steps]:
    t, c, k = _exp_terms(x)
    high, low = two_sum(t, c[0])
    return quick_two_sum(high, low + c[1]), k


def exp_of(x: Pair) -> Steps:
    (high, low), k = exp_pair(x)
    result = scaled(high + low, k)
    result = where(x[0] > _LARGEST, INF, where(x[0] < _LEAST, 0.0, result))
    return where(x[0].equals(x[0]), result, x[0])


def exp(x: Steps) -> Steps:
    return exp_of(parts(x))


def _expm1_pair(x: Steps) -> Pair:
    """For |x| up to 700."""
    t, c, k = _exp_terms(parts(x))
    scale = power_of_two(k)
    high, low = two_sum(t * scale, Steps(torch.full_like(x.tensor, -1.0)))
    return pair_sum((high, low), (c[0] * scale, c[1] * scale))


def expm1(x: Steps) -> Steps:
    held = where(abs(x) < 45.0, x, 0.0)
    high, low = _expm1_pair(held)
    result = where(x > 40.0, exp(x), where(x < -40.0, -1.0, high + low))
    return where((x.equals(x)) & ~(abs(x) < 2.0**-54), result, x)


# Logarithms.

_RECIPROCALS, _LOGS = table_of(constants.RECIPROCALS), tables_of(constants.LOGS)
_FIRST_CELL = 0x3FE6000000000000


def log_pair(x: Pair, less: Number = 0) -> Pair:
    """The logarithm of a normal number above 0, less so many times log(2)."""
    bits = x[0].bits()
    above = bits - _FIRST_CELL
    k = above >> 52
    cell = (above >> 47) & 31
    m = (bits - (k << 52)).bits()
    low = x[1] * power_of_two(-Steps(k.tensor.clamp(max=1000)))
    c = cell.among(_RECIPROCALS)
    front = ((m.bits() + 2**26) & -(2**27)).bits()
    r, rest = two_sum(front * c - 1.0, (m - front) * c)
    r, rest = quick_two_sum(r, rest + low * c)
    square, square_low = two_product(r, r * -0.5)
    cubic = r * r * r * polynomial(r, *((-1) ** (i + 1) / i for i in range(3, 16)))
    exponent = number_of(k - less)
    first, e1 = two_sum(exponent * constants.LN2[0], cell.among(_LOGS[0]))
    second, e2 = two_sum(first, r)
    third, e3 = two_sum(second, square)
    small = exponent * constants.LN2[1] + cell.among(_LOGS[1]) + (rest - r * rest) + square_low + cubic
    return quick_two_sum(third, ((e1 + e2) + e3) + small)


def log_of_any(x: Steps) -> Pair:
    small = x < TINY
    return log_pair(parts(where(small, x * 2.0**54, x)), where(small, 54, 0))


def log1p_pair(x: Pair) -> Pair:
    high, low = two_sum(1.0, x[0])
    return log_pair(quick_two_sum(high, low + x[1]))
