# SPDX-License-Identifier: MIT
"""Bessel's functions of order 0 and 1 of float64, in steps, as functions.py.

Near 0 by their power series, far by the asymptotic ones, both in 1 / x; between, J by the trapezoidal rule for its
integral, which is exact there but for rounding, and K and Y by the continued fraction of the logarithmic derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from repdl.interception.float64.functions import exp, log, polynomial, sqrt, table_of, zeros
from repdl.interception.float64.steps import INF, NAN, Pair, Steps, declare, where
from repdl.interception.float64.trigonometry import angle, cos, sin, sine_pair

_FAR = 25.0
_EULER = 0.5772156649015329


def _harmonic(k: int) -> Fraction:
    return sum((Fraction(1, i) for i in range(1, k + 1)), Fraction(0))


@cache
def _series(order: int, sign: int, terms: int, beside: bool = False) -> list[float]:
    """Of sum w_k (sign z)^k / (k! (k + order)!), z = x^2 / 4; w_k = 1, or that of the sum beside a logarithm."""
    factorials = [math.factorial(k) * math.factorial(k + order) for k in range(terms)]
    weights = [(_harmonic(k) + _harmonic(k + order)) / 2 if beside else Fraction(1) for k in range(terms)]
    return [float(sign**k * w / f) for k, (w, f) in enumerate(zip(weights, factorials, strict=True))]


@cache
def _asymptotic(order: int, terms: int) -> list[Fraction]:
    """a_k of the series in 1 / x: (4 n^2 - 1) (4 n^2 - 9) … / (k! 8^k)."""
    result = [Fraction(1)]
    for k in range(1, terms):
        result.append(result[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return result


def _far(order: int, sign: int) -> list[float]:
    return [float(sign**k * a) for k, a in enumerate(_asymptotic(order, 32))]


def _far_waves(order: int, odd: int) -> list[float]:
    return [float((-1) ** (k // 2) * a) for k, a in enumerate(_asymptotic(order, 26)) if k % 2 == odd]


# J by the trapezoidal rule: the mean of cos(x sin t) over _POINTS angles of a quarter, of sin(x sin t) sin t for J_1.
_POINTS = 20


@cache
def _sines() -> list[float]:
    angles = table_of([(2 * i + 1) * math.pi / (4 * _POINTS) for i in range(_POINTS)])
    return sin(Steps(angles)).tensor.tolist()


def _j_between(n: int, x: Steps) -> Steps:
    """For 0 <= x < 25."""
    total = zeros(x)
    for s in _sines():
        total = total + (sin(x * s) * s if n else cos(x * s))
    return total * (1 / _POINTS)


def _whole(pair: Pair) -> Steps:
    return pair[0] + pair[1]


def _waves(n: int, x: Steps) -> tuple[Steps, Steps]:
    """J and Y for x >= 25: sqrt(2 / (pi x)) times P cos - Q sin and P sin + Q cos of x - (2 n + 1) pi / 4."""
    k, r = angle(x)
    sine, cosine = _whole(sine_pair(k, r)), _whole(sine_pair(k + 16, r))
    over = 1.0 / x
    square = over * over
    p, q = polynomial(square, *_far_waves(n, 0)), over * polynomial(square, *_far_waves(n, 1))
    up, across = (sine - cosine, sine + cosine) if n == 0 else (-(sine + cosine), sine - cosine)
    size = sqrt(over * (1 / math.pi))
    return (p * across - q * up) * size, (p * up + q * across) * size


def _j_of(n: int, size: Steps) -> Steps:
    small, near = size < 1.0, size < _FAR
    x = where(small, size, 0.0)
    low = polynomial(x * x * 0.25, *_series(n, -1, 12))
    between = _j_between(n, where(near, size, 1.0))
    far = _waves(n, where(near | ~(size < INF), _FAR, size))[0]
    return where(small, low * (x * 0.5) if n else low, where(near, between, where(size.equals(INF), 0.0, far)))


def _j(n: int) -> Callable[[Steps], Steps]:
    def function(x: Steps) -> Steps:
        size = abs(x)
        result = _j_of(n, where(size.equals(size), size, 0.0))
        if n:
            return where(x > 0.0, result, where(x < 0.0, -result, x))  # zeros keep their sign
        return where(x.equals(x), result, x)

    return function


def _derivative(x: Steps) -> tuple[Steps, Steps]:
    """p + i q = H_0'(x) / H_0(x), H = J + i Y, for x >= 2, by Steed's continued fraction.

    p + i q = -1 / (2 x) + i + (i / x) (a_1 / (b_1 + a_2 / (b_2 + …))), a_k = (k - 1/2)^2, b_k = 2 (x + i k); from its
    end.
    """
    real, imaginary = zeros(x), zeros(x)
    for k in range(_DEPTH, 0, -1):
        real, imaginary = x * 2.0 + real, imaginary + 2.0 * k
        size = real * real + imaginary * imaginary
        scale = (k - 0.5) ** 2 / size
        real, imaginary = real * scale, -(imaginary * scale)
    return -0.5 / x - imaginary / x, 1.0 + real / x


_DEPTH = 120


def _y(n: int) -> Callable[[Steps], Steps]:
    def function(x: Steps) -> Steps:
        small, near = x < 2.0, x < _FAR
        held = where((x > 0.0) & small, x, 1.0)
        z = held * held * 0.25
        logs = log(held * 0.5) + _EULER
        j = polynomial(z, *_series(n, -1, 16))
        low = (logs * j - polynomial(z, *_series(n, -1, 16, True))) * (2 / math.pi)
        if n:
            low = low * held * 0.5 - (2 / math.pi) / held
        y = where(near & ~small, x, 2.0)
        p, q = _derivative(y)
        j_0, j_1 = _j_between(0, y), _j_between(1, y)
        between = (p * j_0 + j_1) / q
        if n:
            between = -(p * between + q * j_0)
        far = _waves(n, where(near | ~(x < INF), _FAR, x))[1]
        result = where(small, low, where(near, between, where(x.equals(INF), 0.0, far)))
        return where(x > 0.0, result, where(x.equals(0.0), -INF, where(x < 0.0, NAN, x)))

    return function


def _scaled_k(x: Steps) -> tuple[Steps, Steps]:
    """exp(x) K_0(x) and exp(x) K_1(x) for x >= 2, by Temme's sums beside Steed's continued fraction."""
    b = (x + 1.0) * 2.0
    d = 1.0 / b
    h = delta = d
    q_1, q_2 = zeros(x), 1.0 + zeros(x)
    c = q = 0.25 + zeros(x)
    a = -0.25
    total = 1.0 + q * delta
    for i in range(2, _DEPTH):
        a -= 2 * (i - 1)
        c = c * (-a / i)
        q_new = (q_1 - b * q_2) / a
        q_1, q_2 = q_2, q_new
        q = q + c * q_new
        b = b + 2.0
        d = 1.0 / (b + d * a)
        delta = (b * d - 1.0) * delta
        h = h + delta
        total = total + q * delta
    k_0 = sqrt((math.pi / 2) / x) / total
    return k_0, k_0 * (x + 0.5 - h * 0.25) / x


def _k(n: int, scaled: bool) -> Callable[[Steps], Steps]:
    def function(x: Steps) -> Steps:
        small = x < 2.0
        held = where((x > 0.0) & small, x, 1.0)
        z = held * held * 0.25
        logs = log(held * 0.5) + _EULER
        i = polynomial(z, *_series(n, 1, 24))
        low = polynomial(z, *_series(n, 1, 16, True)) - logs * i
        if n:
            low = 1.0 / held - low * held * 0.5
        y = where(small | ~(x < INF), 2.0, x)
        far = y > _FAR
        high = _scaled_k(where(far, 2.0, y))[n]
        w = where(far, y, _FAR)
        asymptotic = polynomial(1.0 / w, *_far(n, 1)) * sqrt((math.pi / 2) / w)
        high = where(far, asymptotic, high)
        if scaled:
            low = low * exp(held)
        else:
            half = exp(y * -0.5)
            high = (high * half) * half
        result = where(small, low, where(x.equals(INF), 0.0, high))
        return where(x > 0.0, result, where(x.equals(0.0), INF, where(x < 0.0, NAN, x)))

    return function


def spherical_bessel_j0(x: Steps) -> Steps:
    size = abs(x)
    inside = (size > 0.0) & (size < INF)
    quotient = sin(where(inside, x, 1.0)) / where(inside, x, 1.0)
    return where(inside, quotient, where(size.equals(INF), 0.0, where(x.equals(0.0), 1.0, x)))


declare(
    spherical_bessel_j0,
    bessel_j0=_j(0),
    bessel_j1=_j(1),
    bessel_y0=_y(0),
    bessel_y1=_y(1),
    modified_bessel_k0=_k(0, False),
    modified_bessel_k1=_k(1, False),
    scaled_modified_bessel_k0=_k(0, True),
    scaled_modified_bessel_k1=_k(1, True),
)
