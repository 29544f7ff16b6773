# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mpmath import mp, mpf
from remez import Function, Problem, interpolated, remez


@cache
def _erf_over_x(v: mpf) -> mpf:
    """erf(x) / x for x^2 = v + 8."""
    x = mp.sqrt(max(v + 8, mpf(0)))
    return mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi)


def _tail(t: mpf) -> mpf:
    """Phi(-t)."""
    return mp.erfc(t / mp.sqrt(2)) / 2


def _scaled_tail(t: mpf) -> mpf:
    return mp.exp(t * t / 2) * _tail(t)


def _scaled_derivative(t: mpf) -> mpf:
    """e^(t^2 / 2) gelu'(-t)."""
    return _scaled_tail(t) - t / mp.sqrt(2 * mp.pi)


@cache
def _erf_of_half(s: mpf) -> mpf:
    """(Phi(x) - 1/2) / x for x^2 = s."""
    x = mp.sqrt(max(s, mpf(0)))
    return mp.erf(x / mp.sqrt(2)) / (2 * x) if x > 1e-25 else 1 / mp.sqrt(2 * mp.pi)


@cache
def _derivative_of_half(s: mpf) -> mpf:
    """(gelu'(x) - 1/2) / x for x^2 = s."""
    return _erf_of_half(s) + mp.exp(-s / 2) / mp.sqrt(2 * mp.pi)


def _near_zero(of_half: Function, least: mpf, degree: int) -> Problem:
    """`of_half` in x^2 - 6 for |x| <= 3.5. The error is that of 1/2 - |x| of_half, relative to it, or to `least`."""

    def weight(v: mpf) -> mpf:
        t = mp.sqrt(max(v + 6, mpf(0)))
        return t / max(abs(mpf(1) / 2 - t * of_half(v + 6)), least)

    return Problem(lambda v: of_half(v + 6), weight, mpf(-6), mpf("6.25"), degree)


_ZERO = mp.findroot(_scaled_derivative, mpf("0.75"))
_ZERO_HIGH = mp.nint(_ZERO * 2**24) / 2**24


def _rational(f: Callable[[mpf], mpf], above: int, below: int) -> list[mpf]:
    """p and q with p(t) / q(t) = f(t) at as many points of [0, 14.5] as there are coefficients; p first.

    The points are Chebyshev's in (t - 3) / (t + 3): the error is smallest near 0, where most floats are.
    """
    n = above + below + 1
    last = (mpf("14.5") - 3) / (mpf("14.5") + 3)
    places = [(last - 1) / 2 + (last + 1) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    points = [3 * (1 + u) / (1 - u) for u in places]
    rows = [[t**j for j in range(above + 1)] + [-f(t) * t**j for j in range(1, below + 1)] for t in points]
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix([f(t) for t in points]))
    p, q = [solution[j] for j in range(above + 1)], [mpf(1), *(solution[j] for j in range(above + 1, n))]
    return p + q


# gelu with tanh: x sigmoid(a x + b x^3).
_A = 2 * mp.sqrt(2 / mp.pi)
_B = _A * mpf("0.044715")


@cache
def _tanh_derivative(t: mpf) -> mpf:
    """gelu_tanh'(-t)."""
    sigmoid = 1 / (1 + mp.exp(_A * t + _B * t**3))
    return sigmoid * (1 - (_A * t + 3 * _B * t**3) * (1 - sigmoid))


_TANH_ZERO = mp.findroot(_tanh_derivative, mpf("0.75"))
_TANH_ZERO_HIGH = mp.nint(_TANH_ZERO * 2**24) / 2**24


@cache
def _tanh_slope(s: mpf) -> mpf:
    """gelu_tanh'(s - zero) / s."""
    return _tanh_derivative(_TANH_ZERO - s) / s if abs(s) > 1e-20 else -mp.diff(_tanh_derivative, _TANH_ZERO)


