# SPDX-License-Identifier: MIT
"""A few operations of IEEE-754 for each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..cases import FLOATS, LARGE, of_integers, of_one, of_two
from ..numbers import add, div, float32, mul, nearest, quotient, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, each, promoted, rounded
from .choices import absolute, down, is_negative, toward_zero

_BOTH = of_two(large="normal")
_INTEGERS = of_integers(names=("self", "other"))
_NUMBERS = [*of_one(more=", other=0.1"), *of_one(more=", other=-3")]


def _typed(name: str, function: Callable[[float, float], float], integers: Callable[[int, int], int] | None) -> None:
    """An operation of two tensors, and of a tensor and a number, in the type that both have."""

    def run(self: Any, other: Any) -> Tensor:
        is_float = promoted(self, other) in FLOATS
        return each(function if is_float else integers or function, self, other)

    reference(f"{name}.Tensor", cases=[*_BOTH, *(_INTEGERS if integers else [])])(run)
    reference(f"{name}.Scalar", cases=[*_NUMBERS, *of_integers(more=", other=3")] if integers else _NUMBERS)(run)


_typed("mul", mul, lambda x, y: x * y)


@reference(
    "mul.Tensor",
    cases=[
        "self=normal.bfloat16[33]#1, other=normal[33]#2",
        "self=classes9.int32[33]#1, other=normal.float16[33]#2",
        "self=extreme.int8[33]#1, other=extreme.int32[33]#2",
        "self=classes2.bool[77]#1, other=classes2.bool[77]#2",
    ],
)
def mul_of_types(self: Tensor, other: Tensor) -> Tensor:
    dtype = promoted(self, other)
    if dtype == "bool":
        return each(lambda x, y: x and y, self, other)
    if dtype not in FLOATS:
        return each(lambda x, y: x * y, self, other)
    # Operands have the type of the result first.
    return each(lambda x, y: mul(rounded(float(x), dtype), rounded(float(y), dtype)), self, other)


def _as_float(x: Any) -> float:
    return x if isinstance(x, float) else nearest(Fraction(int(x)), "float32")


@reference(
    "div.Tensor",
    cases=[
        *_BOTH,
        "self=extreme.int64[99]#1, other=ties.int64[99]#2",
        "self=extreme.uint8[99]#1, other=ties.int32[99]#2",
    ],
)
def divide(self: Tensor, other: Tensor) -> Tensor:
    dtype = promoted(self, other)
    return each(
        lambda x, y: div(_as_float(x), _as_float(y)), self, other, dtype=dtype if dtype in FLOATS else "float32"
    )


@reference("div.Scalar", cases=[*_NUMBERS, *of_one(more=", other=0.0"), "self=extreme.int64[99]#1, other=3"])
def divide_by_number(self: Tensor, other: Any) -> Tensor:
    dtype = self.dtype if self.is_float else "float32"
    return each(lambda x, y: div(_as_float(x), _as_float(y)), self, other, dtype=dtype)


def remainder_toward_zero(x: float, y: float) -> float:
    """x - n y for the whole n toward zero, exact; with the sign of x."""
    if x != x or y != y or math.isinf(x) or y == 0:
        return math.nan
    return x if math.isinf(y) else math.fmod(x, y)


def remainder_down(x: float, y: float) -> float:
    """With the sign of y, one rounding."""
    rest = remainder_toward_zero(x, y)
    return add(rest, y) if rest != 0 and is_negative(rest) != is_negative(y) else rest


def quotient_down(x: float, y: float, dtype: str = "float32") -> float:
    """floor(x / y) by way of the remainder, as torch has it; every step is rounded to the dtype."""

    def low(value: float) -> float:
        return rounded(value, dtype)  # type: ignore[no-any-return]

    if y == 0:
        return low(div(x, y))
    rest = remainder_toward_zero(x, y)
    whole = low(div(low(sub(x, rest)), y))
    if rest != 0 and (y < 0) != (rest < 0):
        whole = low(sub(whole, 1.0))
    if whole == 0:
        return math.copysign(0.0, quotient(x, y))
    below = low(down(whole))
    return low(add(below, 1.0)) if low(sub(whole, below)) > 0.5 else below


_BY_NUMBER = [*of_one(more=", other=0.3"), *of_one(more=", other=-inf"), "self=extreme.int64[99]#1, other=-3"]


def _whole(name: str, real: Any, integer: Any) -> None:
    def run(self: Any, other: Any) -> Tensor:
        dtype = promoted(self, other)
        if dtype not in FLOATS:
            return each(integer, self, other)
        if isinstance(other, (int, float)):
            other = rounded(float32(other), dtype)  # torch makes a tensor of it
        return each(real, self, other)

    reference(f"{name}.Tensor", cases=_BOTH)(run)
    reference(f"{name}.Scalar", cases=_BY_NUMBER)(run)


_whole("fmod", remainder_toward_zero, lambda x, y: abs(x) % abs(y) * (1 if x >= 0 else -1))
_whole("remainder", remainder_down, lambda x, y: x % y)


@reference("floor_divide", cases=_BOTH)
def floor_divide(self: Tensor, other: Tensor) -> Tensor:
    dtype = promoted(self, other)
    return each(lambda x, y: quotient_down(x, y, dtype), self, other)


@reference("floor_divide.Scalar", cases=_BY_NUMBER)
def floor_divide_by_number(self: Tensor, other: Any) -> Tensor:
    if not self.is_float:
        return each(lambda x, y: x // y, self, other)
    return each(quotient_down, self, float(other))  # of a number in float32, rounded at the end


_MODES = [f"{call}, rounding_mode='{mode}'" for mode in ("floor", "trunc") for call in _BOTH]


@reference("div.Tensor_mode", cases=[*_MODES, "self=special[19]#1, other=special[19]#2, rounding_mode=None"])
def divide_rounded(self: Tensor, other: Tensor, rounding_mode: str | None) -> Tensor:
    if rounding_mode is None:
        return each(div, self, other)
    if rounding_mode == "floor":
        return floor_divide(self, other)
    dtype = promoted(self, other)
    return each(lambda x, y: toward_zero(rounded(div(x, y), dtype)), self, other)


def _one(name: str, function: Callable[[float], float], more: list[str] | None = None) -> None:
    @reference(name, cases=more or of_one(large="normal"))
    def run(self: Tensor) -> Tensor:
        return each(function, self)


_RADIAN, _DEGREE = math.pi / 180, 180 / math.pi
_one("reciprocal", lambda x: div(1.0, x))
_one("deg2rad", lambda x: mul(x, float32(_RADIAN)))
_one("rad2deg", lambda x: mul(x, float32(_DEGREE)))


def held(x: float, low: float, high: float) -> float:
    x = low if x < low else x
    return high if x > high else x


_one("hardsigmoid", lambda x: div(held(add(x, 3.0), 0.0, 6.0), 6.0))
_one("hardswish", lambda x: div(mul(x, held(add(x, 3.0), 0.0, 6.0)), 6.0))

_SLOPES = of_two(names=("grad_output", "self"), large="normal")


@reference("hardsigmoid_backward", cases=_SLOPES)
def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return each(lambda g, x: mul(g, float32(1 / 6)) if -3 < x < 3 else 0.0, grad_output, self)


@reference("hardswish_backward", cases=_SLOPES)
def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    def slope(g: float, x: float) -> float:
        if x <= -3:
            return 0.0
        return mul(g, add(div(x, 3.0), 0.5)) if x < 3 else g

    return each(slope, grad_output, self)


_TWO = of_two(names=("self", "target"), large="normal")


def reduced(loss: Tensor, reduction: int) -> Tensor:
    """A loss for each element, or its mean, or its sum. Means and sums are computed in float32."""
    if reduction == 0:
        return loss
    total = sum_of(loss.data)
    if reduction == 1:
        total = div(total, float(len(loss.data)))
    return Tensor(loss.dtype, (), [rounded(total, loss.dtype)])


def part_of(terms: Tensor, reduction: int) -> float:
    """The part that each term has in the loss."""
    return nearest(Fraction(1, len(terms.data)), "float32") if reduction == 1 else 1.0


def _loss(name: str, function: Callable[..., float], settings: list[str]) -> None:
    @reference(
        name,
        cases=[
            *(f"{call}, reduction=0{more}" for call in _TWO for more in settings),
            *(
                f"self=normal{t}[9, 500]#1, target=normal{t}[9, 500]#2, reduction={r}{more}"
                for t in ("", ".bfloat16", ".float16")
                for r in (1, 2)
                for more in settings
            ),
        ],
    )
    def run(self: Tensor, target: Tensor, reduction: int = 1, **settings: float) -> Tensor:
        """Of low types rounded at the end alone."""
        values = tuple(settings.values())
        found = reduced(each(lambda x, y: function(x, y, *values), self, target, dtype="float32"), reduction)
        return Tensor(self.dtype, found.shape, [rounded(x, self.dtype) for x in found.data])


def _smooth(x: float, y: float, beta: float) -> float:
    """(1/2 d) d / beta below beta, d - 1/2 beta above."""
    away, beta = absolute(sub(x, y)), float32(beta)
    if away < beta:
        return div(mul(mul(0.5, away), away), beta)
    return sub(away, mul(0.5, beta))


def _huber(x: float, y: float, delta: float) -> float:
    away, delta = absolute(sub(x, y)), float32(delta)
    if away < delta:
        return mul(mul(0.5, away), away)
    return mul(delta, sub(away, mul(0.5, delta)))


@reference(
    "mse_loss",
    cases=[
        *(f"{call}, reduction=0" for call in _TWO),
        *(
            f"self=normal{t}[9, 500]#1, target=normal{t}[9, 500]#2, reduction={r}"
            for t in ("", ".bfloat16", ".float16")
            for r in (1, 2)
        ),
    ],
)
def mse_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Of low types torch rounds the difference, and its square."""
    away = each(sub, self, target)
    return reduced(each(mul, away, away), reduction)


