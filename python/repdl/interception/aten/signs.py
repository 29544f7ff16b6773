# SPDX-License-Identifier: MIT
"""Signs of numbers. A NaN counts as positive: which one an operation gives is another on other CPUs and in other lanes.

On devices, signs of float16 come from the bits: torch's kernels there widen the numbers, and a NaN has none then.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception.native import native_of, overload
from repdl.interception.override import ANY_DTYPE, on_devices, override

_SIGN = -(2**15)

_native_signbit, _native_copysign = native_of("signbit"), native_of("copysign.Tensor")
_nan_to_num = native_of("nan_to_num")


@override("signbit", elementwise=True, converts=False, **ANY_DTYPE)
def signbit(self: torch.Tensor) -> torch.Tensor:
    found = _native_signbit(self)
    return found.logical_and_(self == self) if self.is_floating_point() else found


@override("copysign.Tensor", elementwise=True, **ANY_DTYPE)
def copysign(self: torch.Tensor, other: Any) -> torch.Tensor:
    if isinstance(other, torch.Tensor) and other.is_floating_point():
        other = _nan_to_num(other, 0.0)
    return _native_copysign(self, other)


@override("copysign.Scalar", elementwise=True, **ANY_DTYPE)
def copysign_of_number(self: torch.Tensor, other: Any) -> torch.Tensor:
    dtype = self.dtype if self.is_floating_point() else torch.get_default_dtype()
    sign = 1.0 if other != other else math.copysign(1.0, other)
    return overload("copysign.Tensor")(self, torch.full((), sign, dtype=dtype, device=self.device))


@on_devices("signbit")
def signbit_on_devices(self: torch.Tensor) -> torch.Tensor:
    if self.dtype != torch.float16:
        return native_of("signbit", "CUDA")(self)
    return self.view(torch.int16) < 0


@on_devices("copysign.Tensor")
def copysign_on_devices(self: torch.Tensor, other: Any) -> torch.Tensor:
    if not (isinstance(other, torch.Tensor) and self.dtype == other.dtype == torch.float16):
        return native_of("copysign.Tensor", "CUDA")(self, other)
    size = self.abs().view(torch.int16)
    return (size | (other.to(self.device).view(torch.int16) & _SIGN)).view(torch.float16)
