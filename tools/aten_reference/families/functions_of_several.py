# SPDX-License-Identifier: MIT
"""Functions made of others in steps that round: python/repdl/interception/aten/functions.py says them."""

from __future__ import annotations

import math
from typing import Any

from ..cases import LARGE, of_integers, of_one, of_two
from ..functions import cos, entr, exp, gelu, logaddexp2, power, sin, sinc, xlog1py
from ..numbers import add, div, float32, mul, sub
from ..registry import reference
from ..sums import product_of
from ..tensors import Tensor, broadcast_shape, each, expand, rounded, wrap

_LOW = ("", ".bfloat16", ".float16")
_SMALL = [c for c in of_one() if "100003" not in c] + ["self=normal[5003]#7"]
_INTEGERS = [*of_integers(("int64", "int8", "uint8")), "self=ties.int32[99]#1", "self=classes2.bool[77]#1"]
_PAIRS = [c for c in of_two() if "100003" not in c] + ["self=normal[5003]#1, other=normal[5003]#2"]


def _with(cases: list[str], *names: str) -> list[str]:
    """The cases with operands of other names."""
    found = []
    for case in cases:
        for old, new in zip(("self=", "other="), names, strict=False):
            case = case.replace(old, f"{new}=")
        found.append(case)
    return found


@reference("angle", cases=[*of_one(), *_INTEGERS])
def angle(self: Tensor) -> Tensor:
    """pi of what is below 0, as float32 has it, and +0 of all else; NaN of NaN."""
    dtype = self.dtype if self.is_float else "float32"
    return each(lambda x: x if x != x else float32(math.pi) if x < 0 else 0.0, self, dtype=dtype)


