# SPDX-License-Identifier: MIT
"""Functions of one number that are torch's own on the CPU, in the steps that they take there.

On other devices torch has other steps: it multiplies by 1/6 where it divides by 6 on the CPU.
"""

from __future__ import annotations

import math

import torch

from repdl.interception.core import ops
from repdl.interception.dtypes import to_floating
from repdl.interception.native import LOW_DTYPES, Kernel, native_of
from repdl.interception.override import on_devices
from repdl.interception.rounding import rounded_once


def _of_reals(name: str, compute: Kernel) -> None:
    """Low types are rounded to at the end alone; what is not real torch refuses."""
    rounded = rounded_once(compute)

    @on_devices(name)
    def kernel(self: torch.Tensor) -> torch.Tensor:
        if not self.is_floating_point():
            return native_of(name, "CUDA")(self)
        return (rounded if self.dtype in LOW_DTYPES else compute)(self)


def _held(x: torch.Tensor) -> torch.Tensor:
    return ops["clamp"](ops["add"](x, x.new_full((), 3.0)), 0.0, 6.0)


def _sixth(x: torch.Tensor) -> torch.Tensor:
    return ops["div"](x, x.new_full((), 6.0))


_of_reals("hardsigmoid", lambda x: _sixth(_held(x)))
_of_reals("hardswish", lambda x: _sixth(ops["mul"](x, _held(x))))


@on_devices("angle")
def angle(self: torch.Tensor) -> torch.Tensor:
    """Of real numbers: pi of what is below 0, NaN of NaN, and +0 of all else."""
    if self.is_complex():
        raise NotImplementedError  # the op of the core has those that are reproducible
    x = self if self.is_floating_point() else to_floating(self)
    found = torch.zeros_like(x, memory_format=torch.contiguous_format).masked_fill_(x < 0, math.pi)
    return torch.where(x.isnan(), x, found)