@cache
def erfinv_over_x(w: mpf) -> mpf:
    """erfinv(x) / x for w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x if w > 1e-30 else mp.sqrt(mp.pi) / 2


@cache
def _erfcx_far(square: mpf) -> mpf:
    """sqrt(pi) x exp(x^2) erfc(x) for square = 1 / x^2; for a small one by its asymptotic series."""
    if square > mpf(1) / 400:
        x = 1 / mp.sqrt(square)
        return mp.sqrt(mp.pi) * x * mp.exp(x * x) * mp.erfc(x)
    total = term = mpf(1)
    for k in range(1, 120):
        term *= -(2 * k - 1) * square / 2
        total += term
    return total


def _erfcx_problem(low: mpf, high: mpf) -> Problem:
    middle = (low + high) / 2
    return Problem(lambda h: _erfcx_far(middle + h), lambda h: mpf(1), low - middle, high - middle, 17)


@cache
def _erfcx(piece: int) -> list[mpf]:
    return remez(PROBLEMS[f"erfcx_far_{piece}"])[0]


@cache
def _tail_quantile(s: mpf) -> mpf:
    """x with log(Phi(-x)) = -s^2 / 2."""
    x = s
    for _ in range(12):
        tail = mp.ncdf(-x)
        x += (mp.log(tail) + s * s / 2) * tail / mp.npdf(x)
    return x


_ERFINV_SPLIT = mpf("4.5")

_ERF_LIMIT = mpf("3.935")

PROBLEMS = {
    # erf(x) / x in x^2 - 8. The error may be larger for large x: they are few.
    "erf": Problem(_erf_over_x, lambda v: 2 ** (-v / 4) / _erf_over_x(v), mpf(-8), _ERF_LIMIT**2 - 8, 26),
    "gelu_near_zero": _near_zero(_erf_of_half, mpf(0), 16),
    "gelu_derivative_near_zero": _near_zero(_derivative_of_half, mpf(2) ** -9, 17),
    # gelu_tanh'(x) / (x + zero) in x + zero, about its zero.
    "gelu_tanh_derivative": Problem(_tanh_slope, lambda s: 1 / _tanh_slope(s), mpf(-1) / 16, mpf(1) / 16, 8),
    # erfinv(x) / x in log(1 - x^2); most floats have a small one.
    "erfinv": Problem(
        lambda v: erfinv_over_x(-v), lambda v: 2 ** (mpf(3) / 2 * v) / erfinv_over_x(-v), -_ERFINV_SPLIT, mpf(0), 18
    ),
    # The same beyond, in sqrt(-log(1 - x^2)) - 3.
    "erfinv_tail": Problem(
        lambda s: erfinv_over_x((s + 3) ** 2),
        lambda s: 1 / erfinv_over_x((s + 3) ** 2),
        mp.sqrt(_ERFINV_SPLIT) - 3,
        mpf(1),
        18,
    ),
    "erfcx_far_0": _erfcx_problem(mpf(1) / 128, mpf(29) / 1024),
    "erfcx_far_1": _erfcx_problem(mpf(0), mpf(1) / 128),
}

TABLES = {
    # e^(t^2 / 2) Phi(-t) = p / q, t from 0 to 14.5.
    "normal_tail": lambda: _rational(_scaled_tail, 8, 9),
    "normal_tail_to_float": lambda: _rational(_scaled_tail, 6, 7),
    # t^2 by this is the 16ths of a power of two in e^(-t^2 / 2).
    "gelu_density": lambda: [-8 / mp.log(2)],
    # e^(t^2 / 2) gelu'(-t) = (zero - t) p / q, and the zero in two parts.
    "gelu_derivative": lambda: _rational(lambda t: _scaled_derivative(t) / (_ZERO - t), 8, 8),
    "gelu_derivative_zero": lambda: [_ZERO_HIGH, _ZERO - _ZERO_HIGH],
    "gelu_tanh": lambda: [_A, _B, 3 * _B],
    "gelu_tanh_derivative_zero": lambda: [_TANH_ZERO_HIGH, _TANH_ZERO - _TANH_ZERO_HIGH],
    # For tails from 2^-24 to 0.
    "ndtri_guess_0": lambda: interpolated(_tail_quantile, (mpf("5.5"), mpf("14.5")), 16),
    "ndtri_guess_1": lambda: interpolated(_tail_quantile, (mpf("14.5"), mpf("38.5") + mpf("0.5")), 16),
    "erfcx_far_0_low": lambda: [c - mpf(float(c)) for c in _erfcx(0)[:4]],
    "erfcx_far_1_low": lambda: [c - mpf(float(c)) for c in _erfcx(1)[:4]],
}
