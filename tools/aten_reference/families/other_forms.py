# SPDX-License-Identifier: MIT
"""Other forms of ops that have references: of lists, of all elements, with numbers."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import mpmath

from ..cases import LARGE, of_two
from ..functions import exp64
from ..numbers import add, div, float32, mul, sqrt, sub
from ..registry import reference
from ..sums import product_of, sum_of
from ..tensors import Tensor, each, from_lines, groups, lines, reduced_shape, rounded
from .choices import absolute, down, larger, sign, smaller, to_even, toward_zero, up
from .reductions_of_choices import unique

_LOW = ("", ".bfloat16", ".float16")
_LISTS = [f"self=[special{t}[203]#1, bits{t}[3, 7]#2, normal{t}[0]#3]" for t in _LOW]


def _foreach(name: str, function: Any) -> None:
    @reference(f"_foreach_{name}", cases=_LISTS)
    def run(self: list[Tensor]) -> list[Tensor]:
        return [each(function, x) for x in self]


_foreach("abs", absolute)
_foreach("ceil", up)
_foreach("floor", down)
_foreach("round", to_even)
_foreach("trunc", toward_zero)
_foreach("sign", sign)
_foreach("frac", lambda x: x - toward_zero(x))


@reference("_foreach_max", cases=["self=[ties[203]#1, zeros.bfloat16[3, 7]#2]"])
def foreach_max(self: list[Tensor]) -> list[Tensor]:
    return [Tensor(t.dtype, (), [reduce(larger, t.data)]) for t in self]


@reference("_aminmax", cases=["self=zeros[203]#1", f"self=special[{LARGE}]#1", "self=ties.int64[99]#1"])
def aminmax_of_all(self: Tensor) -> list[Tensor]:
    return [Tensor(self.dtype, (), [reduce(best, self.data)]) for best in (smaller, larger)]


@reference("_is_all_true", cases=["self=classes2.bool[99]#1", "self=classes1.bool[99]#1"])
def is_all_true(self: Tensor) -> Tensor:
    return Tensor("bool", (), [int(all(self.data))])


@reference("_is_any_true", cases=["self=classes2.bool[99]#1", "self=classes1.bool[99]#1"])
def is_any_true(self: Tensor) -> Tensor:
    return Tensor("bool", (), [int(any(self.data))])


@reference(
    "_unique",
    cases=[
        "self=ties.int64[203]#1, sorted=True, return_inverse=True",
        "self=normal[99]#1, sorted=True, return_inverse=True",
    ],
)
def unique_without_counts(self: Tensor, sorted: bool, return_inverse: bool) -> list[Tensor]:
    return unique(self, True, True, True)[:2]


@reference(
    "arange.start_step",
    cases=[
        "start=0, end=1000, step=7, dtype=int64",
        "start=-3.5, end=900.25, step=0.75, dtype=float32",
        "start=0, end=40.1, step=0.1, dtype=float32",
    ],
)
def arange(start: Any, end: Any, step: Any, dtype: str) -> Tensor:
    """start + step * i in binary64, rounded once."""
    count = math.ceil((end - start) / step)
    values = [start + step * i for i in range(count)]
    return Tensor(dtype, (count,), [float32(x) if dtype == "float32" else x for x in values])


@reference(
    "range.step",
    cases=[
        "start=0, end=1000, step=7, dtype=int64",
        "start=-3.5, end=901, step=0.75, dtype=float32",
        "start=0, end=40.1, step=0.1, dtype=float32",
        "start=7, end=-7, step=-1, dtype=float32",
    ],
)
def range_(start: Any, end: Any, step: Any, dtype: str) -> Tensor:
    """start + step * i in binary64, rounded once, with the end."""
    count = math.floor((end - start) / step) + 1
    values = [start + step * i for i in range(count)]
    return Tensor(dtype, (count,), [float32(x) if dtype == "float32" else x for x in values])


_FREQUENCIES = [f"n={n}, d={d}, dtype=float32" for n, d in ((1, 1.0), (2, 0.3), (7, 1.0), (1000, 0.01), (100003, 3.7))]


@reference("fft_fftfreq", cases=_FREQUENCIES)
def fft_fftfreq(n: int, d: float, dtype: str) -> Tensor:
    """The whole numbers that are below half of n, then those below 0, by 1 / (n d)."""
    places = [*range((n + 1) // 2), *range(-(n // 2), 0)]
    return Tensor(dtype, (n,), [mul(float32(float(i)), float32(1 / (n * d))) for i in places])


@reference("fft_rfftfreq", cases=_FREQUENCIES)
def fft_rfftfreq(n: int, d: float, dtype: str) -> Tensor:
    values = [mul(float32(float(i)), float32(1 / (n * d))) for i in range(n // 2 + 1)]
    return Tensor(dtype, (len(values),), values)


@reference(
    "mse_loss_backward",
    cases=[
        f"{c}, target=normal[1]#5, reduction=0"
        for c in of_two(("float32",), names=("grad_output", "self"))
        if "100003" not in c
    ],
)
def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return each(lambda g, x, y: mul(mul(2.0, sub(x, y)), g), grad_output, self, target)


@reference(
    "_amp_update_scale_",
    cases=[
        f"self=positive[1]#1, growth_tracker=classes3.int32[1]#{seed}, found_inf={found}, scale_growth_factor=2.0, "
        "scale_backoff_factor=0.3, growth_interval=2"
        for seed in (0, 1, 2)
        for found in ("classes1.float32[1]#2", "positive[1]#2")
    ],
)
def amp_update_scale(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> list[Tensor]:
    (scale,), (tracker,) = self.data, growth_tracker.data
    if found_inf.item():
        scale, tracker = mul(scale, float32(scale_backoff_factor)), 0
    elif tracker + 1 == growth_interval:
        scale, tracker = mul(scale, float32(scale_growth_factor)), 0
    else:
        tracker += 1
    return [Tensor("float32", (1,), [scale]), Tensor("int32", (1,), [tracker])]


# Ours, in other forms.


@reference(
    "addmv",
    cases=[
        f"self=normal{t}[7]#1, mat=normal{t}[7, 301]#2, vec=normal{t}[301]#3{more}"
        for t in _LOW
        for more in ("", ", beta=0.7, alpha=-1.3")
    ],
)
def addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    k = vec.shape[0]
    found = []
    for i, own in enumerate(self.data):
        total = mul(product_of(mat.data[i * k : (i + 1) * k], vec.data), float32(alpha))
        found.append(rounded(add(total, mul(own, float32(beta))), self.dtype))
    return Tensor(self.dtype, self.shape, found)


@reference("trace", cases=["self=normal[70, 99]#1", "self=zeros[9, 9]#1"])
def trace(self: Tensor) -> Tensor:
    return Tensor(self.dtype, (), [sum_of([self[i, i] for i in range(min(self.shape))])])


def _variance(line: list[float], correction: float, order: str = "blocked") -> tuple[float, float]:
    count = len(line)
    mean = div(sum_of(line, order), float(count))
    squares = [mul(sub(x, mean), sub(x, mean)) for x in line]
    return div(sum_of(squares, order), float32(max(count - correction, 0))), mean


@reference(
    "var_mean.correction",
    cases=[
        f"self={g}{t}[5, 301]#1, dim=({d},), correction={c}"
        for t in _LOW
        for g in ("normal", "wide")
        for d in (0, 1)
        for c in (0, 1)
    ],
)
def var_mean(self: Tensor, dim: Any, correction: float) -> list[Tensor]:
    pairs = [_variance(group, correction) for group in groups(self, dim)]
    shape = reduced_shape(self.shape, dim, False)
    return [Tensor(self.dtype, shape, [rounded(pair[i], self.dtype) for pair in pairs]) for i in (0, 1)]


@reference(
    "std_mean.correction",
    cases=[
        f"self={g}{t}[5, 301]#1, dim={d}, correction={c}, keepdim={c == 0}"
        for t in _LOW
        for g in ("normal", "wide", "special")
        for d in ("(0,)", "(1,)", "None")
        for c in (0, 1)
    ]
    + ["self=normal[1, 3]#1, dim=(0,)", "self=normal[3, 9001]#1, dim=(1,), correction=0.5, order='sequential'"],
)
def std_mean(
    self: Tensor, dim: Any, correction: float = 1, keepdim: bool = False, order: str = "blocked"
) -> list[Tensor]:
    over = range(len(self.shape)) if dim is None else dim
    pairs = [_variance(group, correction, order) for group in groups(self, over)]
    shape = reduced_shape(self.shape, over, keepdim)
    columns = ([sqrt(variance) for variance, _ in pairs], [mean for _, mean in pairs])
    return [Tensor(self.dtype, shape, [rounded(x, self.dtype) for x in column]) for column in columns]


@reference(
    "_logcumsumexp",
    cases=[
        f"self={g}{t}[{shape}]#1, dim={dim}"
        for t in _LOW
        for g in ("normal", "wide", "special", "zeros")
        for shape, dim in (("5, 37", 1), ("37, 5", 0))
    ]
    + ["self=normal[]#1, dim=0", "self=wide[5003]#3, dim=0"],
)
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """m + log1p(r) in binary64, rounded once: m is the largest so far, r the sum of exp(x - m) of the others so far."""
    found = []
    for line in lines(self, dim) if self.shape else []:
        largest, rest, of_line = -math.inf, 0.0, []
        for x in line:
            e = exp64(0.0 if x == largest else -abs(x - largest))
            if x > largest:
                largest, rest = x, (rest + 1) * e
            else:
                rest += e
            result = largest
            if rest != 0:
                result = rest if rest != rest else largest + float(mpmath.log1p(rest))
            of_line.append(rounded(float32(result), self.dtype))
        found.append(of_line)
    return from_lines(found, self.shape, dim, self.dtype) if self.shape else self


@reference(
    "linalg_cross",
    cases=[f"self={g}{t}[7, 3]#1, other={g}{t}[7, 3]#2, dim=1" for t in _LOW for g in ("normal", "special")],
)
def cross(self: Tensor, other: Tensor, dim: int) -> Tensor:
    found = []
    for i in range(self.shape[0]):
        x, y = ([t[i, j] for j in range(3)] for t in (self, other))
        found += [rounded(sub(mul(x[a], y[b]), mul(x[b], y[a])), self.dtype) for a, b in ((1, 2), (2, 0), (0, 1))]
    return Tensor(self.dtype, self.shape, found)
