# SPDX-License-Identifier: MIT
"""Tables of parts/float_piece.lane.h: for each piece of the line a centre c, f(c), f'(c) and p, in floats."""

from __future__ import annotations

import struct
from collections.abc import Callable

from mpmath import mp, mpf
from remez import as_float, interpolated

_SLOPE_BITS = 36
"""To so many bits one float is the slope at a centre, where it has no rest."""


def _float_of_bits(bits: int) -> mpf:
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return mpf(value)


def _by_exponent(offset: float, shift: int) -> list[tuple[mpf, mpf]]:
    """Where offset + x has the same bits above the lowest `shift`: 16 pieces by four of these bits, of [0, inf)."""
    (bits,) = struct.unpack("<I", struct.pack("<f", offset))
    first = bits >> shift
    pieces = [(mpf(0), mpf(0))] * 16
    for block in range(first, first + 16):
        low, high = (_float_of_bits(b << shift) - offset for b in (block, block + 1))
        pieces[block % 16] = (max(low, mpf(0)), high)
    return pieces


def _by_nearest(scale: float) -> list[tuple[mpf, mpf]]:
    """Where scale x is nearest to each of 0 to 15."""
    return [(max(mpf(0), (i - mpf("0.5")) / scale), (i + mpf("0.5")) / scale) for i in range(16)]


def _centre(f: Callable[[mpf], mpf], low: mpf, high: mpf, slope_rest: bool) -> mpf:
    """0 where the piece begins there, else a float near the middle; its slope is one too if slopes have no rest."""
    if low == 0:
        return mpf(0)
    mantissa, exponent = mp.frexp((low + high) / 2)
    middle, step = mp.ldexp(mp.nint(mantissa * 2**10), exponent - 10), mp.ldexp(1, exponent - 24)
    if slope_rest:
        return middle
    series = mp.taylor(f, middle, 8)
    slopes = [j * c for j, c in enumerate(series)][:0:-1]
    for k in range(1 << 20):
        for moved in (k * step, -k * step):
            slope = mp.polyval(slopes, moved)
            if abs(slope - as_float(slope)) < abs(slope) / 2**_SLOPE_BITS:
                return middle + moved
    raise ValueError("there is no such centre")


def _about_zero(coefficients: list[mpf], middle: mpf) -> list[mpf]:
    """The coefficients of a polynomial in x - middle, of x."""
    result = [mpf(0)] * len(coefficients)
    for coefficient in reversed(coefficients):
        moved = [mpf(0), *result[:-1]]
        result = [above - middle * same for above, same in zip(moved, result, strict=True)]
        result[0] += coefficient
    return result


def _columns(f: Callable[[mpf], mpf], piece: tuple[mpf, mpf], terms: int, slope_rest: bool) -> list[mpf]:
    """c, f(c) and its rest, f'(c), the terms of p, and the rest of f'(c) if it is asked for."""
    low, high = piece
    c = _centre(f, low, high, slope_rest)
    value, slope, second, third = mp.taylor(f, c, 3)

    def p(h: mpf) -> mpf:
        if abs(h) < mpf(10) ** -5:
            return second + third * h
        return (f(c + h) - value - slope * h) / h**2

    ends = (low - c, high - c)
    if c == 0:  # f is odd, and what it is off by counts relative to x
        p_terms = [mpf(0), *_about_zero(interpolated(lambda h: p(h) / h, ends, terms - 1), (ends[0] + ends[1]) / 2)]
    else:
        p_terms = _about_zero(interpolated(p, ends, terms), (ends[0] + ends[1]) / 2)
    rest = [slope - as_float(slope)] if slope_rest else []
    return [as_float(v) for v in [c, value, value - as_float(value), slope, *p_terms, *rest]]


def _table(
    f: Callable[[mpf], mpf], pieces: list[tuple[mpf, mpf]], terms: int, slope_rest: bool, end: mpf = mp.inf
) -> list[mpf]:
    """The columns one after the other. From `end` on, f rounds to 1, and is 1 in pieces that begin there."""
    with mp.workdps(40):
        one = [mpf(0), mpf(1)] + [mpf(0)] * (terms + 2 + slope_rest)
        rows = [one if low >= end else _columns(f, (low, min(high, end)), terms, slope_rest) for low, high in pieces]
    return [row[k] for k in range(len(rows[0])) for row in rows]


TABLES = {
    "piece_tanh": lambda: _table(mp.tanh, _by_exponent(0.75, 21), 8, False, mpf("9.02")),
    "piece_erf": lambda: _table(mp.erf, _by_exponent(1.5, 20), 8, True, mpf("3.92")),
    "piece_atan": lambda: _table(mp.atan, _by_nearest(15.0), 5, False),
}
