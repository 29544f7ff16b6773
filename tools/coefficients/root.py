# SPDX-License-Identifier: MIT
from __future__ import annotations

from mpmath import mp, mpf
from remez import Problem

# Mantissas in [1, 2), in cells of a sixteenth.
_CELLS = 16


def _reciprocals() -> list[mpf]:
    """For each cell c near 1 / m, of 30 bits after the point, so that m c - 1 is exact for the 24 bits of a float."""
    return [mp.nint(2**30 / (1 + (cell + mpf(1) / 2) / _CELLS)) / 2**30 for cell in range(_CELLS)]


def _roots() -> list[mpf]:
    return [1 / mp.cbrt(c) for c in _reciprocals()]


def _powers() -> list[mpf]:
    """The polynomial that is 2^((1 + j) / 3) for j = -1, 0, 1."""
    below, middle, above = mpf(1), mp.cbrt(2), mp.cbrt(4)
    return [middle, (above - below) / 2, (above + below) / 2 - middle]


def _cbrt1p_tail(r: mpf) -> mpf:
    """(cbrt(1 + r) - 1) / r."""
    return (mp.cbrt(1 + r) - 1) / r if r != 0 else mpf(1) / 3


_RADIUS = mpf(1) / (2 * _CELLS + 1) + mpf(2) ** -30

PROBLEMS = {
    # cbrt(1 + r) = 1 + r p(r), |r| at most that of the first cell.
    "cbrt": Problem(_cbrt1p_tail, abs, -_RADIUS, _RADIUS, 6),
}

TABLES = {
    "cbrt_reciprocals": _reciprocals,
    "cbrt_roots": _roots,
    "cbrt_powers": _powers,
}
