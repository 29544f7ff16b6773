# SPDX-License-Identifier: MIT
"""The error functions of doubles: about i / 64, of one double and a small one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from erf import erfinv_over_x
from mpmath import mp, mpf
from remez import Problem, remez

_STEPS = 64
_H2 = mpf(1) / (4 * _STEPS**2)
_LAST_W = mpf(6) / (2 * _STEPS)
_LAST_U = mpf("0.09382")
_BELOW_ONE = mpf(0x16555555555555) / 2**53  # the least fraction of LogFraction


@cache
def _slope(c: mpf) -> mpf:
    return 2 / mp.sqrt(mp.pi) * mp.exp(-c * c)


def _rows() -> list[mpf]:
    """erfc(c) and its negative slope for c = i / 64, each as the sum of two doubles."""
    values = []
    for i in range(6 * _STEPS + 1):
        c = mpf(i) / _STEPS
        for value in (mp.erfc(c), _slope(c)):
            values += [mpf(float(value)), value - mpf(float(value))]
    return values


def _term(j: int, first: int = 0) -> Callable[[mpf], mpf]:
    """What h^(2 j) is multiplied by in the mean of erf' between c and c + h, over that at c, for w = c h; without the
    powers of w below `first`, and divided by that power.

    The mean is the integral of e^(-2 w t - h^2 t^2) from 0 to 1.
    """

    def term(w: mpf) -> mpf:
        total = mpf(0)
        for i in range(first, 30):
            total += (-2) ** i * w ** (i - first) / (mp.factorial(i) * (i + 2 * j + 1))
        return (-1) ** j * total / mp.factorial(j)

    return term


def _share(w: mpf) -> mpf:
    """How much an error of the mean counts in erf(a), for the largest h."""
    c, reach = 2 * _STEPS * abs(w), mpf(1) / (2 * _STEPS)
    return reach * _slope(c) / mp.erf(max(c - reach, reach))


def _last(h2: mpf) -> mpf:
    """For w = 0, what h^6 is multiplied by in place of all further powers."""
    return mp.nsum(lambda j: (-1) ** int(j) * h2 ** (j - 3) / (mp.factorial(j) * (2 * j + 1)), [3, 20])


_ENDS = (-_LAST_W, _LAST_W)

PROBLEMS = {
    # The mean is 1 + w a(w) + h^2 (b(w) + h^2 (c(w) + h^2 (d + w / 24))).
    "quick_erf_a": Problem(_term(0, 1), lambda w: abs(w) * _share(w), *_ENDS, 6),
    "quick_erf_b": Problem(_term(1), _share, *_ENDS, 5),
    "quick_erf_c": Problem(_term(2), _share, *_ENDS, 3),
    "quick_erf_d": Problem(_last, lambda h2: h2**3, mpf(0), _H2, 0),
    # For a guess of erfinv(a): erfinv(a) / a in log(1 - a^2), and log(1 + r) for 1 + r from _BELOW_ONE to twice that.
    "quick_erfinv": Problem(lambda v: erfinv_over_x(-v), lambda v: 1 / erfinv_over_x(-v), mpf("-4.5"), mpf(0), 7),
    "quick_erfinv_log": Problem(lambda r: mp.log(1 + r), lambda r: mpf(1), _BELOW_ONE - 1, 2 * _BELOW_ONE - 1, 6),
}


def _density() -> list[mpf]:
    """e^-u, for erf'(a) over that at c: what follows 1 - u, which the first two coefficients are to within 2^-47."""
    return remez(Problem(lambda u: mp.exp(-u), mp.exp, -_LAST_U, _LAST_U, 7))[0][2:]


TABLES = {"double_erf_rows": _rows, "quick_erf_density": _density}
