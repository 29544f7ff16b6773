# SPDX-License-Identifier: MIT
"""Choices, changes of sign and rounding to integers, element by element."""

from __future__ import annotations

import math
import struct
from typing import Any

from ..cases import FLOATS, INTEGERS, LARGE, of_integers, of_one, of_two
from ..numbers import float32
from ..registry import reference
from ..tensors import Tensor, broadcast_shape, each, expand, promoted


def is_negative(x: float) -> bool:
    """Whether the sign of a floating-point number is set."""
    return math.copysign(1.0, x) < 0


def larger(x: Any, y: Any) -> Any:
    """The larger; NaN if one is; +0 of both zeros."""
    if x != x or y != y:
        return math.nan
    if x == y:
        return y if isinstance(x, float) and is_negative(x) else x
    return x if x > y else y


def smaller(x: Any, y: Any) -> Any:
    """The smaller; NaN if one is; -0 of both zeros."""
    if x != x or y != y:
        return math.nan
    if x == y:
        return x if isinstance(x, float) and is_negative(x) else y
    return x if x < y else y


def toward_zero(x: float) -> float:
    return math.copysign(float(math.trunc(x)), x) if math.isfinite(x) else x


def down(x: float) -> float:
    return math.copysign(float(math.floor(x)), x) if math.isfinite(x) else x


def up(x: float) -> float:
    return math.copysign(float(math.ceil(x)), x) if math.isfinite(x) else x


def to_even(x: float) -> float:
    """The nearest integer, the even one of two."""
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


def sign(x: Any) -> Any:
    """Of NaN it is 0, as torch has it."""
    return type(x)((x > 0) - (x < 0))


def absolute(x: Any) -> Any:
    return math.copysign(x, 1.0) if isinstance(x, float) else abs(x)


def _one(*names: str, function: Any, integers: bool = True) -> None:
    cases = of_one() + (of_integers() if integers else [])

    @reference(*names, cases=cases)
    def run(self: Tensor) -> Tensor:
        return each(function, self)


_one("abs", "abs_", function=absolute)
_one("neg", function=lambda x: -x)
_one("sign", function=sign)
_one("sgn", function=sign)
_one("relu", function=lambda x: type(x)(0) if x < 0 else x)
_one("ceil", function=lambda x: up(x) if isinstance(x, float) else x)
_one("floor", function=lambda x: down(x) if isinstance(x, float) else x)
_one("trunc", function=lambda x: toward_zero(x) if isinstance(x, float) else x)
_one("round", function=lambda x: to_even(x) if isinstance(x, float) else x)
_one("frac", function=lambda x: x - toward_zero(x), integers=False)


def _test(name: str, function: Any, integers: bool = True) -> None:
    @reference(name, cases=of_one() + (of_integers() if integers else []))
    def run(self: Tensor) -> Tensor:
        return each(lambda x: bool(function(x)), self, dtype="bool")


_test("isnan", lambda x: x != x)
_test("isinf", lambda x: x in (math.inf, -math.inf))
_test("isposinf", lambda x: x == math.inf)
_test("isneginf", lambda x: x == -math.inf)
_test("signbit", lambda x: is_negative(x) and not math.isnan(x) if isinstance(x, float) else x < 0)
_test("logical_not", lambda x: x == 0)


@reference("bitwise_not", cases=[*of_integers(), "self=classes2.bool[77]#1"])
def bitwise_not(self: Tensor) -> Tensor:
    return each((lambda x: 1 - x) if self.dtype == "bool" else (lambda x: ~x), self)


def _two(name: str, function: Any, cases: list[str]) -> None:
    @reference(name, cases=cases)
    def run(self: Tensor, other: Any) -> Tensor:
        return each(function, self, other)


