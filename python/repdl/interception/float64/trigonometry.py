# SPDX-License-Identifier: MIT
"""Sines of float64 and their inverses, in steps, as functions.py."""

from __future__ import annotations

import math

import torch

from repdl.interception.float64 import constants
from repdl.interception.float64.functions import parts, polynomial, root_of, table_of, tables_of, zeros
from repdl.interception.float64.steps import (
    INF,
    NAN,
    TINY,
    Pair,
    Steps,
    declare,
    elementwise,
    pair_product,
    pair_quotient,
    pair_sum,
    pair_where,
    power_of_two,
    quick_two_sum,
    scaled,
    signed,
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


def tan(x: Steps) -> Steps:
    k, r = angle(x)
    high, low = pair_quotient(sine_pair(k, r), sine_pair(k + 16, r))
    return where(abs(x) < 2.0**-28, x, where(abs(x) < INF, high + low, NAN))


def half_turns(x: Steps) -> tuple[Steps, Pair]:
    """The angle pi x."""
    left = x - (x * 0.5).round() * 2.0
    n = (left * 32.0).round()
    r = pair_product(parts(left - n * (1 / 32)), _pi())
    return n.integer() & 63, r


def _pi() -> tuple[float, float]:
    return constants.PI[0], constants.PI[5]


def sinpi(x: Steps) -> Steps:
    high, low = sine_pair(*half_turns(where(abs(x) < 2.0**53, x, 0.0)))
    return where(abs(x) < INF, where(x.equals(x.round()), x * 0.0, high + low), NAN)


# Roots of unity.


def _sixty_fourths(k: Steps, left: Steps, n: Steps) -> Steps:
    """The sine of k + left / n 64ths of a turn."""
    pi_32 = constants.PI[0] / 32, constants.PI[5] / 32
    high, low = sine_pair(k.integer(), pair_product(pair_quotient(parts(left), parts(n)), pi_32))
    return high + low


_sine_of_turn = elementwise(_sixty_fourths)


def roots_of_unity(j: torch.Tensor, n: int) -> torch.Tensor:
    """exp(-2 pi i j / n) of integers j: the cosines and the negated sines, within 0.51 ulp."""
    j = torch.remainder(j, n)
    k = torch.div(128 * j + n, 2 * n, rounding_mode="floor")
    angle = k.double(), (64 * j - k * n).double()
    return torch.stack([_sine_of_turn(angle[0] + turn, angle[1], float(n)) for turn in (16, 32)])


# Their inverses.

_ARCTANGENTS = tables_of(constants.ARCTANGENTS)


def _arctangent(n: Pair, d: Pair) -> Pair:
    """atan(n / d) for 0 <= n <= d, d in [1/2, 4): atan(c) + atan((n - c d) / (d + c n)) for c = j / 32 near n / d."""
    j = (n[0] / d[0] * 32.0).round()
    c = j * (1 / 32)
    top, low = two_product(d[0], c)
    first, e = two_sum(n[0], -top)
    t = quick_two_sum(first, (e - low) + (n[1] - c * d[1]))
    product, low = two_product(n[0], c)
    first, e = two_sum(d[0], product)
    r = pair_quotient(t, quick_two_sum(first, (e + low) + (d[1] + c * n[1])))
    square = r[0] * r[0]
    more = square * r[0] * polynomial(square, *((-1) ** i / (2 * i + 1) for i in range(1, 8)))
    which = where(j.equals(j), j, 0.0).integer() & 63
    which = Steps(which.tensor.clamp(0, 32))
    high, e = two_sum(which.among(_ARCTANGENTS[0]), r[0])
    return quick_two_sum(high, e + (which.among(_ARCTANGENTS[1]) + (r[1] + more)))


def _direction(y: Pair, x: Pair) -> Pair:
    """The angle of the point (x, y), of y >= 0, the larger of both in [1/2, 4)."""
    right = x[0] > -1.0 * abs(x[0])
    side = pair_where(right | x[0].equals(0.0), x, (-x[0], -x[1]))
    steep = y[0] > side[0]
    angle = _arctangent(pair_where(steep, side, y), pair_where(steep, y, side))
    negated = -angle[0], -angle[1]
    half = constants.PI[1] + zeros(x[0]), constants.PI[6] + zeros(x[0])
    whole = constants.PI[0] + zeros(x[0]), constants.PI[5] + zeros(x[0])
    angle = pair_where(steep, pair_sum(half, negated), angle)
    return pair_where(x[0] < 0.0, pair_sum(whole, (-angle[0], -angle[1])), angle)


def atan2(y: Steps, x: Steps) -> Steps:
    """As atan2 of C says for special numbers."""
    up, across = abs(y), abs(x)
    infinite = where(up.equals(INF) | across.equals(INF), 1.0, 0.0).equals(1.0)
    n = where(infinite, where(up.equals(INF), 1.0, 0.0), up)
    d = where(infinite, where(across.equals(INF), 1.0, 0.0), across)
    larger = where(n > d, n, d)
    subnormal = larger < TINY
    scale = where(subnormal, 2.0**60, 1.0)
    n, d, larger = n * scale, d * scale, larger * scale
    k = 1023 - ((larger.bits() >> 52) & 2047)
    k = where(larger.equals(0.0), 0, k)
    n, d = scaled(n, k), scaled(d, k)
    d = where(larger.equals(0.0), 1.0, d)
    high, low = _direction(parts(n), parts(signed(d, x)))
    tiny = (n / d < 2.0**-30) & (signed(d, x) > 0.0)  # where the parts of products are no longer normal
    result = where(tiny, where(infinite, n, scaled(n / d, zeros(k))), high + low)
    result = signed(result, y)
    return where(x.equals(x) & y.equals(y), result, x + y)


def atan(x: Steps) -> Steps:
    size = abs(x)
    large = size > 2.0**60
    n = where(size > 1.0, 1.0, size)
    d = where(size > 1.0, where(large, 2.0**60, size), 1.0)
    mantissa = power_of_two(1023 - (d.bits() >> 52))
    angle = _arctangent(parts(n * mantissa), parts(d * mantissa))
    half = constants.PI[1] + zeros(x), constants.PI[6] + zeros(x)
    high, low = pair_where(size > 1.0, pair_sum(half, (-angle[0], -angle[1])), angle)
    result = signed(high + low, x)
    return where(x.equals(x) & ~(size < 2.0**-28), result, x)


def _other_leg(x: Steps) -> Pair:
    """sqrt(1 - x^2)."""
    return root_of(pair_product(two_sum(1.0, -x), two_sum(1.0, x)))


def asin(x: Steps) -> Steps:
    held = where(abs(x) > 1.0, 0.0, abs(x))
    high, low = _direction(parts(held), _other_leg(held))
    result = signed(high + low, x)
    result = where(abs(x) < 2.0**-28, x, result)
    return where(abs(x) > 1.0, NAN, where(x.equals(x), result, x))


def acos(x: Steps) -> Steps:
    held = where(abs(x) > 1.0, 0.0, x)
    high, low = _direction(_other_leg(held), parts(held))
    return where(abs(x) > 1.0, NAN, where(x.equals(x), where(x.equals(1.0), 0.0, high + low), x))


declare(acos, asin, atan, atan2, cos, sin, sinpi, tan)
