# SPDX-License-Identifier: MIT
from __future__ import annotations

from mpmath import mp, mpf
from remez import Problem

_Z_MAX = (mp.log(2) / 2) ** 2


def _sinh_tail(z: mpf) -> mpf:
    """(sinh(r) - r) / r^3 with z = r^2, by its series."""
    return mp.nsum(lambda k: z**k / mp.factorial(2 * k + 3), [0, 30])


def _cosh_tail(z: mpf) -> mpf:
    """(cosh(r) - 1 - r^2 / 2) / r^4 with z = r^2, by its series."""
    return mp.nsum(lambda k: z**k / mp.factorial(2 * k + 4), [0, 30])


PROBLEMS = {
    # sinh(r) = r + r z p(z) for |r| <= ln(2) / 2; the error counts relative to r.
    "sinh": Problem(_sinh_tail, lambda z: z, mpf(0), _Z_MAX, 4),
    # cosh(r) = 1 + z / 2 + z^2 p(z).
    "cosh": Problem(_cosh_tail, lambda z: z * z, mpf(0), _Z_MAX, 3),
}
