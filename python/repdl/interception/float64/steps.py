# SPDX-License-Identifier: MIT
"""Arithmetic of float64 in steps that round once: torch's own kernels of them, without the way through ours.

A function of float64 is one of `Steps`, given to `declare`; an op with other arguments is put into `float64_ops`.
Overrides take it from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.ops_by_dtype import float64_ops

INF, NAN = math.inf, math.nan
TINY = 2.0**-1022
"""The smallest normal number."""

Step = Callable[..., torch.Tensor]


def step(name: str) -> Step:
    native = native_of(name)
    call, keys = native.kernel.call_boxed, native.keys
    return lambda *args, **kwargs: call(keys, *args, **kwargs)


add, _sub, mul, _div = (step(f"{name}.Tensor") for name in ("add", "sub", "mul", "div"))
_neg, _abs, _round, _where = (step(name) for name in ("neg", "abs", "round", "where.self"))
_and, _or = step("bitwise_and.Tensor"), step("bitwise_or.Tensor")
_left, _right = step("bitwise_left_shift.Tensor"), step("bitwise_right_shift.Tensor")
_less, _greater, _equal = step("lt.Tensor"), step("gt.Tensor"), step("eq.Tensor")
_add_out = step("add.out")


def _tensor_of(is_integer: bool, number: float) -> torch.Tensor:
    return _kept(is_integer, number, math.copysign(1.0, number))


@cache
def _kept(is_integer: bool, number: float, sign: float) -> torch.Tensor:
    """The sign tells zeros apart, which are equal."""
    return torch.full((), number, dtype=torch.int64 if is_integer else torch.float64, device="cpu")


class Steps:
    """A tensor of float64, or of int64 for its bits; each operation is one step. A number beside it has its type."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __add__(self, other: Number) -> Steps:
        return Steps(add(self.tensor, _of(other)))

    def __radd__(self, other: float) -> Steps:
        return Steps(add(self.tensor, _of(other)))

    def __sub__(self, other: Number) -> Steps:
        return Steps(_sub(self.tensor, _of(other)))

    def __rsub__(self, other: float) -> Steps:
        return Steps(_sub(_of(other), self.tensor))

    def __mul__(self, other: Number) -> Steps:
        return Steps(mul(self.tensor, _of(other)))

    def __rmul__(self, other: float) -> Steps:
        return Steps(mul(self.tensor, _of(other)))

    def __truediv__(self, other: Number) -> Steps:
        return Steps(_div(self.tensor, _of(other)))

    def __rtruediv__(self, other: float) -> Steps:
        return Steps(_div(_of(other), self.tensor))

    def __neg__(self) -> Steps:
        return Steps(_neg(self.tensor))

    def __abs__(self) -> Steps:
        return Steps(_abs(self.tensor))

    def __and__(self, other: Number) -> Steps:
        return Steps(_and(self.tensor, _of(other)))

    def __or__(self, other: Number) -> Steps:
        return Steps(_or(self.tensor, _of(other)))

    def __lshift__(self, places: int) -> Steps:
        return Steps(_left(self.tensor, _of(places)))

    def __rshift__(self, places: int) -> Steps:
        return Steps(_right(self.tensor, _of(places)))

    def __lt__(self, other: Number) -> torch.Tensor:
        return _less(self.tensor, _of(other))

    def __gt__(self, other: Number) -> torch.Tensor:
        return _greater(self.tensor, _of(other))

    def equals(self, other: Number) -> torch.Tensor:
        return _equal(self.tensor, _of(other))

    def round(self) -> Steps:
        """To the nearest integer, ties to even."""
        return Steps(_round(self.tensor))

    def bits(self) -> Steps:
        """As int64, or of int64 as float64."""
        other = torch.int64 if self.tensor.dtype == torch.float64 else torch.float64
        return Steps(self.tensor.view(other))

    def integer(self) -> Steps:
        """As int64, of an integer below 2^51."""
        return (self + _MAGIC).bits() - _MAGIC_BITS

    def among(self, table: torch.Tensor) -> Steps:
        """The numbers of a table at these places."""
        return Steps(torch.take(table, self.tensor))


Number = Steps | float

_MAGIC = 1.5 * 2.0**52
_MAGIC_BITS = int(torch.full((), _MAGIC, dtype=torch.float64).view(torch.int64))


def _of(value: Number) -> torch.Tensor:
    return value.tensor if isinstance(value, Steps) else _tensor_of(type(value) is int, value)


