# SPDX-License-Identifier: MIT
"""Of functions of float64, made of steps: python/repdl/interception/float64/constants.py."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

from mpmath import mp, mpf
from remez import Problem, remez

_LN2 = mp.log(2)


def _in_two(values: list[mpf]) -> list[mpf]:
    """Each number as a double and the rest of it; first all doubles."""
    high = [mpf(float(v)) for v in values]
    return high + [v - h for v, h in zip(values, high, strict=True)]


def _in_parts(value: mpf, *digits: int) -> list[mpf]:
    """Parts of so many binary digits, and what is left."""
    parts = []
    for count in digits:
        parts.append(mp.ldexp(mp.floor(mp.ldexp(value, count - mp.frexp(value)[1])), mp.frexp(value)[1] - count))
        value -= parts[-1]
    return [*parts, value]


def _exp2_table() -> list[mpf]:
    return _in_two([mp.power(2, mpf(j) / 16) for j in range(16)])


# Mantissas are in [11/16, 11/8), in cells of 2^47 steps of the bits; the one of number 20 begins at 1.
_START, _CELLS, _ONE = 0x3FE6000000000000, 32, 20


def _mantissa(cell: int) -> mpf:
    return mpf(struct.unpack(">d", struct.pack(">Q", _START + (cell << 47)))[0])


@cache
def _reciprocals() -> list[mpf]:
    """Of 9 digits, so that they times half a mantissa are exact."""
    return [
        mpf(1) if cell in (_ONE - 1, _ONE) else mp.nint(512 / (_mantissa(cell) + _mantissa(cell + 1))) / 256
        for cell in range(_CELLS)
    ]


def _logarithms() -> list[mpf]:
    return _in_two([-mp.log(c) for c in _reciprocals()])


def _sines() -> list[mpf]:
    return _in_two([mp.sin(j * mp.pi / 32) for j in range(17)])


@cache
def _erf_over_x(v: mpf) -> mpf:
    x = mp.sqrt(max(v, mpf(0)))
    return mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi)


@cache
def _scaled_tail(u: mpf) -> mpf:
    """exp(x^2) erfc(x) / u for u = 4 / (x + 4)."""
    x = 4 / u - 4
    if x > 60:
        n = 40
        series = mp.fsum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(n))
        return series / (x * mp.sqrt(mp.pi)) / u
    return mp.exp(x * x) * mp.erfc(x) / u


def _tail_piece(j: int) -> Problem:
    """Around u = (3 j + 5) / 32, of h = u less that."""
    centre = mpf(3 * j + 5) / 32
    f: Callable[[mpf], mpf] = lambda h: _scaled_tail(centre + h)  # noqa: E731
    return Problem(f, lambda h: 1 / _scaled_tail(centre + h), mpf(-3) / 64, mpf(3) / 64, 11)


@cache
def _log_gamma_slope(t: mpf) -> mpf:
    """log(gamma(2 + t)) / t."""
    if abs(t) > mpf(2) ** -40:
        return mp.loggamma(2 + t) / t
    return mp.psi(0, 2) + t * mp.psi(1, 2) / 2


PROBLEMS = {
    "float64_erf": Problem(_erf_over_x, lambda v: 1 / _erf_over_x(v), mpf(0), mpf("0.5625"), 13),
    "float64_log_gamma": Problem(_log_gamma_slope, lambda t: 1 / _log_gamma_slope(t), mpf("-0.5"), mpf("0.5"), 21),
} | {f"float64_erfc_{j}": _tail_piece(j) for j in range(8)}


def _rests() -> list[mpf]:
    """What the doubles leave of the first coefficients: of the error function, its tail, and the gamma function."""
    first = [remez(problem)[0][0] for problem in PROBLEMS.values()]
    return [c - mpf(float(c)) for c in first]


TABLES = {
    "float64_rests": _rests,
    "float64_ln2_16": lambda: _in_parts(_LN2 / 16, 36),
    "float64_exp": _exp2_table,
    "float64_reciprocals": _reciprocals,
    "float64_ln2": lambda: _in_parts(_LN2, 40),
    "float64_log": _logarithms,
    "float64_log_scales": lambda: [1 / _LN2, _LN2],
    "float64_pi_32": lambda: _in_parts(mp.pi / 32, 30, 30, 30),
    "float64_sin": _sines,
    "float64_pi": lambda: _in_two([mp.pi, mp.log(2 * mp.pi) / 2]),
}
