# SPDX-License-Identifier: MIT
"""Quick versions of a logarithm, a power of two and an arc tangent, and constants of 106 bits."""

from __future__ import annotations

from mpmath import mp, mpf
from remez import Problem

# x = 2^e m, m from 0.729 on: 16 intervals of equal length in the bits of m, one of which is 1 +- 1/48. In each,
# r = c m - 1 with c near the reciprocal of the middle.
_BELOW_ONE = mpf(26) / 3


def _at(step: mpf) -> mpf:
    """The m at this many steps from the first: steps are 1/32 below 1 and 1/16 above."""
    step -= _BELOW_ONE
    return 1 + step / (32 if step < 0 else 16)


def _reciprocals() -> list[mpf]:
    """Of 9 bits."""
    middles = [(_at(mpf(i)) + _at(mpf(i + 1))) / 2 for i in range(16)]
    return [mp.nint(256 / middle) / 256 for middle in middles]


def _logs() -> list[mpf]:
    """-16 log2(c) - i: what the logarithm, in 16ths, has beyond 16 e + i."""
    return [-16 * mp.log(c, 2) - i for i, c in enumerate(_reciprocals())]


def _largest_r() -> mpf:
    ends = [(c * _at(mpf(i + j)) - 1) for i, c in enumerate(_reciprocals()) for j in (0, 1)]
    return max(abs(end) for end in ends)


def _log1p_over_r(r: mpf) -> mpf:
    """16 log2(1 + r) / r, by its series."""
    return 16 / mp.log(2) * mp.nsum(lambda k: (-r) ** k / (k + 1), [0, 60])


def _exp2_over_f(f: mpf) -> mpf:
    """(2^(f / 16) - 1) / f, by its series."""
    x = mp.log(2) / 16
    return x * mp.nsum(lambda k: (x * f) ** k / mp.factorial(k + 1), [0, 30])


def _atan_tail(z: mpf) -> mpf:
    """(atan(t) - t) / t^3 with z = t^2, by its series."""
    return mp.nsum(lambda k: -((-z) ** k) / (2 * k + 3), [0, 120])


PROBLEMS = {
    "quick_log2": Problem(_log1p_over_r, lambda r: mpf(1), -_largest_r(), _largest_r(), 7),
    "quick_exp2": Problem(_exp2_over_f, abs, mpf(-1) / 2, mpf(1) / 2, 4),
    # atan(t) = t + t^3 p(t^2) up to tan(pi / 8); relative to t.
    "quick_atan": Problem(_atan_tail, lambda z: z, mpf(0), mp.tan(mp.pi / 8) ** 2, 7),
}


def _low(x: mpf) -> mpf:
    return x - mpf(float(x))


def _inverse_factorials() -> list[mpf]:
    return [1 / mp.factorial(n) for n in range(30)]


TABLES = {
    "quick_log2_reciprocals": _reciprocals,
    "quick_log2_logs": _logs,
    "inverse_factorials": _inverse_factorials,
    "inverse_factorials_low": lambda: [_low(x) for x in _inverse_factorials()],
    "two_constants": lambda: [
        mp.log(2),
        _low(mp.log(2)),
        1 / mp.log(2),
        mp.pi,
        _low(mp.pi),
        mp.tan(mp.pi / 8),
        mp.log(2) / 16,
        _low(mp.pi) / mpf(float(mp.pi)),
    ],
}
