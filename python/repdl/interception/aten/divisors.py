# SPDX-License-Identifier: MIT
"""Quotients toward zero, common divisors and multiples of integers.

torch's kernels divide the least integer by -1, which ends the process on x86. Its negative is itself, as elsewhere.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, override


def _without_minus_one(value: Any) -> Any:
    """Of -1, 1, which has the same divisors and multiples."""
    if not isinstance(value, torch.Tensor):
        return 1 if value == -1 else value
    is_integer = value.dtype.is_signed and not (value.is_floating_point() or value.is_complex())
    return value.masked_fill(value == -1, 1) if is_integer else value


_native_gcd, _native_lcm, _native_div = (native_of(name) for name in ("gcd", "lcm", "div.Tensor_mode"))


@override("gcd", elementwise=True, **ANY_DTYPE)
def gcd(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return _native_gcd(_without_minus_one(self), _without_minus_one(other))


@override("lcm", elementwise=True, **ANY_DTYPE)
def lcm(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """torch divides the first by the divisor, which may be -1 with the least integer; so that one comes second."""
    first, second = _without_minus_one(self), _without_minus_one(other)
    dtype = torch.result_type(first, second)
    if not dtype.is_signed or dtype.is_floating_point:
        return _native_lcm(first, second)
    is_least = first == torch.iinfo(dtype).min
    return _native_lcm(torch.where(is_least, second, first), torch.where(is_least, first, second))


@override("div.Tensor_mode", elementwise=True, **ANY_DTYPE)
def div(self: torch.Tensor, other: torch.Tensor, *, rounding_mode: str | None) -> torch.Tensor:
    if rounding_mode != "trunc" or torch.result_type(self, other).is_floating_point:
        return _native_div(self, other, rounding_mode=rounding_mode)
    found = _native_div(self, _without_minus_one(other), rounding_mode=rounding_mode)
    if isinstance(other, torch.Tensor):
        return torch.where(other == -1, found.neg(), found) if other.dtype.is_signed else found
    return found.neg() if other == -1 else found
