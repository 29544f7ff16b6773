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


_ROWS, _COLUMNS = 10, 18


@cache
def _over_gamma_star() -> list[mpf]:
    """Of 1 / gamma*(a) in 1 / a, the exponential of Stirling's series with the other sign."""
    exponents = [mpf(0)] * _ROWS
    for k in range(1, _ROWS // 2 + 1):
        exponents[2 * k - 1] = -mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    g = [mpf(1)]
    for n in range(1, _ROWS):
        g.append(mp.fsum(j * exponents[j] * g[n - j] for j in range(1, n + 1)) / n)
    return g


def _temme() -> list[mpf]:
    """Coefficients d of Temme's expansion: by k those of eta^n. DLMF 8.12.11 and 8.12.12."""
    count = _COLUMNS + 2 * _ROWS + 2
    alphas = [mpf(0), mpf(1)]  # of x / a - 1 as a series in eta
    for n in range(2, count):
        rest = mp.fsum(k * alphas[k] * alphas[n + 1 - k] for k in range(2, n))
        alphas.append((alphas[n - 1] - rest) / (n + 1))
    rows = [[mpf(-1) / 3, *((n + 2) * alphas[n + 2] for n in range(1, count - 2))]]
    for g in _over_gamma_star()[1:]:
        above = rows[-1]
        rows.append([g * rows[0][n] + (n + 2) * above[n + 2] for n in range(len(above) - 2)])
    return [d for row in rows for d in row[:_COLUMNS]]


def _lgamma_near_one() -> list[mpf]:
    """log(gamma(1 + t)) as a power series, from t on."""
    return [-mp.euler, *((-1) ** k * mp.zeta(k) / k for k in range(2, 7))]


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
    "over_gamma_star": _over_gamma_star,
    "temme": _temme,
    "lgamma_near_one": _lgamma_near_one,
    "lgamma_near_one_low": _rest(_lgamma_near_one, 1),
    "lgamma_near_one_lowest": _rest(_lgamma_near_one, 2),
    "half_log_two_pi": _half_log_two_pi,
    "half_log_two_pi_low": _rest(_half_log_two_pi, 1),
    "half_log_two_pi_lowest": _rest(_half_log_two_pi, 2),
}
