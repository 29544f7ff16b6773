# SPDX-License-Identifier: MIT
"""Of functions of float64, made of steps: python/repdl/interception/float64/constants.py."""

from __future__ import annotations

import struct
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


@cache
def _log_gamma_slope(t: mpf) -> mpf:
    """log(gamma(2 + t)) / t."""
    if abs(t) > mpf(2) ** -40:
        return mp.loggamma(2 + t) / t
    return mp.psi(0, 2) + t * mp.psi(1, 2) / 2


PROBLEMS = {
    "float64_log_gamma": Problem(_log_gamma_slope, lambda t: 1 / _log_gamma_slope(t), mpf("-0.5"), mpf("0.5"), 21),
}


def _rest() -> list[mpf]:
    """What the double leaves of the first coefficient."""
    first = remez(PROBLEMS["float64_log_gamma"])[0][0]
    return [first - mpf(float(first))]


TABLES = {
    "float64_log_gamma_rest": _rest,
    "float64_ln2_16": lambda: _in_parts(_LN2 / 16, 36),
    "float64_exp": _exp2_table,
    "float64_reciprocals": _reciprocals,
    "float64_ln2": lambda: _in_parts(_LN2, 40),
    "float64_log": _logarithms,
    "float64_log_scales": lambda: [1 / _LN2, _LN2],
    "float64_half_log_2_pi": lambda: _in_two([mp.log(2 * mp.pi) / 2]),
}
