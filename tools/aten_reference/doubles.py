# SPDX-License-Identifier: MIT
"""Operations of binary64 that Python does not have, or refuses."""

from __future__ import annotations

import math
from fractions import Fraction

from .numbers import quotient as quotient


def fma(a: float, b: float, c: float) -> float:
    """a * b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a == 0 or b == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan
