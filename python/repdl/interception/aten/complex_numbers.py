# SPDX-License-Identifier: MIT
"""Arithmetic of complex numbers, in steps of real ones that round once each.

torch's own kernels fuse some of these steps, or scale them in other ways, as the instruction set has it; even the sign
of a negative zero depends on it. For real numbers the same ops round once: most calls go to an op of the core, sooner
than through Python, and the others keep torch's kernel, which gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import for_complex

Parts = tuple[torch.Tensor, torch.Tensor]


def _parts(value: Any, dtype: torch.dtype) -> Parts:
    number = value.to(dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=dtype)
    real, imaginary = torch.view_as_real(number).unbind(-1)
    return real, imaginary


def _steps(name: str, op: str = "") -> Callable[[Callable[..., Parts]], Callable[..., Parts]]:
    """Declares a function of the parts of its operands as an op's kernel for complex numbers."""

    def declare(of_parts: Callable[..., Parts]) -> Callable[..., Parts]:
        def compute(*operands: Any) -> torch.Tensor:
            dtype = torch.result_type(*operands) if len(operands) == 2 else operands[0].dtype
            wide = torch.complex64 if dtype == torch.complex32 else dtype
            return torch.complex(*of_parts(*(_parts(x, wide) for x in operands))).to(dtype)

        for_complex(name, elementwise=True, op=op)(compute)
        return of_parts

    return declare


@_steps("mul.Tensor", op="mul")
def mul_tensor(x: Parts, y: Parts) -> Parts:
    """(ac - bd) + (ad + bc)i"""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


@_steps("div.Tensor", op="div")
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


@_steps("reciprocal", op="reciprocal")
def reciprocal(x: Parts) -> Parts:
    return _divided((torch.ones_like(x[0]), torch.zeros_like(x[0])), x)


@_steps("neg")
def neg(x: Parts) -> Parts:
    return -x[0], -x[1]


def _wide_parts(z: torch.Tensor) -> Parts:
    return _parts(z, torch.complex64 if z.dtype == torch.complex32 else z.dtype)


def _size(z: torch.Tensor) -> torch.Tensor:
    real, imaginary = _wide_parts(z)
    return ops_of(real)["hypot"](real, imaginary)


def _turn(z: torch.Tensor) -> torch.Tensor:
    real, imaginary = _wide_parts(z)
    return ops_of(real)["atan2"](imaginary, real)


def _sgn(self: torch.Tensor) -> torch.Tensor:
    """The number over its absolute value; 0 of 0."""
    size = _size(self)
    parts = (torch.where(size == 0, torch.zeros_like(x), x / size) for x in _wide_parts(self))
    return torch.complex(*parts).to(self.dtype)


def running_product(x: torch.Tensor, dim: int) -> torch.Tensor:
    """In the order of the index."""
    if x.dim() == 0 or x.numel() == 0:
        return x.clone()
    return torch.stack(list(accumulate(x.unbind(dim), torch.mul)), dim)


for_complex("abs", elementwise=True)(lambda self: _size(self).to(self.dtype.to_real()))
for_complex("angle", elementwise=True)(lambda self: _turn(self).to(self.dtype.to_real()))
for_complex("abs_")(native_of("abs_"))  # torch refuses it
for_complex("sgn", elementwise=True)(_sgn)
