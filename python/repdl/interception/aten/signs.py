# SPDX-License-Identifier: MIT
"""Signs of float16 on devices, from the bits: torch's kernels there widen the numbers, and a NaN has no sign then."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import on_devices

_SIGN = -(2**15)


@on_devices("signbit")
def signbit(self: torch.Tensor) -> torch.Tensor:
    if self.dtype != torch.float16:
        return native_of("signbit", "CUDA")(self)
    return self.view(torch.int16) < 0


@on_devices("copysign.Tensor")
def copysign(self: torch.Tensor, other: Any) -> torch.Tensor:
    if not (isinstance(other, torch.Tensor) and self.dtype == other.dtype == torch.float16):
        return native_of("copysign.Tensor", "CUDA")(self, other)
    size = self.abs().view(torch.int16)
    return (size | (other.to(self.device).view(torch.int16) & _SIGN)).view(torch.float16)
