# SPDX-License-Identifier: MIT
from __future__ import annotations

from mpmath import mp, mpf
from remez import Problem


def _atanh_tail(z: mpf) -> mpf:
    """(2 atanh(s) - 2 s) / s^3 with z = s^2, by its series."""
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 3), [0, 60])


_S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)

PROBLEMS = {
    # log(1 + f) = 2 s + s^3 p(s^2), s = f / (2 + f), 1 + f in [sqrt(1/2), sqrt(2)]; relative to s.
    "log": Problem(_atanh_tail, lambda z: z, mpf(0), _S_MAX**2, 7),
}
