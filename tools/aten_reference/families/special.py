# SPDX-License-Identifier: MIT
"""Special functions: exact, by mpmath, rounded to float32.

What is no op of the core the library computes in float64 and rounds. That float64 is so near to the exact value
that the float32 is another one only where the exact value lies within some 10^-8 of an ulp of a tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath

from ..numbers import nearest
from ..registry import reference
from ..tensors import Tensor, each

_LOW = ("", ".bfloat16", ".float16")
DIGITS = 160

Function = Callable[[Any], Any]


def _operands(name: str) -> list[str]:
    return [
        *(f"{name}={x}{t}[{n}]#1" for t in _LOW for x, n in (("special", 203), ("normal", 203), ("ties", 67))),
        *(
            f"{name}={x}#2"
            for x in ("zeros[5, 7, 3]", "wide[99]", "positive[5, 41]", "tiny[33]", "normal[]", "normal[0, 3]")
        ),
        f"{name}=normal[2003]#7",
        f"{name}=ties.int64[67]#3",
        f"{name}=classes200.uint8[67]#3",
    ]


def exact_of(function: Callable[..., Any], *values: Any) -> float:
    # The smallest number makes ties, but for a term that is its cube.
    is_tiny = any(0 < abs(v) < 2.0**-100 for v in values)
    with mpmath.workprec(3 * DIGITS if is_tiny else DIGITS):
        return nearest(mpmath.re(function(*map(mpmath.mpf, values))), "float32")


def of_floats(function: Callable[..., float], *operands: Any) -> Tensor:
    """Of integers, float32."""
    is_float = any(isinstance(t, Tensor) and t.is_float for t in operands)
    return each(lambda *xs: function(*map(float, xs)), *operands, dtype=None if is_float else "float32")


_OF_X = ("_airy_", "_scaled_", "_spherical_")
"""In the names of functions whose operand torch calls x."""


def _declare(*names: str, function: Callable[[float], float], cases: list[str] | None = None) -> None:
    for name in names:

        @reference(name, cases=cases or _operands("x" if any(part in name for part in _OF_X) else "self"))
        def run(**operand: Tensor) -> Tensor:
            (x,) = operand.values()
            return of_floats(lambda v: v if v != v else function(v), x)


# The gamma function.


def lgamma(x: float) -> float:
    """Of the absolute value; +inf where there is a pole."""
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return exact_of(lambda v: mpmath.log(abs(mpmath.gamma(v))) if abs(v) < 1000 else mpmath.loggamma(v), x)


def digamma(x: float) -> float:
    """Of zeros an infinity of the other sign; NaN at the other poles."""
    if x == 0:
        return math.copysign(math.inf, -x)
    if x == math.inf:
        return x
    return math.nan if x == -math.inf or (x < 0 and x == math.floor(x)) else exact_of(mpmath.digamma, x)


def trigamma_and_higher(n: int, x: float) -> float:
    """(-1)^(n + 1) n! zeta(n + 1, x), infinite at the poles."""
    sign = (-1.0) ** (n + 1)
    if x == math.inf:
        return 0.0 * sign
    if x == -math.inf:
        return math.nan
    if x <= 0 and x == math.floor(x):
        return sign * math.inf
    return exact_of(lambda v: mpmath.polygamma(n, v), x)


_declare("lgamma", function=lgamma)
_declare("digamma", function=digamma)


@reference(
    "polygamma", cases=[f"n={n}, {c}" for c in _operands("self") for n in (0, 1, 2, 5) if n < 2 or "2003" not in c]
)
def polygamma(n: int, self: Tensor) -> Tensor:
    def one(x: float) -> float:
        return x if x != x else digamma(x) if n == 0 else trigamma_and_higher(n, x)

    return of_floats(one, self)


@reference(
    "polygamma_", cases=[f"self=positive{t}[33]#1, n={n}" for t in ("", ".bfloat16", ".float16") for n in (0, 1, 2)]
)
def polygamma_in_place(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)


# Bessel's functions.


def _even(function: Function, at_infinity: float, most: float = math.inf) -> Callable[[float], float]:
    """An even function, infinite above `most`."""

    def one(x: float) -> float:
        size = abs(x)
        return at_infinity if size == math.inf else math.inf if size > most else exact_of(function, size)

    return one


def _odd(function: Function, at_infinity: float, most: float = math.inf) -> Callable[[float], float]:
    even = _even(function, at_infinity, most)
    return lambda x: x if x == 0 else math.copysign(1.0, x) * even(x)


def _positive(function: Function, at_zero: float) -> Callable[[float], float]:
    """A function of positive numbers, with a pole at 0."""

    def one(x: float) -> float:
        if x <= 0:
            return at_zero if x == 0 else math.nan
        return 0.0 if x == math.inf else exact_of(function, x)

    return one


def _without_sign_of_zero(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(x) + 0.0 if x == 0 else function(x)


_i0 = _even(lambda v: mpmath.besseli(0, v), math.inf, 1000)
_i1 = _without_sign_of_zero(_odd(lambda v: mpmath.besseli(1, v), math.inf, 1000))
_declare("i0", "special_modified_bessel_i0", function=_i0)
_declare("special_i1", "special_modified_bessel_i1", function=_i1)


def _scaled_i(order: int) -> Function:
    """exp(-v) I(v); of large v the first terms of its series in 1 / v."""
    a = 4 * order * order

    def scaled(v: Any) -> Any:
        if v < 10**6:
            return mpmath.besseli(order, v) * mpmath.exp(-v)
        w = 8 * v
        series = 1 - (a - 1) / w + (a - 1) * (a - 9) / (2 * w**2) - (a - 1) * (a - 9) * (a - 25) / (6 * w**3)
        return series / mpmath.sqrt(2 * mpmath.pi * v)

    return scaled


_declare("special_i0e", function=_even(_scaled_i(0), 0.0))
_declare("special_i1e", function=_without_sign_of_zero(_odd(_scaled_i(1), 0.0)))
_declare("special_bessel_j0", function=_even(lambda v: mpmath.besselj(0, v), 0.0))
_declare("special_bessel_j1", function=_odd(lambda v: mpmath.besselj(1, v), 0.0))
_declare("special_bessel_y0", function=_positive(lambda v: mpmath.bessely(0, v), -math.inf))
_declare("special_bessel_y1", function=_positive(lambda v: mpmath.bessely(1, v), -math.inf))


def _airy(x: float) -> float:
    """By the asymptotic series for large numbers, with as many bits as the wave's angle has before its point."""
    if math.isinf(x):
        return 0.0
    if x > -1000:
        return 0.0 if x > 1000 else exact_of(mpmath.airyai, x)

    def wave(v: Any) -> Any:
        with mpmath.extraprec(200):
            root = mpmath.sqrt(-v)
            zeta = -2 * v * root / 3
            total = term = mpmath.mpc(1)
            for k in range(1, 40):
                term *= 1j * (mpmath.mpf(4) / 9 - (2 * k - 1) ** 2) / (8 * k * zeta)
                total += term
            return mpmath.re(total * mpmath.expj(zeta - mpmath.pi / 4)) / mpmath.sqrt(mpmath.pi * root)

    return exact_of(wave, x)


