# SPDX-License-Identifier: MIT
"""Lists of tensors with a number, or a number for each: each tensor as by itself."""

from __future__ import annotations

from collections.abc import Callable

from ..cases import FLOATS
from ..numbers import add, div, float32, mul, sub
from ..registry import Arguments, from_core, reference
from ..sums import sum_of
from ..tensors import Tensor, each, rounded
from ..words import in_words
from .choices import at_least, at_most, larger, smaller

_LISTS = [
    f"self=[{g}{t}[203]#1, special{t}[3, 7]#2, normal{t}[0]#3]"
    for t in ("" if d == "float32" else f".{d}" for d in FLOATS)
    for g in ("bits", "zeros")
]
_NUMBERS = (0.3, -0.0, float("inf"), float("nan"))


def _with_numbers(name: str, function: Callable[[float, float], float], *, in_dtype: bool = False) -> None:
    """`in_dtype` makes a tensor of the number, which is rounded to its dtype."""

    def one(x: Tensor, number: float) -> Tensor:
        given = rounded(float32(number), x.dtype) if in_dtype else number
        return each(function, x, given)

    @reference(f"_foreach_{name}.Scalar", cases=[f"{c}, scalar={number}" for c in _LISTS for number in _NUMBERS])
    def of_number(self: list[Tensor], scalar: float) -> list[Tensor]:
        return [one(x, scalar) for x in self]

    @reference(f"_foreach_{name}.ScalarList", cases=[f"{c}, scalars=[0.3, -0.0, 2.0]" for c in _LISTS])
    def of_numbers(self: list[Tensor], scalars: list[float]) -> list[Tensor]:
        return [one(x, number) for x, number in zip(self, scalars, strict=True)]


_with_numbers("add", add)
_with_numbers("sub", sub)
_with_numbers("mul", mul)
_with_numbers("div", div)
_with_numbers("clamp_min", at_least)
_with_numbers("clamp_max", at_most)
_with_numbers("maximum", larger, in_dtype=True)
_with_numbers("minimum", smaller, in_dtype=True)


@reference("_foreach_clone", cases=[*_LISTS, "self=[extreme.int64[9]#1, bits.complex64[3, 7]#2]"])
def clones(self: list[Tensor]) -> list[Tensor]:
    return self


@reference("_foreach_powsum.Scalar", cases=[f"self=[{g}[203]#1, normal[3, 7]#2]" for g in ("wide", "special")])
def sums_of_squares(self: list[Tensor]) -> list[Tensor]:
    return [Tensor(x.dtype, (), [sum_of([mul(v, v) for v in x.data])]) for x in self]


# What is an op of the core, as a list of one.


def _of_one(op: str, overload: str, numbers: str = "") -> None:
    """`numbers` is what the list of the number `value` is called."""

    @from_core(op, overload, wide=True)
    def translate(arguments: Arguments) -> str:
        words = []
        for name, value in arguments.items():
            if name == "value":
                words.append(f"{numbers}=[{value}]" if numbers else f"value={value}")
            else:
                words.append(f"{'self' if name == 'input' else name}=[{in_words(value)}]")
        return ", ".join(words)


for _name in ("acos", "asin", "atan", "cosh", "lgamma", "sinh"):
    _of_one(_name, f"_foreach_{_name}")
for _name in ("addcmul", "addcdiv"):
    _of_one(_name, f"_foreach_{_name}.Scalar")
    _of_one(_name, f"_foreach_{_name}.ScalarList", "scalars")


@from_core("norm", "_foreach_norm.Scalar", wide=True)
def norms(arguments: Arguments) -> str | None:
    if arguments.get("dim") or arguments.get("keepdim"):
        return None
    return f"self=[{in_words(arguments['input'])}], ord=2, order={arguments['order']!r}"


@from_core("mm", "_foreach_mm", wide=True)
def products(arguments: Arguments) -> str | None:
    a, b = arguments["input"], arguments["mat2"]
    if "transA" in arguments or "transB" in arguments or len(a.shape) != 2 or len(b.shape) != 2:
        return None
    return f"self=[{in_words(a)}], mat2=[{in_words(b)}], order={arguments['order']!r}"
