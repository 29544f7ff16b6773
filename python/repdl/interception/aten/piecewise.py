# SPDX-License-Identifier: MIT
"""Functions in pieces on devices, in the steps of torch's kernels for the CPU, which are exact; theirs are others."""

from __future__ import annotations

import math

import torch

from repdl.interception.core import ops
from repdl.interception.dtypes import to_floating
from repdl.interception.native import LOW_DTYPES, Kernel, native_of
from repdl.interception.override import on_devices
from repdl.interception.rounding import rounded_once

_SIXTH = float.fromhex("0x1.555556p-3")
"""1 / 6 as a float32, also among numbers of float64, as in torch's kernel."""


def _number(value: float, x: torch.Tensor) -> torch.Tensor:
    """Beside numbers of 16 bits it is not rounded to these."""
    return torch.full((), value, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)


def _held(x: torch.Tensor) -> torch.Tensor:
    return ops["clamp"](ops["add"](x, _number(3.0, x)), 0.0, 6.0)


def _declare(name: str, steps: Kernel) -> None:
    """Numbers of 16 bits are rounded to at the end alone; what is not real torch refuses."""
    rounded = rounded_once(steps)

    @on_devices(name)
    def kernel(self: torch.Tensor) -> torch.Tensor:
        if not self.is_floating_point():
            return native_of(name, "CUDA")(self)
        return (rounded if self.dtype in LOW_DTYPES else steps)(self)


_declare("hardsigmoid", lambda x: ops["div"](_held(x), _number(6.0, x)))
_declare("hardswish", lambda x: ops["div"](ops["mul"](x, _held(x)), _number(6.0, x)))


@on_devices("hardsigmoid_backward")
def hardsigmoid_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    is_between = (self > -3.0) & (self < 3.0)
    return torch.where(is_between, ops["mul"](grad_output, _number(_SIXTH, grad_output)), 0.0).to(self.dtype)


@on_devices("_prelu_kernel_backward")
def _prelu_kernel_backward(
    grad_output: torch.Tensor, self: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    is_positive = self > 0
    by_input = torch.where(is_positive, grad_output, ops["mul"](weight, grad_output))
    return by_input, torch.where(is_positive, 0.0, ops["mul"](self, grad_output))


@on_devices("angle")
def angle(self: torch.Tensor) -> torch.Tensor:
    """Of real numbers: pi of what is below 0, NaN of NaN, and +0 of all else."""
    if self.is_complex():
        raise NotImplementedError  # the op of the core has those that are reproducible
    x = self if self.is_floating_point() else to_floating(self)
    found = torch.zeros_like(x, memory_format=torch.contiguous_format).masked_fill_(x < 0, math.pi)
    return torch.where(x.isnan(), x, found)


@on_devices("round.decimals")
def round_decimals(self: torch.Tensor, *, decimals: int) -> torch.Tensor:
    """Every step is rounded, to the type of the numbers."""
    if not self.is_floating_point() or decimals == 0:
        return native_of("round.decimals", "CUDA")(self, decimals=decimals)
    power = torch.full((), 10.0 ** abs(decimals), dtype=self.dtype)
    first, second = ("div", "mul") if decimals < 0 else ("mul", "div")
    return ops[second](ops[first](self, power).round(), power)
