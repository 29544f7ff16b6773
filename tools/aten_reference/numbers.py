# SPDX-License-Identifier: MIT
"""IEEE-754 numbers of 32 and 16 bits in plain Python: exact values, rounded once, to nearest, ties to even.

A number of any of these formats is a Python float, which has it exactly. Python's own + - * / and math.sqrt are of
binary64: of two float32 numbers they are exact, or rounded so finely (53 >= 2 * 24 + 2) that rounding once more to
float32 gives what rounding at once would.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import mpmath

Round = Callable[[float], float]


def float32(x: float) -> float:
    """Rounds a binary64 number."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return math.copysign(math.inf, x)


def float16(x: float) -> float:
    try:
        return struct.unpack("<e", struct.pack("<e", x))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return math.copysign(math.inf, x)


def bfloat16(x: float) -> float:
    """Rounds a float32 number."""
    if math.isnan(x) or math.isinf(x):
        return x
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    bits += 0x7FFF + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]  # type: ignore[no-any-return]


def unchanged(x: float) -> float:
    return x


def float8_e5m2(x: float) -> float:
    return _float8(x, "float8_e5m2")


def float8_e4m3fn(x: float) -> float:
    """There are no infinities: what is larger than 448 becomes that, as in torch."""
    return math.nan if math.isnan(x) else max(-448.0, min(448.0, _float8(x, "float8_e4m3fn")))


def _float8(x: float, dtype: str) -> float:
    return math.copysign(nearest(Fraction(x), dtype), x) if math.isfinite(x) else x


ROUND: dict[str, Round] = {
    "float32": float32,
    "float16": float16,
    "bfloat16": bfloat16,
    "float8_e4m3fn": float8_e4m3fn,
    "float8_e5m2": float8_e5m2,
}
"""From float32 (of float32, from binary64) to the dtype."""


_FORMATS = {
    "float32": (24, -149, 128),
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
    "float8_e4m3fn": (4, -9, 9),
    "float8_e5m2": (3, -16, 16),
}
"""Digits, the exponent of the smallest subnormal number, and that of the first power of two that is too large."""


def nearest(exact: Fraction | mpmath.mpf, dtype: str) -> float:
    """The number of a dtype nearest to an exact one. A zero is +0."""
    if isinstance(exact, mpmath.mpf):
        if not mpmath.isfinite(exact):
            return float(exact)
        sign, mantissa, exponent, bits = exact._mpf_
        if mantissa and abs(exponent + bits) > 1000:  # whose fraction may be larger than memory
            return math.copysign(math.inf if exponent > 0 else 0.0, -1.0 if sign else 1.0)
        value = Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent
    else:
        value = exact
    if value == 0:
        return 0.0
    digits, lowest, too_large = _FORMATS[dtype]
    size = abs(value)
    # The exponent of the first digit, from that of a quotient of integers.
    first = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** first > size:
        first -= 1
    unit = max(first - digits + 1, lowest)
    steps = round(size / Fraction(2) ** unit)  # ties to even
    result = math.inf if Fraction(steps) * Fraction(2) ** unit >= Fraction(2) ** too_large else math.ldexp(steps, unit)
    return -result if value < 0 else result


def below(x: float, dtype: str) -> float:
    """The largest finite number of a dtype that is less than x."""
    digits, lowest, too_large = _FORMATS[dtype]
    number = nearest(Fraction(x), dtype)
    if number < x:
        return number
    if number == math.inf:
        return math.ldexp(1 - 2.0**-digits, too_large)
    share, exponent = math.frexp(number)
    unit = max(exponent - digits - (share == 0.5), lowest) if number else lowest
    return number - math.ldexp(1.0, unit)


def add(x: float, y: float) -> float:
    return float32(x + y)


def sub(x: float, y: float) -> float:
    return float32(x - y)


def mul(x: float, y: float) -> float:
    return float32(x * y)


def quotient(x: float, y: float) -> float:
    """x / y in binary64, as IEEE-754 has it for a divisor of zero."""
    if y == 0:
        if x == 0 or math.isnan(x):
            return math.nan
        return math.copysign(math.inf, x) * math.copysign(1.0, y)
    return x / y


def div(x: float, y: float) -> float:
    return float32(quotient(x, y))


def sqrt(x: float) -> float:
    if math.isnan(x) or x < 0:
        return math.nan
    return float32(math.sqrt(x))


def fma(a: float, b: float, c: float) -> float:
    """a * b + c of float32 numbers, rounded once.

    The product is exact in binary64. The sum is rounded there to odd: where it is not exact, the neighbour is taken
    whose last digit is 1. Then rounding to float32 sees on which side of a tie it lies.
    """
    product = a * b
    total = product + c
    if math.isnan(total) or math.isinf(total):
        return float32(total)
    part = total - product
    error = (product - (total - part)) + (c - part)
    if error != 0 and struct.unpack("<Q", struct.pack("<d", total))[0] % 2 == 0:
        total = math.nextafter(total, math.copysign(math.inf, error))
    return float32(total)
