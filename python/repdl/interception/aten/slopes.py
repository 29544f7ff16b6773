# SPDX-License-Identifier: MIT
"""Gradients of activations made of pieces. In torch's kernels a NaN has one gradient in vectors, and another alone."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.override import override


def _where_outside(inside: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    return torch.where(inside, torch.zeros_like(grad), grad)


@override("hardtanh_backward", low="compute", wide="compute", elementwise=True)
def hardtanh_backward(grad_output: torch.Tensor, self: torch.Tensor, min_val: Any, max_val: Any) -> torch.Tensor:
    """The gradient, +0 where the operand is at a bound or beyond."""
    return _where_outside((self <= min_val) | (self >= max_val), grad_output)


@override("hardshrink_backward", "softshrink_backward", low="compute", wide="compute", elementwise=True)
def shrink_backward(grad_output: torch.Tensor, self: torch.Tensor, lambd: Any) -> torch.Tensor:
    """The gradient, +0 where the operand is within lambd."""
    return _where_outside((self >= -lambd) & (self <= lambd), grad_output)


@override("hardswish_backward", wide="compute", elementwise=True)
def hardswish_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """grad * (x / 3 + 1/2) between -3 and 3, +0 below, the gradient above."""
    within = torch.where(self < 3, grad_output * (self / 3 + 0.5), grad_output)
    return _where_outside(self <= -3, within)
