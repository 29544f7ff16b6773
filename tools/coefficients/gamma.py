# SPDX-License-Identifier: MIT
"""Of the logarithm of the gamma function and its derivatives, of doubles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mpmath import mp, mpf
from remez import Problem, remez

_HALF = mpf(1) / 2


def _log_gamma_slope(t: mpf) -> mpf:
    """log(gamma(2 + t)) / t."""
    if abs(t) > mpf(2) ** -40:
        return mp.loggamma(2 + t) / t
    return mp.psi(0, 2) + t * mp.psi(1, 2) / 2


def _digamma(t: mpf) -> mpf:
    return mp.psi(0, mpf(5) / 2 + t)


def _trigamma(t: mpf) -> mpf:
    return mp.psi(1, mpf(5) / 2 + t)


PROBLEMS = {
    "lgamma_near_two": Problem(_log_gamma_slope, lambda t: mpf(1), -_HALF, _HALF, 23),
    "digamma_from_two": Problem(_digamma, lambda t: mpf(1), -_HALF, _HALF, 22),
    "trigamma_from_two": Problem(_trigamma, lambda t: mpf(1), -_HALF, _HALF, 24),
}


@cache
def _polynomial(name: str) -> list[mpf]:
    return remez(PROBLEMS[name])[0]


def _stirling() -> list[mpf]:
    """B(2 k) / (2 k (2 k - 1))."""
    return [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 33)]


def _stirling_slopes() -> list[mpf]:
    """B(2 k) / (2 k)."""
    return [mp.bernoulli(2 * k) / (2 * k) for k in range(1, 12)]


def _bernoulli() -> list[mpf]:
    return [mp.bernoulli(2 * k) for k in range(1, 13)]


def _euler_maclaurin() -> list[mpf]:
    """B(2 k) / (2 k)!"""
    return [mp.bernoulli(2 * k) / mp.factorial(2 * k) for k in range(1, 23)]


def _rest(values: Callable[[], list[mpf]], part: int, count: int | None = None) -> Callable[[], list[mpf]]:
    """What the first doubles leave of the first numbers."""

    def rest() -> list[mpf]:
        found = values()[:count]
        for _ in range(part):
            found = [v - mpf(float(v)) for v in found]
        return found

    return rest


def _half_log_two_pi() -> list[mpf]:
    return [mp.log(2 * mp.pi) / 2]


TABLES = {
    "lgamma_near_two_low": _rest(lambda: _polynomial("lgamma_near_two"), 1, 7),
    "digamma_from_two_low": _rest(lambda: _polynomial("digamma_from_two"), 1, 7),
    "trigamma_from_two_low": _rest(lambda: _polynomial("trigamma_from_two"), 1, 8),
    "stirling": _stirling,
    "stirling_low": _rest(_stirling, 1),
    "stirling_lowest": _rest(_stirling, 2),
    "stirling_slopes": _stirling_slopes,
    "stirling_slopes_low": _rest(_stirling_slopes, 1, 1),
    "stirling_curves": _bernoulli,
    "stirling_curves_low": _rest(_bernoulli, 1, 1),
    "euler_maclaurin": _euler_maclaurin,
    "euler_maclaurin_low": _rest(_euler_maclaurin, 1),
    "euler_maclaurin_lowest": _rest(_euler_maclaurin, 2),
    "half_log_two_pi": _half_log_two_pi,
    "half_log_two_pi_low": _rest(_half_log_two_pi, 1),
    "half_log_two_pi_lowest": _rest(_half_log_two_pi, 2),
}
