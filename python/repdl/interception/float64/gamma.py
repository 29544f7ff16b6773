# SPDX-License-Identifier: MIT
"""The gamma function of float64: its logarithm in two parts, and that one's derivatives, in steps, as functions.py."""

from __future__ import annotations

from fractions import Fraction

from repdl.interception.float64 import constants
from repdl.interception.float64.functions import log_pair, parts, polynomial, zeros
from repdl.interception.float64.steps import (
    Pair,
    Steps,
    pair_product,
    pair_sum,
    pair_where,
    quick_two_sum,
    two_sum,
    where,
)

# Bernoulli's numbers of 2, 4, 6, …
_BERNOULLI = [
    Fraction(a, b)
    for a, b in (
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330),
        (854513, 138), (-236364091, 2730),
    )
]  # fmt: skip
_STIRLING = [float(b / (2 * k * (2 * k - 1))) for k, b in enumerate(_BERNOULLI, 1)]
_FAR = 10.0
"""From here on the asymptotic series are used."""


def minus(x: Pair) -> Pair:
    return -x[0], -x[1]


def near_two(t: Steps) -> Pair:
    """log(gamma(2 + t)) for |t| <= 1/2."""
    slope = quick_two_sum(constants.LOG_GAMMA[0], t * polynomial(t, *constants.LOG_GAMMA[1:]))
    return pair_product((slope[0], slope[1] + constants.LOG_GAMMA_REST), parts(t))


def _log_gamma_low(x: Steps) -> Pair:
    """For 0 < x < 10: moved to within 1/2 of 2 by the factors between."""
    factors: Pair = parts(1.0 + zeros(x))
    w = x
    for _ in range(8):
        above = w > 2.5
        w = where(above, w - 1.0, w)
        factors = pair_product(factors, (where(above, w, 1.0), 0.0))
    small, below = w < 0.5, w < 1.5
    divisor = pair_where(small, pair_product(two_sum(1.0, w), parts(w)), parts(w))
    logs = log_pair(pair_where(below, divisor, factors))
    logs = pair_where(below, minus(logs), logs)
    return pair_sum(near_two(where(small, w, where(below, w - 1.0, w - 2.0))), logs)


def _log_gamma_high(x: Steps) -> Pair:
    """For 10 <= x <= 2^1015: Stirling's series."""
    high = pair_product(log_pair(parts(x)), two_sum(-0.5, x))
    tail = polynomial(1.0 / x / x, *_STIRLING) / x
    constant = constants.HALF_LOG_2_PI[0] + zeros(x), constants.HALF_LOG_2_PI[1] + zeros(x)
    return pair_sum(pair_sum(high, (-x, zeros(x))), pair_sum(constant, (tail, zeros(x))))


def log_gamma(x: Steps) -> Pair:
    """For 2^-900 <= x <= 2^1015."""
    return pair_where(x < _FAR, _log_gamma_low(where(x < _FAR, x, 1.0)), _log_gamma_high(where(x < _FAR, _FAR, x)))
