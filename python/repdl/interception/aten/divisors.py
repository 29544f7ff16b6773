# SPDX-License-Identifier: MIT
"""Quotients to a whole number, common divisors and multiples.

torch's kernels divide the least integer by -1, which ends the process on x86. Its negative is itself, as elsewhere. On
devices quotients of floating-point numbers go in the steps of torch's kernels of the CPU; its own there multiply by the
reciprocal of a number.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.native import LOW_DTYPES, native_of, overload
from repdl.interception.operands import in_type
from repdl.interception.override import ANY_DTYPE, on_devices, override


def _without_minus_one(value: torch.Tensor) -> torch.Tensor:
    """Of -1, 1, which has the same divisors and multiples; in the type of the result, where others may be -1 too."""
    return value.masked_fill(value == -1, 1)


_native_gcd, _native_lcm, _native_div = (native_of(name) for name in ("gcd", "lcm", "div.Tensor_mode"))


@override("gcd", elementwise=True, **ANY_DTYPE)
def gcd(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    dtype = torch.result_type(self, other)
    if not dtype.is_signed or dtype.is_floating_point:
        return _native_gcd(self, other)
    return _native_gcd(*map(_without_minus_one, in_type(dtype, self, other)))


@override("lcm", elementwise=True, **ANY_DTYPE)
def lcm(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """torch divides the first by the divisor, which may be -1 with the least integer; so that one comes second."""
    dtype = torch.result_type(self, other)
    if not dtype.is_signed or dtype.is_floating_point:
        return _native_lcm(self, other)
    first, second = map(_without_minus_one, in_type(dtype, self, other))
    is_least = first == torch.iinfo(dtype).min
    return _native_lcm(torch.where(is_least, second, first), torch.where(is_least, first, second))


@override("div.Tensor_mode", elementwise=True, **ANY_DTYPE)
def div(self: torch.Tensor, other: torch.Tensor, *, rounding_mode: str | None) -> torch.Tensor:
    dtype = torch.result_type(self, other)
    if rounding_mode != "trunc" or dtype.is_floating_point or not dtype.is_signed:
        return _native_div(self, other, rounding_mode=rounding_mode)
    _, by = in_type(dtype, self, other)
    found = _native_div(self, _without_minus_one(by), rounding_mode=rounding_mode)
    return found.copy_(torch.where(by == -1, found.neg(), found))  # which keeps its strides


def _quotient_down(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """floor(x / y) by way of the remainder, each step rounded."""
    one, quotient, rest = y.new_ones(()), ops["div"](x, y), torch.fmod(x, y)
    whole = ops["div"](ops["sub"](x, rest), y)
    whole = torch.where((rest != 0) & ((y < 0) != (rest < 0)), ops["sub"](whole, one), whole)
    below = whole.floor()
    nearest = torch.where(ops["sub"](whole, below) > 0.5, ops["add"](below, one), below)
    found = torch.where(whole == 0, torch.copysign(torch.zeros_like(quotient), quotient), nearest)
    return torch.where(y == 0, quotient, found)


def _quotient_toward_zero(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ops["div"](x, y).trunc()


_WHOLE = {"floor": _quotient_down, "trunc": _quotient_toward_zero}


@on_devices("div.Tensor_mode")
def div_on_devices(self: Any, other: Any, *, rounding_mode: str | None) -> torch.Tensor:
    """By a single number low types are rounded to at the end alone, as on the CPU."""
    if rounding_mode is None:
        return overload("div.Tensor")(self, other)
    dtype = torch.result_type(self, other)
    if not dtype.is_floating_point or rounding_mode not in _WHOLE:
        return native_of("div.Tensor_mode", "CUDA")(self, other, rounding_mode=rounding_mode)
    is_single = not isinstance(other, torch.Tensor) or other.numel() == 1
    wide = torch.float32 if dtype in LOW_DTYPES and is_single else dtype
    return _WHOLE[rounding_mode](*in_type(wide, self, other)).to(dtype)


@on_devices("floor_divide")
def floor_divide_on_devices(self: Any, other: Any) -> torch.Tensor:
    return div_on_devices(self, other, rounding_mode="floor")
