# SPDX-License-Identifier: MIT
"""Arithmetic of complex numbers, in steps of real ones that round once each.

torch's own kernels fuse some of these steps, or scale them in other ways, as the instruction set has it; even the sign
of a negative zero depends on it. For real numbers the same ops are exact, and keep torch's kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl import _core
from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, ForComplex, overrides
from repdl.interception.strict import not_reproducible

Parts = tuple[torch.Tensor, torch.Tensor]


def _parts(value: Any, dtype: torch.dtype) -> Parts:
    number = value.to(dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=dtype)
    real, imaginary = torch.view_as_real(number).unbind(-1)
    return real, imaginary


def _steps(name: str) -> Callable[[Callable[..., Parts]], Callable[..., Parts]]:
    """Declares a function of the parts of its operands as an op's kernel for complex numbers."""

    def declare(of_parts: Callable[..., Parts]) -> Callable[..., Parts]:
        def compute(*operands: Any) -> torch.Tensor:
            dtype = torch.result_type(*operands) if len(operands) == 2 else operands[0].dtype
            wide = torch.complex64 if dtype == torch.complex32 else dtype
            return torch.complex(*of_parts(*(_parts(x, wide) for x in operands))).to(dtype)

        overrides[name] = ForComplex(name, compute, elementwise=True, **ANY_DTYPE)
        return of_parts

    return declare


@_steps("mul.Tensor")
def _(x: Parts, y: Parts) -> Parts:
    """(ac - bd) + (ad + bc)i"""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


@_steps("div.Tensor")
def _divided(x: Parts, y: Parts) -> Parts:
    """Smith's: with r = d/c, ((a + br) + (b - ar)i) / (c + dr); where d is larger than c, their places are changed."""
    (a, b), (c, d) = x, y
    turned = c.abs() < d.abs()
    larger, smaller = torch.where(turned, d, c), torch.where(turned, c, d)
    first, second = torch.where(turned, b, a), torch.where(turned, a, b)
    ratio = smaller / larger
    denominator = larger + smaller * ratio
    real, imaginary = first + second * ratio, second - first * ratio
    imaginary = torch.where(turned, -imaginary, imaginary)
    zero = larger == 0
    denominator = torch.where(zero, larger.abs(), denominator)
    return torch.where(zero, a, real) / denominator, torch.where(zero, b, imaginary) / denominator


@_steps("reciprocal")
def _(x: Parts) -> Parts:
    return _divided((torch.ones_like(x[0]), torch.zeros_like(x[0])), x)


@_steps("neg")
def _(x: Parts) -> Parts:
    return -x[0], -x[1]


def _size(name: str, z: torch.Tensor) -> torch.Tensor:
    """Correctly rounded, for which there is an op for float32 alone."""
    if z.dtype == torch.complex128:
        return not_reproducible(name, (z,), {}, native_of(name), "dtype")
    return _core.ops["hypot"](*_parts(z, torch.complex64))


def _abs(self: torch.Tensor) -> torch.Tensor:
    size = _size("abs", self)
    return size.to(torch.float16) if self.dtype == torch.complex32 else size


def _sgn(self: torch.Tensor) -> torch.Tensor:
    """The number over its absolute value; 0 of 0."""
    size = _size("sgn", self)
    if size.is_complex():  # permitted, and torch's own
        return size
    parts = (torch.where(size == 0, torch.zeros_like(x), x / size) for x in _parts(self, torch.complex64))
    return torch.complex(*parts).to(self.dtype)


def _refused(name: str) -> Callable[..., torch.Tensor]:
    native = native_of(name)
    return lambda *args, **kwargs: not_reproducible(name, args, kwargs, native, "dtype")


overrides["abs"] = ForComplex("abs", _abs, elementwise=True, **ANY_DTYPE)
overrides["abs_"] = ForComplex("abs_", native_of("abs_"), **ANY_DTYPE)  # torch refuses it
overrides["sgn"] = ForComplex("sgn", _sgn, elementwise=True, **ANY_DTYPE)
overrides["cumprod"] = ForComplex("cumprod", _refused("cumprod"), **ANY_DTYPE)
