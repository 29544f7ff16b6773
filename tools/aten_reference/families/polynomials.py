# SPDX-License-Identifier: MIT
"""Orthogonal polynomials: recurrences in binary64, or cosines of high degrees, rounded once to float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath

from ..numbers import float32
from ..registry import reference
from ..tensors import Tensor
from .special import of_floats

Step = Callable[[int, float, float, float], float]
"""The value of degree k + 1 from k, x and the values of degrees k and k - 1."""
Value = Callable[[float, float], float]
"""Of a degree and x."""

_HIGHEST, _STEPS = 2.0**40, 2.0**17


def _exactly(function: Callable[[Any], Any], x: float) -> float:
    """Rounded to binary64."""
    with mpmath.workprec(160):
        return float(function(mpmath.mpf(x)))


def _cos(x: float) -> float:
    return _exactly(mpmath.cos, x)


def _sin(x: float) -> float:
    return _exactly(mpmath.sin, x)


def _climbed(degree: float, x: float, first: float, step: Step) -> float:
    before, now = 1.0, first
    if degree == 0:
        return before
    if degree > _STEPS:
        return math.nan
    for k in range(1, int(degree)):
        before, now = now, step(k, x, now, before)
        if now != now:
            break
    return now


def _degree(n: float) -> float:
    """What of n is left of its fraction, from -1 to 2^40."""
    return math.trunc(min(max(n, -1.0), _HIGHEST))


_WHOLE = [
    f"x={x}{t}[{n}]#1, n={y}{t}[{n}]#2"
    for t in ("", ".bfloat16", ".float16")
    for x, y, n in (
        ("normal", "rising", 66),
        ("unit", "rising", 66),
        ("uniform", "ties", 99),
        ("ties", "ties", 203),
        ("special", "ties", 203),
    )
] + [
    "x=uniform[99]#1, n=classes100.float32[99]#2",
    "x=zeros[9, 1]#1, n=classes50[7]#2",
    "x=uniform[1009]#1, n=classes20.float32[1009]#2",
    "x=normal[0]#1, n=normal[]#2",
]


def _declare(
    name: str, first: Value, step: Step, end: Value | None = None, closed: Value | None = None, limit: int = 0
) -> None:
    """`end` gives the value at an end of the interval, `closed` that of degrees above a limit; else NaN."""

    def one(x: float, n: float) -> float:
        if n != n:
            return n
        degree = _degree(n)
        if degree < 0:
            return 0.0
        found = end(degree, x) if end is not None else math.nan
        if found != found and closed is not None and degree > limit:
            found = closed(degree, x)
        return float32(_climbed(degree, x, first(degree, x), step) if found != found else found)

    @reference(f"special_{name}", cases=[*_WHOLE, "x=normal[99]#1, n=special[99]#2"])
    def of_both(x: Tensor, n: Tensor) -> Tensor:
        return of_floats(one, x, n)

    @reference(f"special_{name}.x_scalar", cases=[f"x={x}, n=ties[99]#2" for x in (0.3, -0.7, 1.5)])
    def of_degrees(x: float, n: Tensor) -> Tensor:
        return of_floats(lambda degree: one(float32(x), degree), n)

    @reference(f"special_{name}.n_scalar", cases=[f"x=normal[99]#1, n={n}" for n in (0, 3, 4.7, 20)])
    def of_places(x: Tensor, n: float) -> Tensor:
        return of_floats(lambda place: one(place, float32(n)), x)


def _at_ends(right: Callable[[float], float], left: Callable[[float], float], lower: float) -> Value:
    """At 1 the value of the one; at the lower end that of the other, its sign by the degree."""

    def end(n: float, x: float) -> float:
        if x == 1:
            return right(n)
        return math.nan if x != lower else -left(n) if n % 2 == 1 else left(n)

    return end


def _by_angle(value: Value) -> Value:
    """Of the angle whose cosine is x, inside of (-1, 1)."""
    return lambda n, x: value(n, _exactly(mpmath.acos, x)) if abs(x) < 1 else math.nan


def _one(n: float) -> float:
    return 1.0


_CHEBYSHEV: dict[str, tuple[Callable[[float], float], Any, Any, Value, int]] = {
    "t": (lambda x: x, _one, _one, lambda n, a: _cos(n * a), 6),
    "u": (lambda x: x + x, lambda n: n + 1, lambda n: n + 1, lambda n, a: _sin((n + 1) * a) / _sin(a), 8),
    "v": (lambda x: x + x - 1, _one, lambda n: n + n + 1, lambda n, a: _cos((n + 0.5) * a) / _cos(a * 0.5), 8),
    "w": (lambda x: x + x + 1, lambda n: n + n + 1, _one, lambda n, a: _sin((n + 0.5) * a) / _sin(a * 0.5), 8),
}
"""The value of degree 1, those at 1 and at -1, of the angle, and the degree above which that is used."""


def _chebyshev(kind: str) -> None:
    first, right, left, of_angle, limit = _CHEBYSHEV[kind]
    closed = _by_angle(of_angle)
    _declare(
        f"chebyshev_polynomial_{kind}",
        lambda n, x: first(x),
        lambda k, x, now, before: (x + x) * now - before,
        _at_ends(right, left, -1.0),
        closed,
        limit,
    )
    _declare(
        f"shifted_chebyshev_polynomial_{kind}",
        lambda n, x: first(x + x - 1),
        lambda k, x, now, before: ((x + x - 1) + (x + x - 1)) * now - before,
        _at_ends(right, left, 0.0),
        lambda n, x: closed(n, x + x - 1),
        6,
    )


for _kind in _CHEBYSHEV:
    _chebyshev(_kind)

_declare("hermite_polynomial_h", lambda n, x: x + x, lambda k, x, now, before: (x + x) * now - (k + k) * before)
_declare("hermite_polynomial_he", lambda n, x: x, lambda k, x, now, before: x * now - k * before)
_declare(
    "laguerre_polynomial_l",
    lambda n, x: 1 - x,
    lambda k, x, now, before: (((k + k) + (1 - x)) * now - k * before) / (k + 1),
    lambda n, x: 1.0 if x == 0 else math.nan,
)
_declare(
    "legendre_polynomial_p",
    lambda n, x: x,
    lambda k, x, now, before: ((k + k + 1) * x * now - k * before) / (k + 1),
    _at_ends(_one, _one, -1.0),
)
