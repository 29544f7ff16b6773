# SPDX-License-Identifier: MIT
"""Activations in pieces on devices, in the steps of torch's kernels for the CPU, which are exact; theirs are others."""

from __future__ import annotations

import torch

from repdl.interception.native import Kernel
from repdl.interception.override import on_devices

_SIXTH = float.fromhex("0x1.555556p-3")
"""1 / 6 as a float32, also among numbers of float64, as in torch's kernel."""


def _wide(x: torch.Tensor) -> torch.Tensor:
    """Numbers of 16 bits are rounded to at the end alone."""
    return x if x.dtype == torch.float64 else x.float()


def _hardsigmoid(x: torch.Tensor) -> torch.Tensor:
    return _wide(x).add(3.0).clamp(0.0, 6.0).div(6.0)


def _hardswish(x: torch.Tensor) -> torch.Tensor:
    wide = _wide(x)
    return wide.add(3.0).clamp(0.0, 6.0).mul(wide).div(6.0)


def _declare(name: str, steps: Kernel) -> None:
    def result(x: torch.Tensor) -> torch.Tensor:
        return steps(x).to(x.dtype)

    @on_devices(name)
    def new(self: torch.Tensor) -> torch.Tensor:
        return result(self)

    @on_devices(f"{name}_")
    def in_place(self: torch.Tensor) -> torch.Tensor:
        return self.copy_(result(self))

    @on_devices(f"{name}.out")
    def into(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        found = result(self)
        return out.resize_(found.shape).copy_(found)


_declare("hardsigmoid", _hardsigmoid)
_declare("hardswish", _hardswish)


@on_devices("hardsigmoid_backward")
def hardsigmoid_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    x, grad = _wide(self), _wide(grad_output)
    return torch.where((x > -3.0) & (x < 3.0), grad.mul(_SIXTH), 0.0).to(self.dtype)


@on_devices("_prelu_kernel_backward")
def _prelu_kernel_backward(
    grad_output: torch.Tensor, self: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    x, of_weight, grad = map(_wide, (self, weight, grad_output))
    is_positive = x > 0
    grads = torch.where(is_positive, grad, of_weight.mul(grad)), torch.where(is_positive, 0.0, x.mul(grad))
    return grads[0].to(self.dtype), grads[1].to(self.dtype)
