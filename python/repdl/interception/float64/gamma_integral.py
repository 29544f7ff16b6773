# SPDX-License-Identifier: MIT
"""The regularised incomplete gamma functions P(a, x) and Q = 1 - P of float64, in steps, as functions.py.

Where a is large and x near to it, by Temme's uniform expansion; else P by its power series if x < a, Q by its
continued fraction if x > a, and for small x by a power series of its own. A number takes terms until they change
nothing, and its bits do not depend on how many the others take.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import torch

from repdl.interception import core
from repdl.interception.float64.functions import (
    exp,
    exp_of,
    expm1,
    log1p_pair,
    log_of_any,
    log_pair,
    parts,
    polynomial,
    sqrt,
    zeros,
)
from repdl.interception.float64.gamma import log_gamma, minus, near_two
from repdl.interception.float64.steps import (
    INF,
    NAN,
    Pair,
    Steps,
    declare,
    pair_product,
    pair_quotient,
    pair_sum,
    pair_where,
    two_sum,
    where,
)

_LARGE = 1000.0
_NEAR = 0.3
"""Temme's expansion is taken where a is above the one and |x - a| / a below the other."""
_FAR = 1e6
"""Above, P is 0 or 1 outside of it."""
_TERMS = 2000


def _log_gamma_of_next(a: Steps) -> Pair:
    """log(gamma(1 + a)) for a > 0."""
    small = a < 0.5
    low = where(small, a, 0.25)
    near = pair_sum(near_two(low), minus(log1p_pair(parts(low))))
    held = where(small, 1.0, a)
    return pair_where(small, near, pair_sum(log_gamma(held), log_pair(parts(held))))


def _log_front(a: Steps, x: Steps) -> Pair:
    """Of x^a exp(-x) / gamma(1 + a)."""
    powers = pair_product(log_of_any(x), parts(a))
    return pair_sum(pair_sum(powers, (-x, zeros(x))), minus(_log_gamma_of_next(a)))


def _more(condition: torch.Tensor) -> bool:
    return bool(condition.any())


def _lower(a: Steps, x: Steps) -> Steps:
    """The sum of x^n / ((a + 1) … (a + n))."""
    term = total = 1.0 + zeros(x)
    n = a
    for _ in range(_TERMS):
        n = n + 1.0
        term = term * (x / n)
        counts = term > total * 2.0**-54
        if not _more(counts):
            break
        total = where(counts, total + term, total)
        term = where(counts, term, 0.0)
    return total


def _upper(a: Steps, x: Steps) -> Steps:
    """1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / …)), by Lentz's way."""
    b = x + 1.0 - a
    c = 2.0**200 + zeros(x)
    d = 1.0 / b
    h = d
    counts = h.equals(h)
    for i in range(1, _TERMS):
        numerator = (a - float(i)) * float(i)
        b = b + 2.0
        d = numerator * d + b
        d = 1.0 / where(d.equals(0.0), 2.0**-200, d)
        c = b + numerator / c
        c = where(c.equals(0.0), 2.0**-200, c)
        change = c * d
        h = where(counts, h * change, h)
        counts = counts & (abs(change - 1.0) > 2.0**-53)
        if not _more(counts):
            break
    return h


def _upper_of_small(a: Steps, x: Steps) -> Steps:
    """Q for x up to 1.1: 1 - x^a / gamma(1 + a), less the sum of a x^a / gamma(1 + a) (-x)^n / (n! (a + n))."""
    term, total = -x, zeros(x)
    for n in range(1, 26):
        total = total + term / (a + float(n))
        term = term * x * (-1.0 / (n + 1))
    high, low = pair_sum(pair_product(log_of_any(x), parts(a)), minus(_log_gamma_of_next(a)))
    power = high + low
    return -expm1(power) - exp(power) * a * total