_BOTH = of_two() + of_integers(names=("self", "other"))
_two("maximum", larger, _BOTH)
_two("minimum", smaller, _BOTH)
_two("fmax", lambda x, y: x if y != y else y if x != x else larger(x, y), _BOTH)
_two("fmin", lambda x, y: x if y != y else y if x != x else smaller(x, y), _BOTH)
_NUMBERS = [*of_one(more=", other=-0.0"), *of_one(more=", other=nan"), *of_one(more=", other=-nan")]
for _name, _cases in (("copysign.Tensor", of_two()), ("copysign.Scalar", _NUMBERS)):
    _two(_name, lambda x, y: math.copysign(x, 1.0 if math.isnan(y) else y), _cases)


def _heaviside(x: Any, at_zero: Any) -> Any:
    """Of NaN it is 0, as torch has it."""
    return at_zero if x == 0 else type(at_zero)(x > 0)


_two_values = of_two(names=("self", "values")) + of_integers(names=("self", "values"))


@reference("heaviside", cases=_two_values)
def heaviside(self: Tensor, values: Tensor) -> Tensor:
    return each(_heaviside, self, values)


def _next(x: float, y: float, dtype: str) -> float:
    if x != x or y != y:
        return math.nan
    if x == y:
        return y
    smallest = 2.0**-149 if dtype == "float32" else 2.0**-133
    if x == 0:
        return math.copysign(smallest, y)
    kind, shift = ("<I", 0) if dtype == "float32" else ("<I", 16)
    bits = struct.unpack(kind, struct.pack("<f", x))[0] >> shift
    bits += 1 if (y > x) == (x > 0) else -1
    return struct.unpack("<f", struct.pack("<I", bits << shift))[0]  # type: ignore[no-any-return]


@reference("nextafter", cases=of_two(("float32", "bfloat16")))
def nextafter(self: Tensor, other: Tensor) -> Tensor:
    dtype = promoted(self, other)
    return each(lambda x, y: _next(x, y, dtype), self, other)


_COMPARE = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
    "logical_xor": lambda x, y: bool(x) != bool(y),
}


def _compare(name: str, function: Any) -> None:
    overload = name if name.startswith("logical") else f"{name}.Tensor"

    @reference(overload, cases=_BOTH)
    def run(self: Tensor, other: Tensor) -> Tensor:
        return each(lambda x, y: bool(function(x, y)), self, other, dtype="bool")

    if name.startswith("logical"):
        return

    @reference(f"{name}.Scalar", cases=[*of_one(more=", other=0.5"), *of_integers(more=", other=2")])
    def run_with_number(self: Tensor, other: Any) -> Tensor:
        return each(lambda x, y: bool(function(x, y)), self, other, dtype="bool")


for _name, _function in _COMPARE.items():
    _compare(_name, _function)


def at_least(x: Any, low: Any) -> Any:
    """A number that is not below the bound stays as it is, so a zero keeps its sign, and so does NaN."""
    return low if low is not None and (x < low or low != low) else x


def at_most(x: Any, high: Any) -> Any:
    return high if high is not None and (x > high or high != high) else x


_BOUNDS = (", min=-0.5, max=1.5", ", min=0.0", ", max=-0.0", ", min=0.1, max=0.1")


