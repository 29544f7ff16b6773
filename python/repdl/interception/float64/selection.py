# SPDX-License-Identifier: MIT
"""One of several numbers: torch's choice, and the sign of zero that docs/arithmetic.md defines."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import float64_ops

_largest, _clamp = native_of("amax"), native_of("clamp")


def _declare_pair(name: str, larger: bool) -> None:
    native = native_of(name)

    def selection(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        # Of two zeros +0 + -0 = +0 is the larger one; with the signs turned, the smaller.
        zero = x + y if larger else -(-x - y)
        return torch.where((x == 0) & (y == 0), zero, native(x, y))

    float64_ops[name] = selection


def _declare_extreme(name: str, larger: bool) -> None:
    native = native_of(name)

    def extreme(x: torch.Tensor, dim: Any = (), keepdim: bool = False) -> torch.Tensor:
        found: torch.Tensor = native(x, dim, keepdim)
        zero = found == 0
        if bool(zero.any()):
            wanted = (x == 0) & (x.signbit() ^ larger)
            has = _largest(wanted.to(torch.uint8), dim, keepdim).to(torch.bool)
            first, second = (0.0, -0.0) if larger else (-0.0, 0.0)
            sign = torch.full_like(found, second).masked_fill_(has, first)
            found = torch.where(zero, sign, found)
        return found

    float64_ops[name] = extreme


for _name, _larger in (("maximum", True), ("minimum", False), ("fmax", True), ("fmin", False)):
    _declare_pair(_name, _larger)
for _name, _larger in (("amax", True), ("amin", False)):
    _declare_extreme(_name, _larger)


def clamp_min(x: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
    return torch.where(((x < bound) | bound.isnan()) & ~x.isnan(), bound, x)


def clamp_max(x: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
    return torch.where(((x > bound) | bound.isnan()) & ~x.isnan(), bound, x)


def clamp_tensor(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    return clamp_max(clamp_min(x, low), high)


def clamp(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    if low != 0 and high != 0:  # only zeros have two signs
        return _clamp(x, low, high)
    return clamp_tensor(x, *(torch.full((), bound, dtype=x.dtype) for bound in (low, high)))


def relu(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x < 0, torch.zeros((), dtype=x.dtype), x)


float64_ops.update(clamp_min=clamp_min, clamp_max=clamp_max, clamp_tensor=clamp_tensor, clamp=clamp, relu=relu)
