# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mpmath import mp, mpf
from remez import Problem


def _series(term: Callable[[int], mpf], z: mpf, terms: int) -> mpf:
    return mp.polyval([term(k) for k in reversed(range(terms))], z)


def _sin_tail(z: mpf) -> mpf:
    """(sin(r) - r) / r^3 with z = r^2, by its series."""
    return _series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3), z, 25)


def _sinpi_tail(z: mpf) -> mpf:
    """(sin(pi f) - pi f) / f^3 with z = f^2."""
    return mp.pi**3 * _sin_tail(mp.pi**2 * z)


def _atan_tail(z: mpf) -> mpf:
    """(atan(t) - t) / t^3 with z = t^2, by its series near 0."""
    return _series(lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), z, 100)


def _asin_tail(z: mpf) -> mpf:
    """(asin(s) - s) / s^3 with z = s^2, by its series."""
    return _series(lambda k: mp.factorial(2 * k + 2) / (4 ** (k + 1) * mp.factorial(k + 1) ** 2 * (2 * k + 3)), z, 110)


def _bits_of_inverse_pi(first: int, count: int) -> mpf:
    """The bits of 1 / pi of weights 2^-first, 2^-(first + 1), … as a number."""
    with mp.workprec(400):
        above = mp.floor(mp.ldexp(1 / mp.pi, first - 1))
        rest = mp.ldexp(1 / mp.pi, first - 1 + count) - mp.ldexp(above, count)
        return mp.ldexp(mp.floor(rest), 1 - first - count)


def _inverse_pi(part: int) -> list[mpf]:
    """The part of 1 / pi that matters modulo 2 for x in [2^(16 i + 1), 2^(16 i + 17)): the entry i of 8."""
    starts = [16 * i - 22 + 28 * part for i in range(8)]  # a bit before it times x is a multiple of 2
    return [_bits_of_inverse_pi(start, 28 if part < 3 else 53) for start in starts]


def _tan_over_r(z: mpf) -> mpf:
    """tan(r) / r with z = r^2."""
    return mp.tan(mp.sqrt(z)) / mp.sqrt(z)


@cache
def _tan_denominator() -> list[mpf]:
    """q of tan(r) = (r + r^3 p(r^2)) / q(r^2) in doubles: exact at seven points, with four coefficients for p."""
    points = [mp.pi**2 / 32 * (1 - mp.cos(mp.pi * (2 * i + 1) / 14)) for i in range(7)]
    rows = [[z**j for j in range(1, 5)] + [-_tan_over_r(z) * z**j for j in range(1, 4)] for z in points]
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix([_tan_over_r(z) - 1 for z in points]))
    return [mpf(1), *(mpf(float(solution[j])) for j in range(4, 7))]


def _tan_quotient(z: mpf) -> mpf:
    return mp.polyval(_tan_denominator()[::-1], z)


_TINY = mpf(10) ** -9  # where a weight is 0 / 0 at 0
_TAN_PI_8 = mp.sqrt(2) - 1

PROBLEMS = {
    # sin(r) = r + r^3 p(r^2) for |r| <= pi / 2, relative to sin(r). p leans below it by about 2^-54: sin(9830.4) is a
    # third of 2^-54 below a midpoint, and so rounds down.
    "sin": Problem(
        lambda z: _sin_tail(z) - mp.exp(-1.5 * z) / 2**52,
        lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
        _TINY,
        mp.pi**2 / 4,
        7,
    ),
    # tan(r) = (r + r^3 p(r^2)) / q(r^2) for |r| <= pi / 4, relative to tan(r).
    "tan": Problem(
        lambda z: (_tan_over_r(z) * _tan_quotient(z) - 1) / z,
        lambda z: z / (_tan_over_r(z) * _tan_quotient(z)),
        _TINY,
        mp.pi**2 / 16,
        3,
    ),
    # sin(pi f) = pi f + f^3 p(f^2) for |f| <= 1/2, relative to sin(pi f).
    "sinpi": Problem(_sinpi_tail, lambda z: z * mp.sqrt(z) / mp.sin(mp.pi * mp.sqrt(z)), _TINY, mpf(1) / 4, 7),
    # atan(t) = t + t^3 p(t^2) for |t| <= tan(pi / 8), relative to t.
    "atan": Problem(_atan_tail, lambda z: z, mpf(0), _TAN_PI_8**2, 10),
    # asin(s) = s + s^3 p(s^2) for |s| <= 1/2, relative to s.
    "asin": Problem(_asin_tail, lambda z: z, mpf(0), mpf(1) / 4, 12),
}

TABLES = {
    "tan denominator": _tan_denominator,
    # pi in two doubles, and its inverse.
    "pi": lambda: [mpf(float(mp.pi)), mp.pi - float(mp.pi), 1 / mp.pi],
    "tan pi/8": lambda: [_TAN_PI_8, 1 / _TAN_PI_8],
    **{f"inverse pi {part}": lambda part=part: _inverse_pi(part) for part in range(4)},
}
