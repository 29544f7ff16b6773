# SPDX-License-Identifier: MIT
"""Functions in pieces on devices, in the steps of torch's kernels for the CPU, which are exact; theirs are others."""

from __future__ import annotations

import math

import torch

from repdl.interception.core import ops
from repdl.interception.dtypes import to_floating
from repdl.interception.native import native_of
from repdl.interception.override import on_devices


def _declare(name: str, op: str) -> None:
    """What is not real torch refuses."""

    @on_devices(name)
    def kernel(*tensors: torch.Tensor) -> torch.Tensor:
        if not all(tensor.is_floating_point() for tensor in tensors):
            return native_of(name, "CUDA")(*tensors)
        return ops[op](*tensors)


_declare("hardsigmoid", "hardsigmoid")
_declare("hardsigmoid_backward", "hardsigmoid_grad")
_declare("hardswish", "hardswish")


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
