# SPDX-License-Identifier: MIT
"""Overloads whose form with `out=`, in place or of all elements torch has by another schema than the rest."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from ..cases import LARGE, of_one
from ..functions import power, sigmoid, xlogy
from ..numbers import add, float32, mul, quotient, sub
from ..philox import bernoulli, integers, keys
from ..registry import Arguments, from_core, reference
from ..sums import sum_of
from ..tensors import Tensor, each, from_lines, lines, reduced_shape, rounded
from ..words import in_words
from .choices import larger, smaller
from .functions_of_several import linspace, logspace
from .other_forms import arange, range_
from .samplers import normal_of_size, randperm

_LOW = ("", ".bfloat16", ".float16")
_SMALL = [c for c in of_one() if str(LARGE) not in c]


# Rows of numbers, into a tensor.


@reference(
    "arange.start_out",
    cases=[
        f"start={start}, end={end}, step={step}, out=bits{t}[{n}]#1"
        for start, end, step, t in (
            (0, 1000, 7, ".int64"),
            (-3.5, 900.25, 0.75, ""),
            (0, 40.1, 0.1, ""),
            (5, -7, -0.3, ".float64"),
        )
        for n in (0,)
    ],
)
def arange_into(start: Any, end: Any, step: Any, out: Tensor) -> Tensor:
    return arange(start, end, step, out.dtype)


@reference(
    "range.out",
    cases=[
        f"start={start}, end={end}, step={step}, out=bits{t}[0]#1"
        for start, end, step, t in ((0, 1000, 7, ".int64"), (-3.5, 901, 0.75, ""), (0, 40.1, 0.1, ""))
    ],
)
def range_into(start: Any, end: Any, step: Any, out: Tensor) -> Tensor:
    return range_(start, end, step, out.dtype)


_INTO = [
    f"start={a}, end={b}, steps={n}, out=bits{t}[{size}]#1"
    for a, b in ((-1.3, 7.1), (5, -5))
    for t in _LOW
    for n, size in ((50, 0), (50, 50), (1, 0))
]


@reference("linspace.out", cases=_INTO)
def linspace_into(start: Any, end: Any, steps: int, out: Tensor) -> Tensor:
    return linspace(start, end, steps, out.dtype)


@reference("logspace.out", cases=[*_INTO, *(f"{c}, base=0.3" for c in _INTO)])
def logspace_into(start: Any, end: Any, steps: int, out: Tensor, base: float = 10.0) -> Tensor:
    return logspace(start, end, steps, out.dtype, base)


# Random numbers.


@reference("normal.float_float_out", cases=[f"mean=0.3, std=2.5, size=[7, 29], out=bits{t}[0]#1, seed=3" for t in _LOW])
def normal_into(mean: float, std: float, size: list[int], out: Tensor, seed: int) -> Tensor:
    return normal_of_size(mean, std, size, out.dtype, seed)


@reference("bernoulli", cases=[f"self=unit{t}[7, 29]#1, seed={seed}" for t in _LOW for seed in (0, 7)])
def bernoulli_of_each(self: Tensor, seed: int) -> Tensor:
    return Tensor(self.dtype, self.shape, bernoulli(next(keys(seed)), self.data))


@reference(
    "random_.to",
    cases=[f"self=classes9[{n}]#1, to={to}, seed={seed}" for n in (1003, 0) for to in (10, 1 << 40) for seed in (0, 7)],
)
def random_below(self: Tensor, to: int, seed: int) -> Tensor:
    return Tensor(self.dtype, self.shape, integers(next(keys(seed)), len(self.data), 0, to - 1))


@reference(
    "randperm.generator_out",
    cases=[
        f"n={n}, generator=None, out=ties{t}[{size}]#1, seed=2"
        for t in (".int64", ".int32", "")
        for n, size in ((301, 0), (9, 9))
    ],
)
def randperm_into(n: int, generator: None, out: Tensor, seed: int) -> Tensor:
    return randperm(n, out.dtype, seed)


_BITS = {"float32": 24, "float16": 11, "bfloat16": 8, "int64": 63, "int32": 31, "int16": 15, "int8": 7, "uint8": 8}


@reference(
    "random_",
    cases=[f"self=ties{'' if d == 'float32' else '.' + d}[203]#1, seed={seed}" for d in _BITS for seed in (0, 7)],
)
def random_of_dtype(self: Tensor, seed: int) -> Tensor:
    """From 0 to the largest number of an integer dtype, or up to which one of floating point has all whole numbers."""
    last = 2 ** _BITS[self.dtype] - (not self.is_float)
    found = integers(next(keys(seed)), len(self.data), 0, last)
    return Tensor(self.dtype, self.shape, [float(x) if self.is_float else x for x in found])


# Sums and products of all elements, and along a dimension.

_ALL = [
    f"self={g}{t}[{shape}]#1"
    for t in _LOW
    for g, shape in (("normal", "5, 137"), ("special", "19"), ("zeros", "7, 3"), ("normal", "0"), ("wide", "9001"))
]


@reference("sum", cases=[*_ALL, f"self=normal[{LARGE}]#1, order='sequential'", "self=extreme.int32[99]#1"])
def sum_of_all(self: Tensor, order: str = "blocked") -> Tensor:
    if not self.is_float:
        return Tensor("int64", (), [sum(self.data)])
    return Tensor(self.dtype, (), [rounded(sum_of(self.data, order), self.dtype)])


@reference("mean", cases=[*_ALL, f"self=normal[{LARGE}]#1, order='sequential'"])
def mean_of_all(self: Tensor, order: str = "blocked") -> Tensor:
    total = float32(quotient(sum_of(self.data, order), float(len(self.data))))
    return Tensor(self.dtype, (), [rounded(total, self.dtype)])


@from_core("prod", "prod", wide=True)
def prod_of_all(arguments: Arguments) -> str | None:
    if arguments.get("dim") or arguments.get("keepdim"):
        return None
    return f"self={in_words(arguments['input'])}"


@reference(
    "_aminmax.dim",
    cases=[
        f"self={g}{t}[19, 37]#1, dim={d}, keepdim={d == 0}"
        for t in _LOW
        for g in ("zeros", "special", "ties")
        for d in (0, 1)
    ],
)
def aminmax_of_rows(self: Tensor, dim: int, keepdim: bool) -> list[Tensor]:
    shape = reduced_shape(self.shape, (dim,), keepdim)
    return [Tensor(self.dtype, shape, [reduce(best, line) for line in lines(self, dim)]) for best in (smaller, larger)]


def _median_of_rows(name: str, ignores_nan: bool) -> None:
    @reference(
        f"{name}.dim",
        cases=[
            f"self={g}{t}[19, 38]#1, dim={d}, keepdim={d == 0}"
            for t in (*_LOW, ".int64")
            for g in (("ties",) if "int" in t else ("ties", "zeros", "special", "normal"))
            for d in (0, 1)
        ],
    )
    def run(self: Tensor, dim: int, keepdim: bool) -> list[Tensor]:
        """The lower one of two; with the first place that has an equal number, or a NaN if that is the result."""
        values, places = [], []
        for line in lines(self, dim):
            known = sorted(x for x in line if x == x)
            has_none = not known if ignores_nan else len(known) < len(line)
            middle = math.nan if has_none else known[(len(known) - 1) // 2]
            place = next(i for i, x in enumerate(line) if x == middle or (has_none and x != x))
            values.append(line[place])
            places.append(place)
        shape = reduced_shape(self.shape, (dim,), keepdim)
        return [Tensor(self.dtype, shape, values), Tensor("int64", shape, places)]


_median_of_rows("median", ignores_nan=False)
_median_of_rows("nanmedian", ignores_nan=True)


# Functions of a number and a tensor.


@reference(
    "pow.Scalar",
    cases=[
        f"self={base}, {c}" for base in (2, 0.3, -1.7, 0.0, 1) for c in of_one(name="exponent") if str(LARGE) not in c
    ],
)
def power_of_number(self: float, exponent: Tensor) -> Tensor:
    base = float32(float(self))
    return each(lambda y: power(base, y), exponent)


@reference(
    "xlogy.Scalar_Self",
    cases=[f"self={x}, {c}" for x in (0.3, -0.0, 2) for c in of_one(name="other") if str(LARGE) not in c],
)
def xlogy_of_number(self: float, other: Tensor) -> Tensor:
    return each(lambda y: xlogy(float32(float(self)), y), other)


@reference("xlogy.Scalar_Other", cases=[f"{c}, other={y}" for y in (0.3, 0.0, 1, -2.5) for c in _SMALL])
def xlogy_by_number(self: Tensor, other: float) -> Tensor:
    return each(lambda x: xlogy(x, float32(float(other))), self)


@reference(
    "ldexp.Tensor",
    cases=[
        f"self={g}{t}[203]#1, other={e}[203]#2"
        for t in _LOW
        for g in ("bits", "zeros")
        for e in (f"ties{t}", "ties.int64")
    ],
)
def ldexp(self: Tensor, other: Tensor) -> Tensor:
    """x times 2 to the power of the other, both rounded."""
    powers = [rounded(power(2.0, float(y)), self.dtype) for y in other.data]
    return each(mul, self, Tensor(self.dtype, other.shape, powers))


@reference(
    "glu_jvp",
    cases=[
        f"glu=normal{t}[5, 7]#9, x={g}{t}[5, 14]#1, dx={g}{t}[5, 14]#2, dim=1"
        for t in _LOW
        for g in ("normal", "special", "zeros")
    ],
)
def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    """s da + ((1 - s) s db) a with s = sigmoid(b), both products rounded to the dtype."""

    def low(value: float) -> float:
        return rounded(value, x.dtype)  # type: ignore[no-any-return]

    found, n = [], glu.shape[1]
    for row, way in zip(lines(x, dim), lines(dx, dim), strict=True):
        of_row = []
        for a, b, da, db in zip(row[:n], row[n:], way[:n], way[n:], strict=True):
            s = sigmoid(b)
            of_row.append(low(add(low(mul(s, da)), low(mul(mul(mul(sub(1.0, s), s), db), a)))))
        found.append(of_row)
    return from_lines(found, glu.shape, dim, x.dtype)