@reference(
    "clamp",
    cases=[
        *(call for more in _BOUNDS for call in of_one(more=more)),
        *of_integers(INTEGERS[:-1], more=", min=-3, max=7"),
        *of_one(more=", min=2.0, max=-2.0"),
    ],
)
def clamp(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    return each(lambda x, low, high: at_most(at_least(x, low), high), self, min, max)


@reference("clamp_min", cases=[*of_one(more=", min=0.0"), *of_integers(more=", min=2"), *of_one(more=", min=0.3")])
def clamp_min(self: Tensor, min: Any) -> Tensor:
    return each(at_least, self, min)


@reference("clamp_max", cases=[*of_one(more=", max=-0.0"), *of_integers(more=", max=2"), *of_one(more=", max=0.3")])
def clamp_max(self: Tensor, max: Any) -> Tensor:
    return each(at_most, self, max)


def _of_bounds(dtype: str) -> list[str]:
    t = "" if dtype == "float32" else "." + dtype
    return [
        f"self=special{t}[19, 37]#1, min=special{t}[19, 37]#2, max=special{t}[19, 37]#3",
        f"self=zeros{t}[137]#1, min=zeros{t}[137]#2, max=zeros{t}[137]#3",
        f"self=normal{t}[5, 9]#1, max=ties{t}[9]#3",
        f"self=zeros{t}[5, 9]#1, min=zeros{t}[5, 1]#3",
    ]


@reference(
    "clamp.Tensor",
    cases=[*(c for d in FLOATS for c in _of_bounds(d)), f"self=zeros[{LARGE}]#1, min=zeros[{LARGE}]#2, max=ties[]#3"],
)
def clamp_by_tensors(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    result = self if min is None else each(at_least, self, min)
    return result if max is None else each(at_most, result, max)


@reference("clamp_min.Tensor", cases=of_two(names=("self", "min")) + of_integers(names=("self", "min")))
def clamp_min_by_tensor(self: Tensor, min: Tensor) -> Tensor:
    return each(at_least, self, min)


@reference("clamp_max.Tensor", cases=of_two(names=("self", "max")) + of_integers(names=("self", "max")))
def clamp_max_by_tensor(self: Tensor, max: Tensor) -> Tensor:
    return each(at_most, self, max)


@reference("hardtanh", cases=[*of_one(), *of_one(more=", min_val=-0.0, max_val=0.3")])
def hardtanh(self: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    return each(lambda x, low, high: at_most(at_least(x, low), high), self, min_val, max_val)


def _with_slope(name: str) -> list[str]:
    return of_two(names=("grad_output", "self"), more=name)


@reference("hardtanh_backward", cases=_with_slope(", min_val=-0.5, max_val=1.5"))
def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: float, max_val: float) -> Tensor:
    return each(lambda g, x, a, b: 0.0 if x <= a or x >= b else g, grad_output, self, min_val, max_val)


@reference(
    "threshold", cases=[*of_one(more=", threshold=0.1, value=-1.3"), *of_one(more=", threshold=0.0, value=-0.0")]
)
def threshold(self: Tensor, threshold: Any, value: Any) -> Tensor:
    return each(lambda x, t, v: v if x <= t else x, self, threshold, value)


@reference("threshold_backward", cases=[*_with_slope(", threshold=0.0"), *_with_slope(", threshold=0.5")])
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    return each(lambda g, x, t: 0.0 if x <= t else g, grad_output, self, threshold)


@reference("hardshrink", cases=[*of_one(more=", lambd=0.5"), *of_one(more=", lambd=0.0")])
def hardshrink(self: Tensor, lambd: Any) -> Tensor:
    return each(lambda x, w: 0.0 if -w <= x <= w else x, self, lambd)


@reference("hardshrink_backward", cases=of_two(names=("grad_out", "self"), more=", lambd=0.5"))
def hardshrink_backward(grad_out: Tensor, self: Tensor, lambd: Any) -> Tensor:
    return each(lambda g, x, w: 0.0 if -w <= x <= w else g, grad_out, self, lambd)


@reference("softshrink_backward", cases=_with_slope(", lambd=0.5"))
def softshrink_backward(grad_output: Tensor, self: Tensor, lambd: Any) -> Tensor:
    return each(lambda g, x, w: 0.0 if -w <= x <= w else g, grad_output, self, lambd)


@reference("leaky_relu", cases=[*of_one(more=", negative_slope=0.3"), *of_one()])
def leaky_relu(self: Tensor, negative_slope: Any = 0.01) -> Tensor:
    return each(lambda x, s: x if x > 0 else float32(x * s), self, negative_slope)


@reference("leaky_relu_backward", cases=_with_slope(", negative_slope=0.3, self_is_result=False"))
def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: Any, self_is_result: bool) -> Tensor:
    return each(lambda g, x, s: g if x > 0 else float32(g * s), grad_output, self, negative_slope)


@reference("_prelu_kernel", cases=of_two(names=("self", "weight")))
def prelu(self: Tensor, weight: Tensor) -> Tensor:
    return each(lambda x, s: x if x > 0 else float32(x * s), self, weight)


@reference("nan_to_num", cases=[*of_one(), *of_one(more=", nan=0.3, posinf=7.1, neginf=-inf")])
def nan_to_num(self: Tensor, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Tensor:
    largest = {"float32": 2.0**128 - 2.0**104, "float16": 65504.0, "bfloat16": 2.0**128 - 2.0**120}[self.dtype]

    def known(x: float) -> float:
        if x != x:
            return 0.0 if nan is None else nan
        if x == math.inf:
            return largest if posinf is None else posinf
        if x == -math.inf:
            return -largest if neginf is None else neginf
        return x

    return each(lambda x: float32(known(x)), self)


@reference("frexp.Tensor", cases=of_one(("float32", "float16")))
def frexp(self: Tensor) -> list[Tensor]:
    pairs = [math.frexp(x) if math.isfinite(x) else (x, 0) for x in self.data]
    return [
        Tensor(self.dtype, self.shape, [m for m, _ in pairs]),
        Tensor("int32", self.shape, [e for _, e in pairs]),
    ]


_NUMBERS = of_integers(names=("self", "other"))


def _integer_op(name: str, function: Any, cases: list[str]) -> None:
    @reference(name, cases=cases)
    def run(self: Tensor, other: Any) -> Tensor:
        return each(function, self, other)


_BITS = [
    *_NUMBERS,
    "self=classes2.bool[77]#1, other=classes2.bool[77]#2",
    f"self=extreme.int64[{LARGE}]#1, other=extreme.int64[{LARGE}]#2",
]
_integer_op("bitwise_and.Tensor", lambda x, y: x & y, _BITS)
_integer_op("bitwise_or.Tensor", lambda x, y: x | y, _BITS)
_integer_op("bitwise_xor.Tensor", lambda x, y: x ^ y, _BITS)


_SMALL = [f"self=ties.{d}[5, 43]#1, other=ties.{d}[43]#2" for d in ("int64", "int32", "int16", "int8")]
# torch's kernels end the process for the least integer and -1.


@reference("gcd", cases=[*_SMALL, "self=classes99999[99]#1, other=classes1000[99]#2"])
def gcd(self: Tensor, other: Tensor) -> Tensor:
    return each(math.gcd, self, other)


@reference("lcm", cases=[*_SMALL, "self=classes99999[99]#1, other=classes1000[99]#2"])
def lcm(self: Tensor, other: Tensor) -> Tensor:
    return each(lambda x, y: math.lcm(x, y), self, other)


_BY = [
    f"self=extreme.{d}[5, 43]#1, other=classes{w}.{d}[5, 43]#2"
    for d, w in zip(INTEGERS, (64, 32, 16, 8, 8), strict=True)
]


def _shift(names: tuple[str, ...], function: Any) -> None:
    @reference(*names, cases=_BY)
    def run(self: Tensor, other: Tensor) -> Tensor:
        return each(function, self, other)


_shift(("bitwise_left_shift.Tensor", "__lshift__.Tensor"), lambda x, y: x << y)
_shift(("bitwise_right_shift.Tensor", "__rshift__.Tensor"), lambda x, y: x >> y)


@reference(
    "_prelu_kernel_backward",
    cases=[
        f"grad_output=special{t}[19, 37]#3, {c}"
        for t in ("", ".bfloat16", ".float16")
        for c in (f"self=special{t}[19, 37]#1, weight=special{t}[19, 37]#2",)
    ],
)
def prelu_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> list[Tensor]:
    shape = broadcast_shape(grad_output.shape, self.shape, weight.shape)
    by_weight = each(lambda g, x: 0.0 if x > 0 else float32(g * x), grad_output, self)
    return [
        each(lambda g, x, w: g if x > 0 else float32(g * w), grad_output, self, weight),
        Tensor(by_weight.dtype, shape, expand(by_weight, shape)),
    ]
