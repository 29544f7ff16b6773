# SPDX-License-Identifier: MIT
"""The gamma function of float64: its logarithm in two parts, and that one's derivatives, in steps, as functions.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import torch

from repdl.interception.float64 import constants
from repdl.interception.float64.functions import log_pair, parts, polynomial, power, zeros
from repdl.interception.float64.steps import (
    INF,
    NAN,
    Number,
    Pair,
    Steps,
    declare,
    elementwise,
    pair_product,
    pair_sum,
    pair_where,
    quick_two_sum,
    two_sum,
    where,
)
from repdl.interception.ops_by_dtype import float64_ops

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


def _summed_to_far(x: Steps, term: object, first: Pair) -> tuple[Steps, Pair]:
    """x + n, the first of these from 10 on, and the sum of the terms of x, x + 1, … before it."""
    assert callable(term)
    total, low = first
    while bool((x < _FAR).any()):
        counts = x < _FAR
        more = where(counts, term(x), 0.0)
        total, lost = two_sum(total, more)
        low = low + lost
        x = where(counts, x + 1.0, x)
    return x, (total, low)


def _power(x: Steps, n: int) -> Steps:
    result: Number = 1.0
    for _ in range(n):
        result = x * result
    assert isinstance(result, Steps)
    return result


def _zeta(s: int, x: Steps) -> Pair:
    """The sum of (x + k)^-s over k from 0, s > 1, by Euler and Maclaurin."""
    far, total = _summed_to_far(x, lambda w: 1.0 / _power(w, s), parts(zeros(x)))
    square = 1.0 / far / far
    rising, series = 1, []
    for k, b in enumerate(_BERNOULLI, 1):
        rising = math.prod(range(s, s + 2 * k - 1))
        series.append(float(b * rising / math.factorial(2 * k)))
    power = 1.0 / _power(far, s - 1)
    tail = power * (1 / (s - 1)) + power / far * 0.5 + power * square * polynomial(square, *series)
    return pair_sum(total, (tail, zeros(x)))


def _zeta_of(exponent: Steps, w: Steps) -> Pair:
    """The sum of (w + k)^exponent over k from 0 for w > 0, by ten terms and Euler's and Maclaurin's formula."""
    total, low = parts(zeros(w))
    for _ in range(10):
        total, lost = two_sum(total, power(w, exponent))
        low, w = low + lost, w + 1.0
    over = 1.0 / w / w
    last = power(w, exponent)
    s = -exponent
    term, tail = s / w, 0.5 + zeros(w)
    for k, b in enumerate(_BERNOULLI, 1):
        tail = tail + term * float(b / math.factorial(2 * k))
        term = term * (s + (2.0 * k - 1.0)) * (s + 2.0 * k) * over
    rest = where(last.equals(0.0), 0.0, last * w / (s - 1.0) + last * tail)  # of large s the tail is infinite
    return total, where(abs(total).equals(INF), 0.0, low + rest)


def _from_below(x: Steps, odd: torch.Tensor, zeta: Callable[[Steps], Pair]) -> Pair:
    """The sum of (x + k)^-s over k from 0, of x < 0 too, s being an integer there.

    With y = x - trunc(x): what is above 0 is the sum from 1 + y; what is below, but for its sign where s is odd, the
    sum from -y less that from 1 - x. The two from 1 + y and -y come first, since they may cancel.
    """
    below = x < 0.0
    if not bool(below.any()):
        return zeta(x)
    odd = below & odd
    y = x - x.round()
    y = where(y > 0.0, y - 1.0, y)
    above = zeta(where(below, 1.0 + y, x))
    beneath = zeta(where(below, -y, 1.0))
    beneath = pair_where(odd, minus(beneath), beneath)
    beyond = zeta(where(below, 1.0 - x, 1.0))
    near = pair_sum(above, beneath)
    total = pair_sum(near, pair_where(odd, beyond, minus(beyond)))
    # Of two infinities the one from the smaller number is larger.
    plain = above[0] + beneath[0]
    larger = where(-y < 1.0 + y, -INF, where(-y > 1.0 + y, INF, beyond[0]))
    plain = where(abs(above[0]).equals(INF) & abs(beneath[0]).equals(INF) & odd, larger, plain)
    endless = abs(above[0]).equals(INF) | abs(beneath[0]).equals(INF)
    total = where(endless, plain, total[0]), where(endless, 0.0, total[1])
    return pair_where(below, total, above)


def zeta(s: Steps, q: Steps) -> Steps:
    """The sum of (q + k)^-s over k from 0."""
    whole, below = q.equals(q.round()), ~(q > 0.0)
    inside = (s > 1.0) & (s < INF) & (abs(q) < INF) & ~(below & (whole | ~s.equals(s.round())))
    exponent = -where(inside, s, 2.0)
    half = exponent * 0.5
    total, low = _from_below(where(inside, q, 1.0), ~half.equals(half.round()), lambda w: _zeta_of(exponent, w))
    total = where(abs(total).equals(INF), total, total + low)
    pole = where(s.equals(1.0) | ((s > 1.0) & below & whole), INF, NAN)
    endless = where(q > 1.0, 0.0, where(q.equals(1.0), 1.0, where(q < 1.0, INF, NAN)))
    result = where(inside, total, where(s.equals(INF), endless, pole))
    return where((s > 1.0) & q.equals(INF), 0.0, result)


def polygamma(n: int, x: Steps) -> Steps:
    """(-1)^(n + 1) n! zeta(n + 1, x) for n > 1."""
    factor = (-1.0) ** (n + 1) * math.factorial(n)
    tiny, whole = abs(x) < 2.0**-100, (x < 0.0) & x.equals(x.round())
    inside = (abs(x) < INF) & ~tiny & ~whole
    held = where(inside, x, 1.0)
    high, low = _from_below(held, (zeros(x) + 1.0) > n % 2, lambda w: _zeta(n + 1, w))
    result = (high + low) * factor
    result = where(tiny, factor / _power(where(x.equals(0.0), 0.0, x), n + 1), where(whole, factor * INF, result))
    return where(x.equals(INF), 0.0 * factor, where(x > -INF, result, NAN))


def _polygamma(n: int, x: torch.Tensor) -> torch.Tensor:
    return elementwise(lambda steps: polygamma(n, steps))(x)


declare(zeta)
float64_ops["polygamma"] = _polygamma
