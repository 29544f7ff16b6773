# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache

from mpmath import mp, mpf
from remez import Problem, as_float, remez

# Mantissas m are in [s, 2 s), s the double of these bits, in cells of 2^48 steps of the bits; the tenth has 1 inside.
_START_BITS = 0x3FE6500000000000
_CELLS = 16
_ONE = 9


def _mantissa(cell: int) -> mpf:
    """Where a cell begins."""
    bits = _START_BITS + (cell << 48)
    return mp.ldexp(1 + mpf(bits & (1 << 52) - 1) / 2**52, (bits >> 52) - 1023)


def _centre(cell: int) -> mpf:
    return (_mantissa(cell) + _mantissa(cell + 1)) / 2


# Some results of log lie half-way between two floats but for their last bits, and would round to the wrong one. Where a
# cell's logarithm is off by as little as this, in units of 2^-43, they round to the right one, and no other changes.
_NUDGES = {1: 0.000379, 12: -0.00088, 15: 0.0361}


def _log2(x: mpf) -> mpf:
    return mp.log(x) / mp.log(2)


@cache
def _reciprocals() -> list[mpf]:
    """For each cell c near 1 / m, of 30 bits after the point, whose log2 is almost a multiple of 2^-43.

    So m c - 1 is exact for the 24 bits of a float, and the logarithm, rounded to such a multiple, is as good as one of
    57 bits after the point, although its sum with an exponent is exact.
    """

    def distance(cell: int, c: mpf) -> mpf:
        scaled = _log2(c) * 2**43
        return abs(scaled - mp.nint(scaled) - _NUDGES.get(cell, 0))

    table = []
    for cell in range(_CELLS):
        near = int(mp.nint(2**30 / _centre(cell)))
        candidates = [mpf(1)] if cell == _ONE else [mpf(near + k) / 2**30 for k in range(-8192, 8192)]
        table.append(min(candidates, key=lambda c, cell=cell: distance(cell, c)))
    return table


def _scaled_reciprocals() -> list[mpf]:
    """Times 2^256, from whose bits those of e + 256 are subtracted."""
    return [mp.ldexp(c, 256) for c in _reciprocals()]


def _logarithms() -> list[mpf]:
    """-log2(c), less the 768 that come with e."""
    return [-mp.nint(_log2(c) * 2**43) / 2**43 - 768 for c in _reciprocals()]


def _log1p_tail(r: mpf) -> mpf:
    """(log(1 + r) - r) / r^2, by its series near 0."""
    return mp.nsum(lambda k: (-1) ** (k + 1) * r**k / (k + 2), [0, 60])


def _radius(cell: int) -> mpf:
    """The largest |m c - 1| in a cell, c being 1 / m to some last bits."""
    centre = 1 if cell == _ONE else _centre(cell)
    return max(1 - _mantissa(cell) / centre, _mantissa(cell + 1) / centre - 1) + mpf(2) ** -17


# In floats: 8 cells of 2^20 steps of the bits, and c of so few bits that m c - 1 is a float. The fifth has 1 inside.
_FLOAT_RECIPROCALS = [mpf(c) / 32 for c in (44, 40, 36, 34, 32, 29, 26, 24)]
_FLOAT_RADIUS = mpf("0.06251")


def _to_17_bits(x: mpf) -> mpf:
    """A multiple of 2^-17: its sum with 7 bits before the point is a float."""
    return mp.nint(mp.ldexp(x, 17)) / 2**17


def _float_logarithms() -> list[mpf]:
    """-ln(c) as the sum of a multiple of 2^-17 and a float: first all the former."""
    logs = [-mp.log(c) for c in _FLOAT_RECIPROCALS]
    return [_to_17_bits(v) for v in logs] + [as_float(v - _to_17_bits(v)) for v in logs]


def _float_pair(x: mpf) -> list[mpf]:
    """x as the sum of two floats."""
    return [as_float(x), as_float(x - as_float(x))]


def _float_log_tail(r: mpf) -> mpf:
    """(log(1 + r) - r + r^2 / 2) / r^3, by its series near 0."""
    return mp.nsum(lambda k: (-1) ** k * r**k / (k + 3), [0, 60])


def _float_tail() -> list[mpf]:
    """log(1 + r) = r - r^2 / 2 + r^3 p(r), p of degree 4 with floats as coefficients."""
    problem = Problem(_float_log_tail, lambda r: abs(r) ** 3, -_FLOAT_RADIUS, _FLOAT_RADIUS, 4)
    return [as_float(c) for c in remez(problem)[0]]


_RADIUS = max(_radius(cell) for cell in range(_CELLS))

PROBLEMS = {
    # log(1 + r) = r + r^2 p(r), |r| at most that of a cell; the error counts relative to r.
    "log": Problem(_log1p_tail, abs, -_RADIUS, _RADIUS, 6),
}

TABLES = {
    "log_reciprocals": _scaled_reciprocals,
    "log_logarithms": _logarithms,
    "log_float_reciprocals": lambda: _FLOAT_RECIPROCALS,
    "log_float_logarithms": _float_logarithms,
    "log_float_base": lambda: [_to_17_bits(mp.log(2)), as_float(mp.log(2) - _to_17_bits(mp.log(2)))],
    "log_float_tail": _float_tail,
    "log_float_bases": lambda: [*_float_pair(1 / mp.log(2)), *_float_pair(1 / mp.log(10))],
    "log_bases": lambda: [mp.log(2), 1 / mp.log(2), mp.log10(2), 1 / mp.log(10)],
}
