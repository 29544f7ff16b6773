# SPDX-License-Identifier: MIT
"""One of several numbers. torch's vectors, its scalars and its layouts disagree on zeros of two signs, and on NaN."""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception import core as _core
from repdl.interception.native import Kernel, native_of
from repdl.interception.ops_by_dtype import Ops, ops_of
from repdl.interception.override import ANY_DTYPE, override

_OPS: dict[str, Any] = {"low": "compute", "wide": "float64", "elementwise": True}


def _of_one_type(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Operands as an op takes them: integers beside floating-point numbers become such."""
    if all(t.is_floating_point() for t in tensors):
        return tensors
    dtype = torch.result_type(*tensors) if len(tensors) == 2 else _type_of_three(*tensors)
    return tuple(t if t.is_floating_point() else t.to(dtype) for t in tensors)


def _type_of_three(first: torch.Tensor, second: torch.Tensor, third: torch.Tensor) -> torch.dtype:
    both = torch.empty(torch.broadcast_shapes(first.shape, second.shape), dtype=torch.result_type(first, second))
    return torch.result_type(both, third)


def _declare_pair(name: str, overload: str = "") -> None:
    @override(overload or name, op=name, **_OPS)
    def pair(self: torch.Tensor, other: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
        return ops[name](*_of_one_type(self, other))


for _name in ("maximum", "minimum", "fmax", "fmin"):
    _declare_pair(_name)
for _name in ("clamp_min", "clamp_max"):
    _declare_pair(_name, f"{_name}.Tensor")


def _rounds_up(self: torch.Tensor, *bounds: Any) -> bool:
    """Whether bounds make a tensor of integers one of floating-point numbers."""
    return not self.is_floating_point() and any(isinstance(b, float) for b in bounds)


def _clamp(self: torch.Tensor, low: Any, high: Any, native: Kernel, ops: Ops) -> torch.Tensor:
    if self.is_complex() or not (self.is_floating_point() or _rounds_up(self, low, high)):
        return native(self, low, high)
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x = self if self.is_floating_point() else self.to(torch.get_default_dtype())
    bounds = (-math.inf if low is None else float(low)), (math.inf if high is None else float(high))
    ops = ops if x.dtype != torch.float64 else ops_of(x)
    return ops["clamp"](x, *bounds)


_native_clamp = native_of("clamp")


_ONE_BOUND = {"clamp_min": {2: None}, "clamp_max": {1: None}}


@override("clamp", op="clamp", of_constants=_ONE_BOUND, integers="compute", whole=True, **_OPS)
def clamp(self: torch.Tensor, min: Any = None, max: Any = None, *, ops: Ops = _core.ops) -> torch.Tensor:
    return _clamp(self, min, max, _native_clamp, ops)


@override("clamp_min", op="clamp_min", integers="compute", whole=True, **_OPS)
def clamp_min(self: torch.Tensor, min: Any, *, ops: Ops = _core.ops) -> torch.Tensor:
    return _clamp(self, min, None, _native_clamp, ops)


@override("clamp_max", op="clamp_max", integers="compute", whole=True, **_OPS)
def clamp_max(self: torch.Tensor, max: Any, *, ops: Ops = _core.ops) -> torch.Tensor:
    return _clamp(self, None, max, _native_clamp, ops)


@override("clamp.Tensor", op="clamp_tensor", **_OPS)
def clamp_tensor(
    self: torch.Tensor,
    min: torch.Tensor | None = None,
    max: torch.Tensor | None = None,
    *,
    ops: Ops = _core.ops,
) -> torch.Tensor:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if max is None:
        return ops["clamp_min"](*_of_one_type(self, min))  # type: ignore[arg-type]
    if min is None:
        return ops["clamp_max"](*_of_one_type(self, max))
    return ops["clamp_tensor"](*_of_one_type(self, min, max))


def _declare_extreme(name: str, of_all: str) -> None:
    native, native_of_all = native_of(name), native_of(of_all)

    @override(name, op=name, low="compute", wide="float64", converts=False)
    def extreme(self: torch.Tensor, dim: Any = (), keepdim: bool = False, *, ops: Ops = _core.ops) -> torch.Tensor:
        if self.numel() == 0:
            return native(self, dim, keepdim)
        return ops[name](self, dim, keepdim)

    @override(of_all, op=name, low="compute", wide="float64")
    def extreme_of_all(self: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
        return native_of_all(self) if self.numel() == 0 else ops[name](self)


_declare_extreme("amax", "max")
_declare_extreme("amin", "min")

_native_aminmax = native_of("aminmax")


@override("aminmax", **ANY_DTYPE)
def aminmax(self: torch.Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    if not self.is_floating_point() or self.numel() == 0:
        return _native_aminmax(self, dim=dim, keepdim=keepdim)
    dims = () if dim is None else dim
    return torch.amin(self, dims, keepdim), torch.amax(self, dims, keepdim)


@override("_aminmax", **ANY_DTYPE)
def aminmax_of_all(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return aminmax(self)


@override("_aminmax.dim", **ANY_DTYPE)
def aminmax_of_rows(self: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    return aminmax(self, dim=dim, keepdim=keepdim)
