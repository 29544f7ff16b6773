# SPDX-License-Identifier: MIT
"""Ops of complex numbers, by the names and with the arguments of those of the core, made of ops of real numbers.

Products of matrices are one op; sums, means and variances are those of the parts. Functions are rounded step by step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from repdl.interception import core
from repdl.interception.ops_by_dtype import Ops, complex_ops, ops_of

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


def _function(of_parts: Callable[..., Parts]) -> Callable[..., Parts]:
    """Makes a function of the real ops and the parts of its operands an op, by its name."""

    def op(*operands: torch.Tensor) -> torch.Tensor:
        parts = [_parts(z) for z in torch.broadcast_tensors(*operands)]
        return torch.complex(*of_parts(ops_of(parts[0][0]), *parts))

    complex_ops[of_parts.__name__.strip("_")] = op
    return of_parts


@_function
def _exp(ops: Ops, z: Parts) -> Parts:
    """exp(a) (cos b + i sin b)"""
    a, b = z
    size = ops["exp"](a)
    return size * ops["cos"](b), torch.where(b == 0, b, size * ops["sin"](b))


@_function
def _expm1(ops: Ops, z: Parts) -> Parts:
    """expm1(a) cos b - 2 sin(b / 2)^2, exp(a) sin b"""
    a, b = z
    half = ops["sin"](b * 0.5)
    return ops["expm1"](a) * ops["cos"](b) - half * half * 2, _exp(ops, z)[1]


@_function
def _log(ops: Ops, z: Parts) -> Parts:
    """log |z| and the angle. With |a| >= |b|, log |z| is log1p((|a| - 1) (|a| + 1) + b^2) / 2 between 1/2 and 2."""
    a, b = z
    size = ops["hypot"](a, b)
    larger, smaller = torch.maximum(a.abs(), b.abs()), torch.minimum(a.abs(), b.abs())
    near = (size > 0.5) & (size < 2)
    off = torch.where(near, (larger - 1) * (larger + 1) + smaller * smaller, torch.zeros_like(size))
    return torch.where(near, ops["log1p"](off) * 0.5, ops["log"](size)), ops["atan2"](b, a)


@_function
def _log1p(ops: Ops, z: Parts) -> Parts:
    """log(1 + z); where |z| is below 1/2, its real part is log1p(a (2 + a) + b^2) / 2."""
    a, b = z
    near = torch.maximum(a.abs(), b.abs()) < 0.25
    off = torch.where(near, a * (a + 2) + b * b, torch.zeros_like(a))
    real, angle = _log(ops, (a + 1, b))
    return torch.where(near, ops["log1p"](off) * 0.5, real), angle


def _scaled_log(name: str, base: float) -> None:
    def op(ops: Ops, z: Parts) -> Parts:
        real, imaginary = _log(ops, z)
        return real * (1 / math.log(base)), imaginary * (1 / math.log(base))

    op.__name__ = name
    _function(op)


_scaled_log("log2", 2.0)
_scaled_log("log10", 10.0)


@_function
def _exp2(ops: Ops, z: Parts) -> Parts:
    return _exp(ops, (z[0] * math.log(2.0), z[1] * math.log(2.0)))


@_function
def _sqrt(ops: Ops, z: Parts) -> Parts:
    """t + b / (2t) i with t = sqrt((|z| + |a|) / 2) for a >= 0, else |b| / (2t) ± t i; scaled by a power of two."""
    largest = torch.maximum(z[0].abs(), z[1].abs())
    one, large, small = torch.ones_like(largest), largest > 2.0**100, largest < 2.0**-60
    scale = one.masked_fill(large, 2.0**-20).masked_fill(small, 2.0**60)
    back = one.masked_fill(large, 2.0**10).masked_fill(small, 2.0**-30)
    a, b = z[0] * scale, z[1] * scale
    t = ops["sqrt"]((ops["hypot"](a, b) + a.abs()) * 0.5)
    other = torch.where(
        t == 0, torch.zeros_like(t), torch.where(largest.isinf(), torch.zeros_like(t), b.abs()) / (2 * t)
    )
    infinite = z[1].isinf()
    t, other = t * back, torch.where(infinite, t, other * back)
    left = a < 0
    return torch.where(left, other, t), torch.copysign(torch.where(left, t, other), z[1])


@_function
def _rsqrt(ops: Ops, z: Parts) -> Parts:
    real, imaginary = _parts(torch.complex(*_sqrt(ops, z)).reciprocal())
    return real, imaginary


@_function
def _sinh(ops: Ops, z: Parts) -> Parts:
    """sinh a cos b, cosh a sin b"""
    a, b = z
    real = torch.where(a == 0, a, ops["sinh"](a) * ops["cos"](b))
    return real, torch.where(b == 0, b, ops["cosh"](a) * ops["sin"](b))


@_function
def _cosh(ops: Ops, z: Parts) -> Parts:
    """cosh a cos b, sinh a sin b"""
    a, b = z
    imaginary = torch.where((a == 0) | (b == 0), a.sign() * b, ops["sinh"](a) * ops["sin"](b))
    return ops["cosh"](a) * ops["cos"](b), imaginary


@_function
def _tanh(ops: Ops, z: Parts) -> Parts:
    """(s r (1 + t^2) + i t) / (1 + s^2 (1 + t^2)) with s = sinh a, r = cosh a, t = tan b; ±1 where |a| is above 20."""
    a, b = z
    held = a.clamp(-20.0, 20.0)
    s, r, t = ops["sinh"](held), ops["cosh"](held), ops["tan"](b)
    more = t * t + 1
    below = s * s * more + 1
    far = a.abs() > 20.0
    small = 4 * ops["sin"](b) * ops["cos"](b) * ops["exp"](a.abs() * -2)
    return torch.where(far, a.sign(), s * r * more / below), torch.where(far, small, t / below)


def _turned(name: str, straight: Callable[..., Parts], back: bool) -> None:
    """f(iz), times -i if that turns it back."""

    def op(ops: Ops, z: Parts) -> Parts:
        real, imaginary = straight(ops, (-z[1], z[0]))
        return (imaginary, -real) if back else (real, imaginary)

    op.__name__ = name
    _function(op)


_turned("sin", _sinh, back=True)
_turned("cos", _cosh, back=False)
_turned("tan", _tanh, back=True)


# Inverse functions, by Kahan's formulas. Of complex64 they are those of complex128, rounded once.


def _inverse(name: str, of_parts: Callable[[Ops, torch.Tensor], Parts]) -> None:
    def op(z: torch.Tensor) -> torch.Tensor:
        wide = z.resolve_conj().to(torch.complex128)
        return torch.complex(*of_parts(core.ops, wide)).to(z.dtype)

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


def _sigmoid(z: torch.Tensor) -> torch.Tensor:
    """1 / (1 + exp(-z)), or exp(z) / (1 + exp(z)) left of 0."""
    left = z.real < 0
    e = complex_ops["exp"](torch.where(left, z, -z))
    return torch.where(left, e, torch.ones_like(e)) / (e + 1)


def _pow(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """exp(y log x); of 0 what the real part of y says."""
    x, y = torch.broadcast_tensors(x, y)
    held = torch.where(x == 0, torch.ones_like(x), x)
    power = complex_ops["exp"](y * complex_ops["log"](held))
    of_zero = torch.where(y.real > 0, 0.0, torch.inf).to(power.dtype)
    of_zero = torch.where(y == 0, torch.ones_like(power), of_zero)
    return torch.where(x == 0, of_zero, power)


complex_ops["sigmoid"] = _sigmoid
complex_ops["pow"] = _pow
complex_ops["silu"] = lambda z: z * _sigmoid(z)
complex_ops["tanh_grad"] = lambda grad, y: grad * (1 - y * y).conj()
complex_ops["sigmoid_grad"] = lambda grad, y: grad * ((1 - y) * y).conj()
