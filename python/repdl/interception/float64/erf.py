# SPDX-License-Identifier: MIT
"""What is made of the error function of float64, in steps, as functions.py."""

from __future__ import annotations

import math

import torch

from repdl import _core
from repdl.interception.float64 import constants
from repdl.interception.float64.functions import (
    exp,
    exp_of,
    exp_pair,
    log,
    log1p,
    log_of_any,
    log_pair,
    parts,
    polynomial,
    sqrt,
    table_of,
    zeros,
)
from repdl.interception.float64.steps import (
    INF,
    NAN,
    Pair,
    Steps,
    declare,
    number_of,
    pair_product,
    pair_quotient,
    pair_sum,
    power_of_two,
    quick_two_sum,
    scaled,
    two_product,
    two_sum,
    where,
)

_ERFC = [table_of(constants.ERFC[8 * i : 8 * i + 8]) for i in range(12)]
_ERFC_REST = table_of(constants.RESTS[2:])


def erfc_scaled(x: Steps) -> Pair:
    """exp(x^2) erfc(x) for 7/10 <= x <= 30."""
    u = pair_quotient((4.0 + zeros(x), zeros(x)), two_sum(4.0, x))
    j = Steps(((u[0] * 32.0 - 5.0) * (1 / 3)).round().integer().tensor.clamp(0, 7))
    h = (u[0] - (number_of(j) * 3.0 + 5.0) * (1 / 32)) + u[1]
    coefficients = [j.among(table) for table in _ERFC]
    high, low = quick_two_sum(coefficients[0], h * polynomial(h, *coefficients[1:]))
    return pair_product(u, (high, low + j.among(_ERFC_REST)))


def _erfc_pair(x: Steps) -> tuple[Pair, Steps]:
    """Without the power of 2, for 7/10 <= x <= 28."""
    square = two_product(x, x)
    e, k = exp_pair((-square[0], -square[1]))
    return pair_product(e, erfc_scaled(x)), k


def _erf_near(x: Steps) -> Pair:
    """For |x| <= 3/4."""
    square = x * x
    more = square * polynomial(square, *constants.ERF[1:])
    high, low = quick_two_sum(constants.ERF[0] + zeros(x), more)
    return pair_product((high, low + constants.RESTS[0]), parts(x))


def erfc(x: Steps) -> Steps:
    size = abs(x)
    near = _erf_near(where(size < 0.75, x, 0.0))
    near = pair_sum((1.0 + zeros(x), zeros(x)), (-near[0], -near[1]))
    (high, low), k = _erfc_pair(where(~(size < 0.7) & (size < 28.0), size, 28.0))
    scale = power_of_two(where(x < 0.0, k, 0))
    back = pair_sum((2.0 + zeros(x), zeros(x)), (-(high * scale), -(low * scale)))
    result = where(x < 0.0, back[0] + back[1], scaled(high + low, k))
    result = where((x > -0.75) & (x < 0.7), near[0] + near[1], result)
    result = where(x > 27.5, 0.0, where(x < -6.5, 2.0, result))
    return where(x.equals(x), result, x)


_HALF_ROOT_PI = math.sqrt(math.pi) / 2


def _erfinv_near(y: Steps) -> Steps:
    """For |y| <= 7/10, from the float32 by a step of Halley's."""
    x = Steps(_core.ops["erfinv"](y.tensor.to(torch.float32)).to(torch.float64))
    high, low = _erf_near(x)
    step = ((high - y) + low) * exp(x * x) * _HALF_ROOT_PI
    return x - step / (1.0 + x * step)


def _erfinv_far(c: Steps) -> Steps:
    """x with erfc(x) = c, for c <= 3/10: steps of Newton's for the logarithms."""
    log_c = log_of_any(c)
    t = sqrt((log_c[0] - _LOG_2) * -2.0)
    # Abramowitz and Stegun, 26.2.23.
    x = t - polynomial(t, 2.515517, 0.802853, 0.010328) / polynomial(t, 1.0, 1.432788, 0.189269, 0.001308)
    x = x * math.sqrt(0.5)
    for _ in range(4):
        scale = erfc_scaled(x)
        square = two_product(x, x)
        off = pair_sum(pair_sum(log_pair(scale), (-square[0], -square[1])), (-log_c[0], -log_c[1]))
        x = x + off[0] * scale[0] * _HALF_ROOT_PI
    return x


_LOG_2 = constants.LOG_SCALES[1]


def erfcx(x: Steps) -> Steps:
    """exp(x^2) erfc(x)."""
    middle = (x > 0.7) & (x < 30.0)
    high, low = erfc_scaled(where(middle, x, 1.0))
    far = where(x > 29.0, x, 30.0)
    over = 1.0 / far
    square = over * over
    beyond = over * _ROOT_OF_PI_INVERSE * polynomial(square, 1.0, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875)
    before = where((x > -27.0) & (x < 0.75), x, 0.0)
    result = exp_of(two_product(before, before)) * erfc(before)
    result = where(middle, high + low, where(x > 29.0, beyond, where(x < -26.7, INF, result)))
    return where(x.equals(x), result, x)


_ROOT_OF_PI_INVERSE = 1 / math.sqrt(math.pi)


def log_ndtr(x: Steps) -> Steps:
    """The logarithm of erfc(-x / sqrt(2)) / 2."""
    z = x * math.sqrt(0.5)
    below = log(erfcx(where(x < -1.0, -z, 1.0)) * 0.5) - x * x * 0.5
    above = log1p(erfc(where(x < -1.0, 0.0, z)) * -0.5)
    return where(x < -1.0, where(x > -INF, below, -INF), above)


def ndtri(p: Steps) -> Steps:
    """-sqrt(2) times the inverse of erfc, at 2 p."""
    inside = (p > 0.0) & (p < 1.0)
    middle = (p > 0.15) & (p < 0.85)
    near = _erfinv_near(where(middle, p * 2.0 - 1.0, 0.0))
    tail = where(p > 0.5, 1.0 - p, p)
    far = _erfinv_far(where(inside & ~middle, tail * 2.0, 0.25))
    result = where(middle, near, where(p > 0.5, far, -far)) * math.sqrt(2)
    result = where(inside, result, where(p.equals(0.0), -INF, where(p.equals(1.0), INF, NAN)))
    return where(p.equals(p), result, p)


declare(erfcx, log_ndtr, ndtri)
