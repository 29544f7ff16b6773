# SPDX-License-Identifier: MIT
"""Remainders, exact whatever the quotient. Those of torch's vectors are NaN or inexact where it is huge."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import Kernel, native_of
from repdl.interception.override import ANY_DTYPE, override

_SINGLE, _DOUBLE = 24, 53
_native_remainder_of_integers = native_of("fmod.Tensor")


def _power_of_two(k: torch.Tensor) -> torch.Tensor:
    """2^k in float64, of integers from -1022 to 1023."""
    return ((k + 1023) << 52).view(torch.float64)


def _of_magnitudes(x: torch.Tensor, y: torch.Tensor, digits: int) -> torch.Tensor:
    """x - n y for the whole n below the quotient; of float64, 0 < y <= x, with so many digits. A long division."""
    if digits == _SINGLE:
        quotient = (x / y).trunc()
        if bool((quotient < 2.0 ** (53 - _SINGLE)).all()):
            rest = x - quotient * y  # both steps are exact; the quotient may have been rounded up
            return torch.where(rest < 0, rest + y, rest)
    (x_part, x_exponent), (y_part, y_exponent) = torch.frexp(x), torch.frexp(y)
    rest, by = ((part * 2.0**digits).to(torch.int64) for part in (x_part, y_part))
    rest = _native_remainder_of_integers(rest, by)
    left = (x_exponent - y_exponent).to(torch.int64)
    while bool((left > 0).any()):
        shift = left.clamp(0, 63 - digits)
        rest = _native_remainder_of_integers(rest << shift, by)
        left = left - shift
    exponent = y_exponent.to(torch.int64) - digits
    half = exponent >> 1
    return rest.to(torch.float64) * _power_of_two(half) * _power_of_two(exponent - half)


def _toward_zero(x: torch.Tensor, y: torch.Tensor, digits: int) -> torch.Tensor:
    """x - n y for the whole n toward zero, with the sign of x; of float64, with so many digits."""
    x, y = torch.broadcast_tensors(x, y)
    large, small = x.abs(), y.abs()
    divides = large.isfinite() & (small > 0) & (small <= large)
    one = torch.ones((), dtype=torch.float64)
    rest = _of_magnitudes(torch.where(divides, large, one), torch.where(divides, small, one), digits)
    rest = torch.where(divides, torch.copysign(rest, x), x)
    return rest.masked_fill(x.isnan() | x.isinf() | y.isnan() | (y == 0), torch.nan)


def _typed(value: Any, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=dtype)


def _exactly(native: Kernel, down: bool) -> Kernel:
    def kernel(self: Any, other: Any) -> torch.Tensor:
        dtype = torch.result_type(self, other)
        if not dtype.is_floating_point:
            return native(self, other)
        x, y = (_typed(value, dtype).to(torch.float64) for value in (self, other))
        # In float32 a low type, too, is exact until the sum below.
        wide = dtype if dtype == torch.float64 else torch.float32
        rest = _toward_zero(x, y, _DOUBLE if dtype == torch.float64 else _SINGLE).to(wide)
        if down:
            rest = torch.where((rest != 0) & (rest.signbit() != y.signbit()), rest + y.to(wide), rest)
        return rest.to(dtype)

    return kernel


for _name in ("fmod", "remainder"):
    override(f"{_name}.Tensor", elementwise=True, **ANY_DTYPE)(
        _exactly(native_of(f"{_name}.Tensor"), down=_name == "remainder")
    )