def where(condition: torch.Tensor, then: Number, otherwise: Number) -> Steps:
    return Steps(_where(condition, _of(then), _of(otherwise)))


def add_into(target: torch.Tensor, other: torch.Tensor) -> None:
    _add_out(target, other, out=target)


zero = _tensor_of(False, 0.0)


def number_of(integer: Steps) -> Steps:
    """As float64, of an integer below 2^51."""
    return (integer + _MAGIC_BITS).bits() - _MAGIC


def power_of_two(exponent: Steps) -> Steps:
    """2^k for the int64 k of the normal numbers."""
    return ((exponent + 1023) << 52).bits()


def scaled(x: Steps, exponent: Steps) -> Steps:
    """x 2^k, rounded once where it is subnormal, for |k| below 2100."""
    half = exponent >> 1
    quarter = half >> 1
    parts = (quarter, half - quarter, exponent - half)
    for part in parts:
        x = x * power_of_two(part)
    return x


# Numbers in two parts (high, low), the low one below half an ulp of the high one.

Pair = tuple[Steps, Steps]


def two_sum(a: Number, b: Steps) -> Pair:
    """a + b exactly."""
    total = b + a
    part = total - a
    return total, (b - part) + (a - (total - part))


def quick_two_sum(a: Number, b: Steps) -> Pair:
    """a + b exactly, if |a| >= |b| or a = 0."""
    total = b + a
    return total, b - (total - a)


def _split(a: Steps) -> Pair:
    """Rounded to 26 digits, and the rest, of 26 and a sign: their products are exact."""
    high = ((a.bits() + 2**26) & -(2**27)).bits()
    return high, a - high


def two_product(a: Steps, b: Number) -> Pair:
    """a b, as exactly as two float64 hold it, where the parts are normal numbers."""
    product = a * b
    a_high, a_low = _split(a)
    b_high: Number
    b_low: Number
    if b is a:
        b_high, b_low = a_high, a_low
    else:
        b_high, b_low = _split(b) if isinstance(b, Steps) else _split_number(b)
    low = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, low


@cache
def _split_number(number: float) -> tuple[float, float]:
    high = float(_split(Steps(_tensor_of(False, number)))[0].tensor)
    return high, number - high


def pair_sum(a: Pair, b: Pair) -> Pair:
    high, low = two_sum(a[0], b[0])
    return quick_two_sum(high, low + (a[1] + b[1]))


def pair_product(a: Pair, b: tuple[Number, Number]) -> Pair:
    high, low = two_product(a[0], b[0])
    return quick_two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def pair_quotient(a: Pair, b: Pair) -> Pair:
    quotient = a[0] / b[0]
    high, low = two_product(b[0], quotient)
    rest = ((a[0] - high) - low + a[1]) - b[1] * quotient
    return quick_two_sum(quotient, rest / b[0])


def pair_where(condition: torch.Tensor, then: Pair, otherwise: Pair) -> Pair:
    return where(condition, then[0], otherwise[0]), where(condition, then[1], otherwise[1])


_PIECE = 2**15
"""So many elements at a time: their steps stay in the cache."""


def elementwise(function: Callable[..., Steps]) -> Callable[..., torch.Tensor]:
    """A function of tensors of float64, broadcast, from one of steps."""

    def kernel(*operands: Any) -> torch.Tensor:
        tensors = [t if isinstance(t, torch.Tensor) else _tensor_of(False, float(t)) for t in operands]
        tensors = [t if t.dtype == torch.float64 else t.to(torch.float64) for t in tensors]
        shape = tensors[0].shape if len(tensors) == 1 else torch.broadcast_shapes(*(t.shape for t in tensors))
        flat = [t.expand(shape).reshape(-1) for t in tensors]
        count = flat[0].shape[0]
        if count <= _PIECE:
            return function(*map(Steps, flat)).tensor.reshape(shape)
        result = flat[0].new_empty(count)
        for at in range(0, count, _PIECE):
            piece = function(*(Steps(t[at : at + _PIECE]) for t in flat)).tensor
            result[at : at + _PIECE].copy_(piece)
        return result.reshape(shape)

    return kernel


def declare(*functions: Callable[..., Steps], **named: Callable[..., Steps]) -> None:
    """Makes functions of steps ops of float64, by their names."""
    for function in functions:
        named[function.__name__] = function
    float64_ops.update({name: elementwise(function) for name, function in named.items()})
