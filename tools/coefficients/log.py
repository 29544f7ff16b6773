# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache

from mpmath import mp, mpf
from remez import Problem

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


_RADIUS = max(_radius(cell) for cell in range(_CELLS))

PROBLEMS = {
    # log(1 + r) = r + r^2 p(r), |r| at most that of a cell; the error counts relative to r.
    "log": Problem(_log1p_tail, abs, -_RADIUS, _RADIUS, 6),
}

TABLES = {
    "log_reciprocals": _scaled_reciprocals,
    "log_logarithms": _logarithms,
    "log_bases": lambda: [mp.log(2), 1 / mp.log(2), mp.log10(2), 1 / mp.log(10)],
}
