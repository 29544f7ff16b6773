# SPDX-License-Identifier: MIT
from __future__ import annotations

import struct

from mpmath import mp, mpf
from remez import Problem, as_float, remez


def _exp_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r^2, by its series near 0."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 30])


def _exp_tail_of_half(r: mpf) -> mpf:
    """(exp(r) - 1 - r - r^2 / 2) / r^3, by its series near 0."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 3), [0, 30])


_HALF_LN2 = mp.log(2) / 2
_TABLE = 16
# In floats what is small counts 1 + r times, and not e^r: this halves the largest error.
_SHARE = 1 + (_HALF_LN2 / _TABLE) ** 2 / 4
_SELU_ALPHA = mpf("1.6732632423543772848170429916717")
_SELU_SCALE = mpf("1.0507009873554804934193349852946")

PROBLEMS = {
    # exp(r) - 1 = r + r^2 p(r) for |r| <= ln(2) / 2; the error counts relative to r.
    "expm1": Problem(_exp_tail, lambda r: r, -_HALF_LN2, _HALF_LN2, 9),
    # The same for |r| <= ln(2) / 32, after a table.
    "exp": Problem(_exp_tail, lambda r: r * r, -_HALF_LN2 / _TABLE, _HALF_LN2 / _TABLE, 4),
}


def _tail_float() -> list[mpf]:
    """exp(r) - 1 = r + r^2 / 2 + r^3 p(r) for |r| <= ln(2) / 32, p of degree 1 with floats as coefficients."""
    reach = _HALF_LN2 / _TABLE
    coefficients, _ = remez(Problem(_exp_tail_of_half, lambda r: r**3, -reach, reach, 1))
    return [as_float(c) for c in coefficients]


def _split(x: mpf) -> list[mpf]:
    """x as the sum of two doubles."""
    return [x, x - mpf(float(x))]


def _powers() -> list[mpf]:
    """2^(i / 16), the bits of the double lowered by i 2^48: adding n 2^48 at i = n mod 16 gives 2^(n / 16)."""
    values = []
    for i in range(_TABLE):
        (bits,) = struct.unpack("<q", struct.pack("<d", float(mpf(2) ** (mpf(i) / _TABLE))))
        (lowered,) = struct.unpack("<d", struct.pack("<q", bits - (i << 48)))
        values.append(mpf(lowered))
    return values


def _powers_float() -> list[mpf]:
    """2^(i / 16) as floats, and by how much the logarithm of each is too small, less an error.

    With that e^x is never too large: see parts/float_exp.lane.h.
    """
    powers = [mpf(2) ** (mpf(i) / _TABLE) for i in range(_TABLE)]
    error = mpf(2) ** -33 - mpf(2) ** -37
    rests = [mp.log(x / as_float(x)) * _SHARE - error / as_float(x) for x in powers]
    return [as_float(x) for x in powers] + [as_float(x) for x in rests]


def _reduction_float() -> list[mpf]:
    """16 / ln 2, c next to ln(2) / 16, and the rest."""
    step = mp.log(2) / _TABLE
    return [as_float(x) for x in (_TABLE / mp.log(2), step, (as_float(step) - step) * _SHARE)]


TABLES = {
    "exp2_line_float": lambda: [as_float(mp.log(2)), as_float(mp.log(2) - as_float(mp.log(2)))],
    "exp_powers_float": _powers_float,
    "exp_reduction_float": _reduction_float,
    "exp_tail_float": _tail_float,
    "exp_powers": _powers,
    "exp_reduction": lambda: [_TABLE / mp.log(2), *_split(mp.log(2) / _TABLE)],
    "expm1_reduction": lambda: [1 / mp.log(2), *_split(mp.log(2))],
    # Found by trying the inputs whose result lies within 2^-44 of a midpoint: these two leave none wrong.
    "exp2_line": lambda: [mp.log(2) - 14 * mpf(2) ** -53, 3 * mpf(2) ** -57],
    "exp10_reduction": lambda: [_TABLE * mp.log(10, 2), *_split(mp.log10(2) / _TABLE), mp.log(10)],
    "selu_slopes": lambda: [_SELU_SCALE, _SELU_SCALE * _SELU_ALPHA],
}