_declare("special_airy_ai", function=_airy)


def _k(order: int, is_scaled: bool) -> Function:
    a = 4 * order * order

    def scaled(v: Any) -> Any:
        if v < 10**6:
            return mpmath.besselk(order, v) * (mpmath.exp(v) if is_scaled else 1)
        if not is_scaled:
            return mpmath.mpf(0)
        w = 8 * v
        series = 1 + (a - 1) / w + (a - 1) * (a - 9) / (2 * w**2) + (a - 1) * (a - 9) * (a - 25) / (6 * w**3)
        return series * mpmath.sqrt(mpmath.pi / (2 * v))

    return scaled


for _order in (0, 1):
    _declare(f"special_modified_bessel_k{_order}", function=_positive(_k(_order, False), math.inf))
    _declare(f"special_scaled_modified_bessel_k{_order}", function=_positive(_k(_order, True), math.inf))

_declare("special_spherical_bessel_j0", function=_even(lambda v: mpmath.sin(v) / v if v else mpmath.mpf(1), 0.0))


# The error function.


def _erfcx(x: float) -> float:
    if math.isinf(x) or x < -20:
        return 0.0 if x > 0 else math.inf
    if x > 1e6:
        return exact_of(lambda v: (1 - 1 / (2 * v**2)) / (v * mpmath.sqrt(mpmath.pi)), x)
    return exact_of(lambda v: mpmath.exp(v * v) * mpmath.erfc(v), x)


def _log_ndtr(x: float) -> float:
    if math.isinf(x):
        return -0.0 if x > 0 else x
    if x < -1e5:
        return exact_of(lambda v: -v * v / 2 - mpmath.log(-v) - mpmath.log(2 * mpmath.pi) / 2, x)
    if x > 20:
        return -0.0
    if x > 0:
        return exact_of(lambda v: mpmath.log1p(-mpmath.erfc(v / mpmath.sqrt(2)) / 2), x)
    return exact_of(lambda v: mpmath.log(mpmath.erfc(-v / mpmath.sqrt(2)) / 2), x)


def _ndtri(p: float) -> float:
    """By Newton's steps, on the logarithm of the smaller tail."""
    if not 0 < p < 1:
        return -math.inf if p == 0 else math.inf if p == 1 else math.nan
    if p == 0.5:
        return 0.0

    def exact(v: Any) -> Any:
        tail = min(v, 1 - v)
        z = mpmath.sqrt(-2 * mpmath.log(tail)) if tail < 0.3 else mpmath.mpf(0)
        for _ in range(60):
            value = mpmath.erfc(z / mpmath.sqrt(2)) / 2
            step = (mpmath.log(value) - mpmath.log(tail)) * value / mpmath.npdf(z)
            z += step
            if abs(step) < mpmath.mpf(2) ** -140:
                break
        return z if v > 0.5 else -z

    return exact_of(exact, p)


_declare("special_erfcx", function=_erfcx)
_declare("special_log_ndtr", function=_log_ndtr)
_declare("special_ndtri", function=_ndtri, cases=[*_operands("self"), *(f"self=unit{t}[203]#4" for t in _LOW)])