@cache
def _temme() -> list[list[float]]:
    """Coefficients d of the expansion: by k those of eta^n. DLMF 8.12.11 and 8.12.12."""
    count = 34
    alphas = [Fraction(0), Fraction(1)]  # of x / a - 1 as a series in eta
    for n in range(2, count):
        rest = sum((k * alphas[k] * alphas[n + 1 - k] for k in range(2, n)), Fraction(0))
        alphas.append((alphas[n - 1] - rest) / (n + 1))
    rows = [[Fraction(-1, 3), *((n + 2) * alphas[n + 2] for n in range(1, count - 2))]]
    for g in _STIRLING[1:]:
        above = rows[-1]
        rows.append([g * rows[0][n] + (n + 2) * above[n + 2] for n in range(len(above) - 2)])
    return [[float(d) for d in row[:22]] for row in rows]


_STIRLING = [
    Fraction(*pair) for pair in ((1, 1), (-1, 12), (1, 288), (139, 51840), (-571, 2488320), (-163879, 209018880))
]
"""Of 1 / gamma*(a), in 1 / a."""


def _uniform(a: Steps, x: Steps) -> tuple[Steps, Steps]:
    """P and Q."""
    ratio = pair_quotient(parts(x), parts(a))
    off = pair_quotient(two_sum(x, -a), parts(a))
    half_square = pair_sum(off, minus(log_pair(ratio)))
    held = where(half_square[0] > 0.0, half_square[0] + half_square[1], 0.0)
    eta = sqrt(held * 2.0)
    eta = where(x < a, -eta, eta)
    scaled = sqrt(held * a)
    exponent = pair_product(half_square, parts(a))
    series = polynomial(1.0 / a, *(polynomial(eta, *row) for row in _temme()))
    rest = exp_of(minus(exponent)) * series / sqrt(a * (2 * math.pi))
    tail = Steps(core.ops["erfc"](scaled.tensor)) * 0.5
    below = x < a
    return where(below, tail - rest, 1.0 - (tail + rest)), where(below, 1.0 - (tail - rest), tail + rest)


def _both(a: Steps, x: Steps) -> tuple[Steps, Steps]:
    """P and Q for a and x above 0 and finite."""
    near = (a > _LARGE) & (abs(x - a) < a * _NEAR) & (a < 2.0**900)
    far = (a > _FAR) & ~near
    a, step = where(far, 1.0, a), where(x > a, 1.0, where(x < a, 0.0, 0.5))
    x = where(far, 1.0, x)
    small = (x < 1.1) & ~near
    # Of small x the larger of both is 1 less the other.
    by_series = where(small, where(x < 0.5, -0.4 / _log_below_half(x), x * 1.1), x) < a
    lower = by_series & ~near
    fraction = ~(by_series | small | near)
    tiny = ~by_series & small
    front = exp_of(_log_front(a, where(near, 1.0, x)))
    p_low = front * _lower(where(lower, a, 1.0), where(lower, x, 0.5))
    q_high = front * a * _upper(where(fraction, a, 1.0), where(fraction, x, 8.0))
    q_small = _upper_of_small(where(tiny, a, 0.5), where(tiny, x, 0.5))
    p_near, q_near = _uniform(where(near, a, _LARGE), where(near, x, _LARGE))
    q = where(tiny, q_small, q_high)
    p, q = where(lower, p_low, 1.0 - q), where(lower, 1.0 - p_low, q)
    p, q = where(near, p_near, p), where(near, q_near, q)
    return where(far, step, p), where(far, 1.0 - step, q)


def _log_below_half(x: Steps) -> Steps:
    """The logarithm of x, up to 1/2."""
    high, low = log_of_any(where(x < 0.5, x, 0.5))
    return high + low


def _of(a: Steps, x: Steps, upper: bool) -> Steps:
    inside = (a > 0.0) & (a < INF) & (x > 0.0) & (x < INF)
    result = _both(where(inside, a, 1.0), where(inside, x, 1.0))[upper]
    least, most = (1.0, 0.0) if upper else (0.0, 1.0)
    end = where(x.equals(0.0) | a.equals(INF), least, most)
    wrong = (a < 0.0) | (x < 0.0) | (a.equals(0.0) & x.equals(0.0)) | (a.equals(INF) & x.equals(INF))
    result = where(inside, result, where(wrong | ~a.equals(a) | ~x.equals(x), NAN, end))
    return result


def igamma(a: Steps, x: Steps) -> Steps:
    return _of(a, x, upper=False)


def igammac(a: Steps, x: Steps) -> Steps:
    return _of(a, x, upper=True)


declare(igamma, igammac)
