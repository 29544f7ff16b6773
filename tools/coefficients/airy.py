# SPDX-License-Identifier: MIT
"""Of the Airy function of doubles, which is made of Bessel functions of order 1/3."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bessel import K_PIECES, WAVE_PIECES, far_k, rests, wave_part
from mpmath import mp, mpf
from remez import interpolated

THIRD = mpf(1) / 3
DIGIT = 28
"""The bits of a digit, such that a sum of 64 products of two fits into 64 bits."""
DIGITS = 64


def _powers(start: mpf, offset: int) -> list[mpf]:
    """What multiplies x^(3 k) in the series that begins with `start`, which is Ai(0), or x Ai'(0) without x."""
    powers = [start]
    for k in range(1, 28):
        powers.append(powers[-1] / ((3 * k - 1 + offset) * (3 * k + offset)))
    return powers


def _digits() -> list[mpf]:
    """2 / (3 pi)."""
    with mp.workdps(600):
        scaled = int(mp.floor(2 / (3 * mp.pi) * mpf(2) ** (DIGIT * DIGITS)))
    return [mpf(scaled >> (DIGIT * (DIGITS - 1 - k)) & ((1 << DIGIT) - 1)) for k in range(DIGITS)]


_SERIES = {
    "airy_value": partial(_powers, mp.airyai(0), 0),
    "airy_slope": partial(_powers, mp.airyai(0, derivative=1), 1),
}
_FAR: dict[str, Callable[[], list[mpf]]] = {}
for _piece in (0, 1):
    _FAR[f"airy_far_{_piece}"] = partial(interpolated, partial(far_k, THIRD), K_PIECES[_piece], 26)
    for _part, _name in enumerate(("airy_modulus", "airy_phase")):
        _FAR[f"{_name}_{_piece}"] = partial(interpolated, partial(wave_part, THIRD, _part), WAVE_PIECES[_piece], 18)

TABLES: dict[str, Callable[[], list[mpf]]] = {"airy_digits": _digits}
for _name, _table in _SERIES.items():
    TABLES[_name] = _table
    TABLES[_name + "_low"] = partial(rests, _table, 16)
for _name, _table in _FAR.items():
    TABLES[_name] = _table
    TABLES[_name + "_low"] = partial(rests, _table, 4)