_loss("smooth_l1_loss", _smooth, [", beta=1.0", ", beta=0.3"])
_loss("huber_loss", _huber, [", delta=1.0", ", delta=0.3"])


def _slopes(name: str, more: str, slope: Callable[..., float]) -> None:
    @reference(
        name,
        cases=[
            f"grad_output={g}{t}[{'' if r else shape}]#3, self={x}{t}[{shape}]#1, target={x}{t}[{shape}]#2, "
            f"reduction={r}{more}"
            for t in ("", ".bfloat16", ".float16")
            for g, x, shape in (
                ("normal", "normal", "9, 51"),
                ("normal", "ties", "203"),
                ("special", "special", "19, 37"),
            )
            for r in (0, 1, 2)
        ],
    )
    def run(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, **settings: float) -> Tensor:
        part = part_of(self, reduction)
        values = [float32(value) for value in settings.values()]
        return each(lambda g, x, y: slope(g, sub(x, y), part, *values), grad_output, self, target)


def _smooth_slope(g: float, away: float, part: float, beta: float) -> float:
    """The part times d times the gradient over beta, or plus or minus the part times the gradient."""
    far = mul(part, g)
    return -far if away <= -beta else far if away >= beta else div(mul(mul(part, away), g), beta)


def _huber_slope(g: float, away: float, part: float, delta: float) -> float:
    far = mul(mul(part, g), delta)
    return -far if away <= -delta else far if away >= delta else mul(mul(part, away), g)


_slopes("smooth_l1_loss_backward", ", beta=0.3", _smooth_slope)
_slopes("huber_loss_backward", ", delta=0.3", _huber_slope)


_DROPPED = [
    f"grad_output=special{t}[19, 37]#1, mask=classes2.bool[19, 37]#2, scale=1.1" for t in ("", ".bfloat16", ".float16")
]


@reference(
    "native_dropout_backward",
    cases=[*_DROPPED, f"grad_output=normal[{LARGE}]#1, mask=classes2.bool[{LARGE}]#2, scale=1.4285714285714286"],
)
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """grad * (mask * scale)."""
    factor = float32(scale)
    return each(lambda g, m: mul(g, m * factor), grad_output, mask, common=grad_output.dtype)