@reference(
    "polar",
    cases=[c for c in _with(_PAIRS, "abs", "angle") if "float16" not in c],
)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Real and imaginary parts in turn."""
    shape = broadcast_shape(abs.shape, angle.shape)
    found = []
    for size, turn in zip(expand(abs, shape), expand(angle, shape), strict=True):
        found += [mul(size, cos(turn)), mul(size, sin(turn))]
    return Tensor("float32", (*shape, 2), found)


def _of_numbers(function: Any, self: Tensor) -> Tensor:
    """function(x, dtype) of each; integers become float32 numbers first."""
    if self.is_float:
        return each(lambda x: function(x, self.dtype), self)
    return each(lambda x: function(float32(float(x)), "float32"), self, dtype="float32")


@reference("sinc", cases=[*_SMALL, *_INTEGERS])
def sinc_of_each(self: Tensor) -> Tensor:
    return _of_numbers(sinc, self)


@reference("logaddexp2", cases=_PAIRS)
def logaddexp2_of_each(self: Tensor, other: Tensor) -> Tensor:
    return each(logaddexp2, self, other)


@reference("special_entr", cases=[*_SMALL, *_INTEGERS, "self=unit[203]#1"])
def entr_of_each(self: Tensor) -> Tensor:
    return _of_numbers(entr, self)


@reference("special_xlog1py", cases=[*_PAIRS, "self=ties.int64[99]#1, other=ties.int64[99]#2"])
def xlog1py_of_each(self: Tensor, other: Tensor) -> Tensor:
    return each(lambda x, y: xlog1py(float(x), float(y)), self, other, dtype=None if self.is_float else "float32")


@reference("special_xlog1py.other_scalar", cases=[f"{c}, other={y}" for c in _SMALL for y in ("0.3", "-1", "nan")])
def xlog1py_of_number(self: Tensor, other: Any) -> Tensor:
    return each(xlog1py, self, other)


@reference(
    "special_xlog1py.self_scalar", cases=[f"self={x}, {c}" for c in _with(_SMALL, "other") for x in ("0.3", "0", "inf")]
)
def number_xlog1py(self: Any, other: Tensor) -> Tensor:
    return each(xlog1py, self, other)


@reference(
    "elu_backward",
    cases=[
        f"{c}, {numbers}, is_result={is_result}"
        for c in _with(_PAIRS, "grad_output", "self_or_result")
        for numbers in ("alpha=1.0, scale=1, input_scale=1", "alpha=0.3, scale=1.7, input_scale=0.9")
        for is_result in (True, False)
    ],
)
def elu_backward(
    grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """g * scale above 0; at 0 and below (g * input_scale) * (y + a) of a result y, with a = alpha * scale in binary64,
    or (g * (input_scale * a)) * exp(x * input_scale)."""
    factor = alpha * scale

    def one(g: float, x: float) -> float:
        if not x <= 0:
            return mul(g, float32(scale))
        if is_result:
            return mul(mul(g, float32(input_scale)), add(x, float32(factor)))
        return mul(mul(g, float32(input_scale * factor)), exp(mul(x, float32(input_scale))))

    return each(one, grad_output, self_or_result)


@reference(
    "logit_backward",
    cases=[
        f"{c}{more}"
        for c in (
            *_with(_PAIRS, "grad_output", "self"),
            *(f"grad_output=normal{t}[203]#1, self=unit{t}[203]#2" for t in _LOW),
        )
        for more in ("", ", eps=0.1", ", eps=0.0")
    ],
)
def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
    """g / (x * (1 - x)), of both zeros a product of +0; outside of [0, 1] NaN, or outside of [eps, 1 - eps] +0."""

    def one(g: float, x: float) -> float:
        low, high = (0.0, 1.0) if eps is None else (float32(eps), float32(1 - eps))
        if x < low or x > high:
            return math.nan if eps is None else 0.0
        product = mul(x, sub(1.0, x))
        return div(g, abs(product) if eps is None else product)

    return each(one, grad_output, self)


# Rows of numbers.

_ENDS = (
    "start=0, end=1",
    "start=-3.5, end=900.25",
    "start=1e30, end=-1e-30",
    "start=-1e-45, end=3e-45",
    "start=7, end=7",
    "start=0.1, end=-0.7",
    "start=-3e38, end=3e38",
    "start=inf, end=1.0",
    "start=-0.0, end=0.0",
)


def line(start: float, end: float, steps: int, dtype: str = "float32") -> list[float]:
    """From both ends to the middle: start + step * i, and end - step * (steps - 1 - i) from place steps / 2 on."""
    first, last = float32(start), float32(end)
    if steps < 2:
        return [rounded(first, dtype)] * steps
    step = div(sub(last, first), float32(steps - 1))
    found = []
    for i in range(steps):
        back = float32(steps - 1 - i)
        found.append(add(first, mul(step, float32(i))) if i < steps // 2 else sub(last, mul(step, back)))
    return [rounded(x, dtype) for x in found]


@reference(
    "linspace",
    cases=[f"{ends}, steps={n}, dtype=float32" for ends in _ENDS for n in (0, 1, 2, 3, 50, 1001)]
    + [f"{ends}, steps=50, dtype={t}" for ends in _ENDS for t in ("bfloat16", "float16")]
    + [
        f"start={a}, end={b}, steps={n}, dtype={t}"
        for a, b, n, t in (
            (0, 100, 7, "int64"),
            (-3.7, 9.9, 12, "int64"),
            (5, -5, 4, "int32"),
            (-5, 5, 5, "int8"),
            (0, 255, 100, "uint8"),
            (-(1 << 52), 1 << 52, 77, "int64"),
        )
    ]
    + [f"start=-1.3, end=7.1, steps={LARGE}, dtype=float32", f"start=0, end=1000000, steps={LARGE}, dtype=int64"],
)
def linspace(start: Any, end: Any, steps: int, dtype: str) -> Tensor:
    """Of integers the ends are integers, the steps are in binary64, and the fraction is left out."""
    if "int" not in dtype:
        return Tensor(dtype, (steps,), line(float(start), float(end), steps, dtype))
    first, last = int(start), int(end)
    step = (last - first) / (steps - 1)
    found = [first + step * i if i < steps // 2 else last - step * (steps - 1 - i) for i in range(steps)]
    return Tensor(dtype, (steps,), [math.trunc(x) for x in found])


@reference("linspace.Tensor_Tensor", cases=["start=normal[]#1, end=normal[]#2, steps=50, dtype=float32"])
@reference("linspace.Tensor_Scalar", cases=["start=normal[]#1, end=-0.3, steps=50, dtype=float32"])
@reference("linspace.Scalar_Tensor", cases=["start=0.3, end=normal[]#2, steps=50, dtype=float32"])
def linspace_of_tensors(start: Any, end: Any, steps: int, dtype: str) -> Tensor:
    first, last = (x.item() if isinstance(x, Tensor) else x for x in (start, end))
    return Tensor(dtype, (steps,), line(first, last, steps))


@reference(
    "logspace",
    cases=[
        f"start={a}, end={b}, steps={n}{base}, dtype={t}"
        for a, b, n in ((0, 1, 50), (-3.5, 7.25, 301), (-50, 50, 203), (2, 2, 1), (0, 1, 0), (3, -3, 7))
        for base, t in (
            ("", "float32"),
            (", base=2.0", "float32"),
            (", base=0.3", "float32"),
            (", base=-1.7", "float32"),
            (", base=0.0", "float32"),
            (", base=2.718281828459045", "bfloat16"),
            (", base=10.0", "float16"),
        )
    ]
    + [f"start={a}, end={b}, steps=9, base=2.0, dtype={t}" for a, b, t in ((0, 8, "int64"), (0.5, 6.9, "int32"))],
)
def logspace(start: Any, end: Any, steps: int, dtype: str, base: float = 10.0) -> Tensor:
    """The base to the powers of linspace: of the type, or of float32 if that is one of integers."""
    powers = line(float(start), float(end), steps, "float32" if "int" in dtype else dtype)
    found = [power(float32(base), x) for x in powers]
    return Tensor(dtype, (steps,), [math.trunc(x) if "int" in dtype else rounded(x, dtype) for x in found])


# Products of matrices.


@reference(
    "_int_mm",
    cases=[
        f"self={a}.int8[{m}, {k}]#1, mat2={b}.int8[{k}, {n}]#2"
        for a, b in (("extreme", "extreme"), ("ties", "classes100"))
        for m, k, n in ((17, 40, 8), (32, 16, 24), (1, 301, 1), (5, 0, 3), (0, 4, 8))
    ]
    + ["self=extreme.int8[64, 70]#1, mat2=extreme.int8[70, 96]#2"],
)
def int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    (m, k), n = self.shape, mat2.shape[1]
    data = [wrap(sum(self[i, p] * mat2[p, j] for p in range(k)), "int32") for i in range(m) for j in range(n)]
    return Tensor("int32", (m, n), data)


@reference(
    "_addmm_activation",
    cases=[
        f"self={x}{t}[{bias}]#1, mat1=normal{t}[5, {k}]#2, mat2=normal{t}[{k}, 7]#3{more}, use_gelu={gelu}"
        for t in _LOW
        for x, bias, k in (("normal", "7", 30), ("zeros", "5, 7", 3), ("special", "5, 1", 300))
        for more in ("", ", beta=0.7, alpha=-1.3", ", beta=0")
        for gelu in (True, False)
    ],
)
def addmm_activation(self: Tensor, mat1: Tensor, mat2: Tensor, use_gelu: bool, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """relu or gelu of (Product * alpha) + (beta * self), rounded to the type then; beta = 0 leaves self out."""
    (m, k), n = mat1.shape, mat2.shape[1]
    own = expand(self, (m, n))
    found = []
    for i in range(m):
        row = mat1.data[i * k : (i + 1) * k]
        for j in range(n):
            x = mul(product_of(row, mat2.data[j::n]), float32(alpha))
            if beta != 0:
                x = add(x, mul(own[i * n + j], float32(beta)))
            x = gelu(x) if use_gelu else 0.0 if x < 0 else x
            found.append(rounded(x, self.dtype))
    return Tensor(self.dtype, (m, n), found)
