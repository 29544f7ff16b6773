# SPDX-License-Identifier: MIT
"""The exponential functions and logarithms of doubles, correctly rounded: in two doubles, then in three."""

from __future__ import annotations

from fractions import Fraction

from mpmath import mp, mpf
from remez import Problem

_LN2 = mp.log(2)
_POWERS = 16
_REACH = _LN2 / (2 * _POWERS)

# x = 2^e m: m in 64 cells of equal length in the bits of m, 2^-7 below 1 and 2^-6 above; the cell of 1 is number 38.
_CELLS = 64
_BELOW_ONE = mpf(116) / 3


def _parts(values: list[mpf], count: int) -> list[mpf]:
    """Each number as a sum of so many doubles: first all largest parts, last all least."""
    parts, rest = [], values
    for _ in range(count):
        doubles = [mpf(float(v)) for v in rest]
        parts += doubles
        rest = [v - x for v, x in zip(rest, doubles, strict=True)]
    return parts


def _to_bits_below_one(x: mpf, bits: int) -> mpf:
    return mp.nint(mp.ldexp(x, bits)) / mpf(2) ** bits


def _at(step: mpf) -> mpf:
    step -= _BELOW_ONE
    return 1 + step / (128 if step < 0 else 64)


def _reciprocals() -> list[mpf]:
    """Of 10 bits, near that of the middle of a cell; 1 in that of 1."""
    middles = [(_at(mpf(i)) + _at(mpf(i + 1))) / 2 for i in range(_CELLS)]
    return [mpf(1) if i == 38 else mp.nint(512 / middle) / 512 for i, middle in enumerate(middles)]


def _logs() -> list[mpf]:
    """-ln(c), in a part of 42 bits after the point and the rest."""
    logs = [-mp.log(c) for c in _reciprocals()]
    high = [_to_bits_below_one(v, 42) for v in logs]
    return high + [v - h for v, h in zip(logs, high, strict=True)]


_LARGEST_R = max(abs(c * _at(mpf(i + j)) - 1) for i, c in enumerate(_reciprocals()) for j in (0, 1))


def _exp_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r - r^2 / 2 - r^3 / 6) / r^4, by its series."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 4), [0, 40])


def _log_tail(r: mpf) -> mpf:
    """(log(1 + r) - r + r^2 / 2 - r^3 / 3) / r^4, by its series."""
    return mp.nsum(lambda k: (-1) ** (k + 1) * r**k / (k + 4), [0, 60])


def _quick_exp_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r^2, by its series."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 40])


def _quick_expm1_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r - r^2 / 2) / r^3, by its series."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 3), [0, 40])


def _quick_log_tail(r: mpf) -> mpf:
    """(log(1 + r) - r + r^2 / 2) / r^3, by its series."""
    return mp.nsum(lambda k: (-1) ** k * r**k / (k + 3), [0, 60])


# Of the quick step of log: found among 2^25 doubles near the middle of each of 16 cells, for a logarithm that is a
# multiple of 2^-42 to within 2^-65.8.
_QUICK_RECIPROCALS = """
    0x1.66c612e5814f0p+0 0x1.57b8646728ed5p+0 0x1.49e112a48af11p+0 0x1.3d1c139ae0f5ap+0 0x1.314abb9343fa6p+0
    0x1.2652c7306d757p+0 0x1.1c1d98c77926bp+0 0x1.1297994d71d2dp+0 0x1.09afbe0d00138p+0 1.0 0x1.e6a74a30f1b09p-1
    0x1.cb5d4ef8475a0p-1 0x1.b2f934e22a5c5p-1 0x1.9d0ac16b9ca5ap-1 0x1.89374be160deap-1 0x1.7734c34f99ec5p-1
"""


def _quick_logs() -> list[mpf]:
    return [_to_bits_below_one(-mp.log(mpf(float.fromhex(c))), 42) for c in _QUICK_RECIPROCALS.split()]


def _powers_rest() -> list[mpf]:
    powers = [mp.power(2, mpf(i) / _POWERS) for i in range(_POWERS)]
    return [mp.log(power / mpf(float(power))) for power in powers]


def _factorials() -> list[mpf]:
    exact = [Fraction(1)]
    for k in range(1, 22):
        exact.append(exact[-1] / k)
    return _parts([mpf(f.numerator) / f.denominator for f in exact], 3)[44:]


PROBLEMS = {
    # exp(r) - 1 = r + r^2 / 2 + r^3 / 6 + r^4 p(r), |r| <= ln(2) / 32; the error counts relative to r, over reach^3.
    "double_exp": Problem(_exp_tail, lambda r: abs(r / _REACH) ** 3, -_REACH, _REACH, 5),
    # 2 p, with an error that counts relative to 1.
    "double_exp_short": Problem(lambda r: 2 * _exp_tail(r), lambda r: (r / _REACH) ** 4, -_REACH, _REACH, 4),
    # exp(r) - 1 = r + r^2 p(r), and log(1 + r) = r - r^2 / 2 + r^3 p(r), with errors that count as they are.
    "quick_exp": Problem(_quick_exp_tail, lambda r: r * r, -_REACH, _REACH, 5),
    # exp(r) - 1 = r + r^2 / 2 + r^3 p(r).
    "quick_expm1": Problem(_quick_expm1_tail, lambda r: abs(r) ** 3, -_REACH, _REACH, 5),
    "quick_log": Problem(_quick_log_tail, lambda r: abs(r) ** 3, -mpf("0.0306"), mpf("0.0306"), 8),
    # log(1 + r) = r - r^2 / 2 + r^3 / 3 + r^4 p(r).
    "double_log": Problem(_log_tail, lambda r: abs(r / _LARGEST_R) ** 3, -_LARGEST_R, _LARGEST_R, 6),
}

_STEP = _LN2 / _POWERS
_STEP_HIGH = _to_bits_below_one(_STEP, 41)
_LN2_HIGH = _to_bits_below_one(_LN2, 42)
_SELU_SCALE = mpf("1.0507009873554804934193349852946")
_SELU_ALPHA = mpf("1.6732632423543772848170429916717")
_SLOPE = 2 * mp.sqrt(2 / mp.pi)

TABLES = {
    "quick_exp_rest": _powers_rest,
    "quick_log_logs": _quick_logs,
    "double_exp_powers": lambda: _parts([mpf(2) ** (mpf(i) / _POWERS) for i in range(_POWERS)], 2),
    "double_exp_reduction": lambda: [1 / _STEP, _STEP_HIGH, _STEP - _STEP_HIGH],
    "double_log_reciprocals": _reciprocals,
    "double_log_logs": _logs,
    "double_log_base": lambda: [_LN2_HIGH, _LN2 - _LN2_HIGH],
    "double_factorials": _factorials,
    "double_bases": lambda: _parts([_LN2, 1 / _LN2, mp.log(10), 1 / mp.log(10)], 3),
    "double_thirds": lambda: _parts([mpf(1) / 3, mpf(1) / 6], 2),
    "double_selu": lambda: _parts([_SELU_SCALE, _SELU_SCALE * _SELU_ALPHA], 3),
    "double_gelu_tanh": lambda: _parts([_SLOPE, _SLOPE * mpf("0.044715"), 3 * _SLOPE * mpf("0.044715")], 3),
}
