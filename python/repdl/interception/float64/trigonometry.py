# SPDX-License-Identifier: MIT
"""Sines of float64 in steps, as functions.py."""

from __future__ import annotations

import math

import torch

from repdl.interception.float64 import constants
from repdl.interception.float64.functions import polynomial, table_of
from repdl.interception.float64.steps import (
    INF,
    NAN,
    Pair,
    Steps,
    quick_two_sum,
    two_product,
    two_sum,
    where,
)

# Sines. An angle is k pi / 32 + r, and sin(a + r) = sin a + (sin a (cos r - 1) + cos a sin r).


def _sine_table(part: list[float]) -> torch.Tensor:
    return table_of([*part, *part[-2::-1], *(-s for s in part[1:]), *(-s for s in part[-2:0:-1])])


_SINES = _sine_table(constants.SINES[:17]), _sine_table(constants.SINES[17:])
_FAR = 2.0**19
"""Up to here the parts of pi are enough; beyond, each number is divided with integers."""


def angle(x: Steps) -> tuple[Steps, Pair]:
    """k modulo 64, and r with |r| <= pi / 64."""
    held = where(abs(x) < _FAR, x, 0.0)
    n = (held * (32 / math.pi)).round()
    a = held - n * constants.PI_32[0]
    b, e1 = two_sum(a, -(n * constants.PI_32[1]))
    c, e2 = two_sum(b, -(n * constants.PI_32[2]))
    r = quick_two_sum(c, (e1 + e2) - n * constants.PI_32[3])
    k = n.integer() & 63
    far = (abs(x) > 0.99 * _FAR) & (abs(x) < INF)
    if bool(far.any()):
        k, r = Steps(k.tensor.clone()), (Steps(r[0].tensor.clone()), Steps(r[1].tensor.clone()))
        for i in far.nonzero().flatten().tolist():
            for target, value in zip((k, *r), _far_angle(x.tensor[i].item()), strict=True):
                target.tensor[i] = value
    return k, r


def _far_angle(x: float) -> tuple[int, float, float]:
    numerator, denominator = x.as_integer_ratio()
    assert denominator <= 2**52
    scale = 1250
    turns = numerator * constants.INVERSE_PI  # x 32 / pi in units of 2^-1250 / denominator
    unit = denominator << scale
    k = (2 * turns + unit) // (2 * unit)
    left = (turns - k * unit) * _PI_32_DIGITS
    high = left / (unit << 200)
    top, bottom = high.as_integer_ratio()
    return k % 64, high, (left * bottom - top * (unit << 200)) / ((unit << 200) * bottom)


_PI_32_DIGITS = (1 << (1250 + 200)) // constants.INVERSE_PI


def sine_pair(k: Steps, r: Pair) -> Pair:
    sines = [(k & 63).among(table) for table in _SINES]
    cosines = [((k + 16) & 63).among(table) for table in _SINES]
    square = r[0] * r[0]
    cos_less_1 = square * polynomial(square, *((-1) ** i / math.factorial(2 * i) for i in range(1, 7)))
    more = square * r[0] * polynomial(square, *((-1) ** i / math.factorial(2 * i + 1) for i in range(1, 7)))
    product, low = two_product(cosines[0], r[0])
    high, e = two_sum(sines[0], product)
    small = (cosines[0] * (more + r[1]) + cosines[1] * r[0]) + (sines[1] + sines[0] * (cos_less_1 - r[0] * r[1]))
    return quick_two_sum(high, (e + low) + small)


def sin(x: Steps) -> Steps:
    high, low = sine_pair(*angle(x))
    return where(abs(x) < 2.0**-28, x, where(abs(x) < INF, high + low, NAN))


def cos(x: Steps) -> Steps:
    k, r = angle(x)
    high, low = sine_pair(k + 16, r)
    return where(abs(x) < INF, high + low, NAN)
