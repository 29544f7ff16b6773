# SPDX-License-Identifier: MIT
from __future__ import annotations

from mpmath import mp, mpf
from remez import Problem


def _exp_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r^2, by its series near 0."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 30])


_HALF_LN2 = mp.log(2) / 2

PROBLEMS = {
    # exp(r) = 1 + (r + r^2 p(r)) for |r| <= ln(2) / 2; the error counts relative to exp(r).
    "exp": Problem(_exp_tail, lambda r: r * r / mp.exp(r), -_HALF_LN2, _HALF_LN2, 9),
}
