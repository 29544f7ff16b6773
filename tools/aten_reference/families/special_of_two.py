# SPDX-License-Identifier: MIT
"""Special functions of two numbers, as those of one in special.py."""

from __future__ import annotations

import math
from typing import Any

import mpmath

from ..numbers import nearest
from ..registry import reference
from ..tensors import Tensor, each
from .special import DIGITS, exact_of, of_floats

_LOW = ("", ".bfloat16", ".float16")


def _zeta(s: float, q: float) -> float:
    """The sum of (q + k)^-s. At s = 1 it is infinite, also for NaN, as torch has it."""
    if s == 1:
        return math.inf
    if not s > 1 or q != q:
        return math.nan
    if q == math.inf:
        return 0.0
    if s == math.inf:
        return 0.0 if q > 1 else 1.0 if q == 1 else math.inf
    if q == -math.inf or (q <= 0 and q == math.floor(q)):
        return math.inf
    if q < 0 and s != math.floor(s):
        return math.nan
    return exact_of(_hurwitz, s, q)


def _to_minus(q: Any, s: Any) -> Any:
    """q^-s."""
    with mpmath.workprec(DIGITS + 160):
        return mpmath.exp(-s * mpmath.log(q))


def _hurwitz(s: Any, q: Any) -> Any:
    """Terms as long as they count, or some and Euler's and Maclaurin's formula for the others."""
    if q < 0:
        # The terms below 0 are those in which two endless sums of (k + .)^-s differ, but for the sign of odd powers.
        # The first of them cancel where q is half an integer.
        above = q + mpmath.ceil(-q)
        sign = -1 if s % 2 == 1 else 1
        near = 0 if sign < 0 and above == 1 - above else _hurwitz(s, above) + sign * _hurwitz(s, 1 - above)
        return near - sign * _hurwitz(s, 1 - q)
    total = mpmath.mpf(0)
    last = s + 60
    if s > 1000 and s > q:
        last = mpmath.inf
    while q < last:
        term = _to_minus(q, s)
        total, q = total + term, q + 1
        if term < total * mpmath.mpf(2) ** -150:
            return total
    total += q ** (1 - s) / (s - 1) + q**-s / 2
    rising = s * q ** (-s - 1)
    for k in range(1, 41):
        total += mpmath.bernoulli(2 * k) / mpmath.factorial(2 * k) * rising
        rising *= (s + 2 * k - 1) * (s + 2 * k) / q**2
    return total


_PAIRS = [
    f"self={x}{t}[{n}]#1, other={y}{t}[{n}]#2"
    for t in _LOW
    for x, y, n in (
        ("special", "special", 203),
        ("positive", "normal", 99),
        ("rising", "positive", 99),
        ("classes30.float32" if not t else "ties", "normal", 99),
    )
] + [
    "self=ties[9, 1]#1, other=normal[7]#2",
    "self=ties.int64[99]#1, other=ties.int64[99]#2",
    "self=normal[0]#1, other=normal[]#2",
]


@reference("special_zeta", cases=_PAIRS)
def zeta(self: Tensor, other: Tensor) -> Tensor:
    return of_floats(_zeta, self, other)


@reference(
    "special_zeta.other_scalar",
    cases=[f"self={x}[99]#1, other={q}" for x in ("rising", "special") for q in (0.3, -2.5, 1)],
)
@reference(
    "special_zeta.self_scalar", cases=[f"self={s}, other={x}[99]#1" for x in ("normal", "special") for s in (2.5, 3, 1)]
)
def zeta_of_number(self: Any, other: Any) -> Tensor:
    return each(_zeta, self, other)


def _gamma_share(a: float, x: float, is_upper: bool) -> float:
    """P(a, x), or Q = 1 - P."""
    if not (a >= 0 and x >= 0) or (a == 0 and x == 0) or (a == math.inf and x == math.inf):
        return math.nan
    if x == 0 or a == math.inf:
        return 1.0 if is_upper else 0.0
    if a == 0 or x == math.inf:
        return 0.0 if is_upper else 1.0
    if max(a, x) > 1e30:
        raise ValueError("too large for the exact way")

    def exact(a: Any, x: Any) -> Any:
        if is_upper:
            return mpmath.gammainc(a, x, mpmath.inf, regularized=True)
        return mpmath.gammainc(a, 0, x, regularized=True)

    return exact_of(exact, a, x)


_GAMMA_PAIRS = [
    f"self={x}{t}[{n}]#1, other={y}{t}[{n}]#2"
    for t in _LOW
    for x, y, n in (
        ("positive", "positive", 99),
        ("rising", "positive", 66),
        ("positive", "rising", 66),
        ("zeros", "zeros", 99),
        ("ties", "ties", 99),
    )
] + [
    "self=classes200.float32[99]#1, other=classes200.float32[99]#2",
    "self=classes2000.float32[66]#1, other=classes2000.float32[66]#2",
    "self=classes9[40]#1, other=classes9[40]#2",
    "self=positive[9, 1]#1, other=positive[7]#2",
]


@reference("igamma", cases=_GAMMA_PAIRS)
def igamma(self: Tensor, other: Tensor) -> Tensor:
    return of_floats(lambda a, x: _gamma_share(a, x, False), self, other)


@reference("igammac", cases=_GAMMA_PAIRS)
def igammac(self: Tensor, other: Tensor) -> Tensor:
    return of_floats(lambda a, x: _gamma_share(a, x, True), self, other)


@reference(
    "mvlgamma",
    cases=[f"self={x}{t}[5, 41]#1, p={p}" for t in _LOW for x in ("positive", "ties", "special") for p in (1, 2, 5)]
    + ["self=normal[0]#1, p=3", "self=classes200.float32[99]#1, p=7", "self=positive[]#1, p=1"],
)
def mvlgamma(self: Tensor, p: int) -> Tensor:
    """log(pi) p (p - 1) / 4 + the sum of log |gamma(x - j / 2)|, infinite at each pole."""

    def one(x: float) -> float:
        places = [x - j / 2 for j in range(p)]
        if math.isnan(x):
            return x
        if math.isinf(x) or any(place <= 0 and place == math.floor(place) for place in places):
            return math.inf
        with mpmath.workprec(DIGITS):
            logs = (mpmath.loggamma(place).real for place in places)
            return nearest(mpmath.log(mpmath.pi) * p * (p - 1) / 4 + mpmath.fsum(logs), "float32")

    return of_floats(one, self)
