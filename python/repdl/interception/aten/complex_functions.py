# SPDX-License-Identifier: MIT
"""Ops of complex numbers, by the names and with the arguments of those of real ones.

Functions and products of matrices are ops of the core; sums, means and variances are those of the parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from repdl.interception import core
from repdl.interception.ops_by_dtype import Ops, complex_ops, float64_ops, ops_of

Parts = tuple[torch.Tensor, torch.Tensor]


def _parts(z: torch.Tensor) -> Parts:
    real, imaginary = torch.view_as_real(z.resolve_conj()).movedim(-1, 0).contiguous().unbind(0)
    return real, imaginary


# Sums and products.


def _of_each(name: str) -> None:
    def op(x: torch.Tensor, *arguments: Any) -> torch.Tensor:
        return torch.complex(*(ops_of(part)[name](part, *arguments) for part in _parts(x)))

    complex_ops[name] = op


_of_each("sum")
_of_each("mean")


def _norm(x: torch.Tensor, dims: Any, keepdim: bool, order: str) -> torch.Tensor:
    """Of real and imaginary parts by turns."""
    parts = torch.view_as_real(x.resolve_conj())
    reduced = {d % x.dim() for d in dims} if x.dim() else set()
    result = ops_of(parts)["norm"](parts, (*sorted(reduced), x.dim()), keepdim, order)
    return result[..., 0] if keepdim else result


def _var(x: torch.Tensor, *arguments: Any) -> torch.Tensor:
    real, imaginary = (ops_of(part)["var"](part, *arguments) for part in _parts(x))
    return real + imaginary


def _std(x: torch.Tensor, *arguments: Any) -> torch.Tensor:
    variance = _var(x, *arguments)
    return ops_of(variance)["sqrt"](variance)


def _mm(a: torch.Tensor, b: torch.Tensor, _trans_a: bool, _trans_b: bool, order: str) -> torch.Tensor:
    operands = (torch.view_as_real(x.conj() if x.is_conj() else x) for x in (a, b))
    return torch.view_as_complex(core.ops["complex_mm"](*operands, a.is_conj(), b.is_conj(), order))


def _addmm(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, order: str) -> torch.Tensor:
    return _mm(a, b, False, False, order) + bias


complex_ops.update(norm=_norm, var=_var, std=_std, mm=_mm, addmm=_addmm)


# Functions.


def _of_pairs(name: str) -> None:
    """Makes an op of the core, which takes complex numbers as pairs, an op by the name that it has for real ones."""
    kernel = core.ops[f"complex_{name}"]

    def op(*operands: torch.Tensor) -> torch.Tensor:
        return torch.view_as_complex(kernel(*(torch.view_as_real(z.resolve_conj()) for z in operands)))

    complex_ops[name] = op


for _name in (
    "cos",
    "cosh",
    "div",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "mul",
    "pow",
    "reciprocal",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
):
    _of_pairs(_name)


# Inverse functions, by Kahan's formulas. Of complex64 they are those of complex128, rounded once.


def _inverse(name: str, of_parts: Callable[[Ops, torch.Tensor], Parts]) -> None:
    def op(z: torch.Tensor) -> torch.Tensor:
        wide = z.resolve_conj().to(torch.complex128)
        return torch.complex(*of_parts(float64_ops, wide)).to(z.dtype)

    complex_ops[name] = op


def _roots(z: torch.Tensor) -> tuple[Parts, Parts]:
    """Of 1 - z and 1 + z, whose imaginary parts have signs also where they are 0."""
    a, b = _parts(z)
    below, above = (_parts(complex_ops["sqrt"](torch.complex(real, i))) for real, i in ((1 - a, -b), (1 + a, b)))
    return below, above


def _asin(ops: Ops, z: torch.Tensor) -> Parts:
    (a, b), (c, d) = _roots(z)
    real, imaginary = _parts(z)
    beside = torch.where(real.isinf(), torch.where(imaginary.isinf(), math.inf, 0.0), a * c - b * d)
    beside = torch.where(imaginary.isnan(), imaginary, beside)
    size = torch.where(
        imaginary.isinf() | real.isinf(), torch.copysign(real.abs() + imaginary.abs(), imaginary), a * d - b * c
    )
    return ops["atan2"](real, beside), ops["asinh"](size)


def _acos(ops: Ops, z: torch.Tensor) -> Parts:
    (a, b), (c, d) = _roots(z)
    real, imaginary = _parts(z)
    corner = torch.full_like(real, math.pi * 0.25).masked_fill(real < 0, math.pi * 0.75)
    return torch.where(real.isinf() & imaginary.isinf(), corner, ops["atan2"](a, c) * 2), ops["asinh"](c * b - d * a)


def _acosh(ops: Ops, z: torch.Tensor) -> Parts:
    """i acos z or -i acos z, whichever lies right of 0."""
    real, imaginary = _acos(ops, z)
    return imaginary.abs(), torch.copysign(real, _parts(z)[1])


def _atanh(ops: Ops, z: torch.Tensor) -> Parts:
    """log1p(4a / ((1 - a)^2 + b^2)) / 4 for a >= 0, and atan2(2b, (1 - a)(1 + a) - b^2) / 2.

    Of huge numbers it is 1/z, and pi/2.
    """
    a, b = _parts(z)
    size = a.abs()
    larger, smaller = torch.maximum(size, b.abs()), torch.minimum(size, b.abs())
    far = larger > 1e100
    ratio = torch.where(larger.isinf(), torch.zeros_like(smaller), smaller / larger)
    inverse = (size / larger) / larger / (1 + ratio * ratio)
    inverse = torch.where(larger.isinf(), torch.zeros_like(inverse), inverse)
    held, beside = (torch.where(far, torch.ones_like(t), t) for t in (size, b))
    near = ops["log1p"](held * 4 / ((1 - held) * (1 - held) + beside * beside)) * 0.25
    at_pole = (held == 1) & (beside.abs() < 1e-100)
    close = (math.log(2.0) - ops["log"](torch.where(at_pole, beside.abs(), torch.ones_like(b)))) * 0.5
    near = torch.where(at_pole, close, near)
    angle = ops["atan2"](beside * 2, (1 - held) * (1 + held) - beside * beside) * 0.5
    angle = torch.where(far, torch.copysign(torch.full_like(b, math.pi / 2), b), angle)
    unknown = a.isnan() | (b.isnan() & ~a.isinf())
    real = torch.copysign(torch.where(far, inverse, near), a)
    return torch.where(unknown & ~b.isinf(), torch.nan, real), torch.where(b.isnan(), torch.nan, angle)


def _around(straight: Callable[[Ops, torch.Tensor], Parts]) -> Callable[[Ops, torch.Tensor], Parts]:
    """-i f(iz)"""

    def turned(ops: Ops, z: torch.Tensor) -> Parts:
        a, b = _parts(z)
        real, imaginary = straight(ops, torch.complex(-b, a))
        return imaginary, -real

    return turned


_inverse("asin", _asin)
_inverse("acos", _acos)
_inverse("acosh", _acosh)
_inverse("atanh", _atanh)
_inverse("asinh", _around(_asin))
_inverse("atan", _around(_atanh))


complex_ops["silu"] = lambda z: z * complex_ops["sigmoid"](z)
complex_ops["tanh_grad"] = lambda grad, y: grad * (1 - y * y).conj()
complex_ops["sigmoid_grad"] = lambda grad, y: grad * ((1 - y) * y).conj()
