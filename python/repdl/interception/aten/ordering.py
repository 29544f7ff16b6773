# SPDX-License-Identifier: MIT
"""Orders of numbers and what is read from them. Equal numbers, zeros and NaNs among them, go by their index.

torch's own kernels see what the core does not order, such as bool, and what torch refuses.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import compute_elementwise_output_logical_to_physical_perm as physical_order

from repdl.interception import core
from repdl.interception.native import Kernel, elsewhere, native_of
from repdl.interception.override import ANY_DTYPE, on_devices, override

_Found = tuple[torch.Tensor, torch.Tensor]

_ORDERED = (
    *(torch.float32, torch.float64, torch.bfloat16, torch.float16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
)


def _is_ordered(self: torch.Tensor, dim: int) -> bool:
    """Whether the core orders the rows along a dimension."""
    rank = max(self.dim(), 1)
    return self.dtype in _ORDERED and self.numel() > 0 and -rank <= dim < rank


_stable = native_of("sort.stable")


@override("sort", op="sort", contiguous=True, **ANY_DTYPE)
def sort(self: torch.Tensor, dim: int = -1, descending: bool = False) -> _Found:
    """The results have the strides of the operand, if it is dense."""
    if not _is_ordered(self, dim):
        return _stable(self, stable=True, dim=dim, descending=descending)
    if self.dim() < 2:
        return core.ops["sort"](self, dim, descending)
    order, _ = physical_order(self)
    values, indices = core.ops["sort"](self.permute(order), order.index(dim % self.dim()), descending)
    back = sorted(range(self.dim()), key=order.__getitem__)
    return values.permute(back), indices.permute(back)


@override("sort.stable", **ANY_DTYPE)
def sort_stable(self: torch.Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> _Found:
    return sort(self, dim, descending)


_native_topk = native_of("topk")


@override("topk", op="topk", contiguous=True, **ANY_DTYPE)
def topk(self: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> _Found:
    if not _is_ordered(self, dim) or not 0 <= k <= (self.shape[dim] if self.dim() else 1):
        return _native_topk(self, k, dim, largest, sorted)
    return core.ops["topk"](self, k, dim, largest, sorted)


# Of two overloads torch has one that computes: the other one calls it, and so would come back here.
_native_kthvalue = native_of("kthvalue.values")


def _targets(self: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"values": self.new_empty(0), "indices": self.new_empty(0, dtype=torch.int64)}


@override("kthvalue", op="kthvalue", contiguous=True, **ANY_DTYPE)
def kthvalue(self: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> _Found:
    if not _is_ordered(self, dim) or not 1 <= k <= (self.shape[dim] if self.dim() else 1):
        return _native_kthvalue(self, k, dim, keepdim, **_targets(self))
    return core.ops["kthvalue"](self, k, dim, keepdim)


def _declare_median(name: str) -> None:
    native, native_of_all = native_of(f"{name}.dim_values"), native_of(name)

    @override(f"{name}.dim", op=name, contiguous=True, **ANY_DTYPE)
    def median(self: torch.Tensor, dim: int, keepdim: bool = False) -> _Found:
        if not _is_ordered(self, dim):
            return native(self, dim, keepdim, **_targets(self))
        return core.ops[name](self, dim, keepdim)

    @override(name, **ANY_DTYPE)
    def median_of_all(self: torch.Tensor) -> torch.Tensor:
        if not _is_ordered(self, 0):
            return native_of_all(self)
        return core.ops[name](self.reshape(-1), 0, False)[0]


_declare_median("median")
_declare_median("nanmedian")

_native_mode = native_of("mode")


@override("mode", op="mode", contiguous=True, **ANY_DTYPE)
def mode(self: torch.Tensor, dim: int = -1, keepdim: bool = False) -> _Found:
    """The number that comes most often, the smallest of several; NaN is one of them, and the largest."""
    if self.dtype == torch.bool and self.numel():
        values, indices = mode(self.to(torch.uint8), dim, keepdim)
        return values.to(torch.bool), indices
    if not _is_ordered(self, dim):
        return _native_mode(self, dim, keepdim)
    return core.ops["mode"](self, dim, keepdim)


def _first_of_each(
    differs: torch.Tensor, order: torch.Tensor, return_inverse: bool, return_counts: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of things in a stable order, of which all but the first differ from the one before or do not: where the first of
    each is, to which each is equal, and how many there are."""
    is_first = torch.cat([differs.new_ones(1), differs])
    firsts = is_first.nonzero().reshape(-1)
    inverse, counts = order.new_empty(0), order.new_empty(0)
    if return_inverse:
        inverse = torch.empty_like(order)
        inverse[order] = is_first.cumsum(0) - 1  # integers
    if return_counts:
        counts = torch.cat([firsts[1:], firsts.new_full((1,), len(order))]) - firsts  # integers
    return order[firsts], inverse, counts


def _unique_in_order(
    self: torch.Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What `_unique2` gives on the CPU, where NaNs differ, from a stable order."""
    flat = self.reshape(-1)
    if not flat.numel():
        none = flat.new_empty(0, dtype=torch.int64)
        return flat.clone(), none.reshape(self.shape) if return_inverse else none, none.clone()
    values, order = sort(flat.to(torch.uint8) if flat.dtype == torch.bool else flat, 0)
    firsts, inverse, counts = _first_of_each(values[1:] != values[:-1], order, return_inverse, return_counts)
    return flat[firsts], inverse.reshape(self.shape) if return_inverse else inverse, counts


@on_devices("unique_consecutive")
def unique_consecutive(
    self: torch.Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The first of equal neighbours, as on the CPU; torch's own kernel for devices takes NaNs for equal."""
    if dim is not None:
        return unique_dim_consecutive(self, dim, return_inverse, return_counts)
    flat = self.reshape(-1)
    if not flat.numel():
        return native_of("unique_consecutive", "CUDA")(self, return_inverse, return_counts)
    order = torch.arange(len(flat))
    firsts, inverse, counts = _first_of_each(flat[1:] != flat[:-1], order, return_inverse, return_counts)
    return flat[firsts], inverse.reshape(self.shape) if return_inverse else inverse, counts


@on_devices("unique_dim_consecutive")
def unique_dim_consecutive(
    self: torch.Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same of slices."""
    if not self.numel() or not self.dim():
        return native_of("unique_dim_consecutive", "CUDA")(self, dim, return_inverse, return_counts)
    rows = self.movedim(dim, 0).reshape(self.shape[dim], -1)
    differs = (rows[1:] != rows[:-1]).any(1)
    firsts, inverse, counts = _first_of_each(differs, torch.arange(len(rows)), return_inverse, return_counts)
    return self.index_select(dim, firsts), inverse, counts


def _unique_slices(
    self: torch.Tensor, dim: int, return_counts: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What `unique_dim` gives on the CPU, from stable orders by one number of each slice after the other."""
    rows = self.movedim(dim, 0).reshape(self.shape[dim], -1)
    rows = rows.to(torch.uint8) if rows.dtype == torch.bool else rows
    order = torch.arange(len(rows))
    for column in reversed(rows.unbind(1)):
        order = order[sort(column[order], 0)[1]]
    sorted_rows = rows[order]
    differs = (sorted_rows[1:] != sorted_rows[:-1]).any(1)
    firsts, inverse, counts = _first_of_each(differs, order, True, return_counts)
    return self.index_select(dim, firsts), inverse, counts


def _with_first_zero(name: str) -> Kernel:
    """torch's unique numbers, and of zeros the sign of the first."""
    native = native_of(name)

    def kernel(self: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        if self.device.type in elsewhere and self.dtype in (*_ORDERED, torch.bool):
            found = _unique_in_order(self, *args, **kwargs)
            return found if name == "_unique2" else found[:2]
        values, *others = native(self, *args, **kwargs)
        if values.is_floating_point():
            zero = values == 0
            if bool(zero.any()):
                flat = self.reshape(-1)
                values = torch.where(zero, flat[(flat == 0).to(torch.uint8).argmax()], values)
        return values, *others

    return kernel


for _name in ("_unique", "_unique2"):
    override(_name, **ANY_DTYPE)(_with_first_zero(_name))

_native_unique_dim = native_of("unique_dim")


@override("unique_dim", **ANY_DTYPE)
def unique_dim(
    self: torch.Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """torch's unique slices, of equal ones the first. Like torch's own it gives the inverse in any case."""
    if self.device.type in elsewhere and self.dtype in (*_ORDERED, torch.bool) and self.numel() and self.dim():
        return _unique_slices(self, dim, return_counts)
    values, inverse, counts = _native_unique_dim(self, dim, sorted, True, return_counts)
    if self.is_floating_point() and values.numel():
        first = torch.full((values.shape[dim],), len(inverse)).scatter_reduce(
            0, inverse, torch.arange(len(inverse)), "amin"
        )
        values = self.index_select(dim, first)
    return values, inverse, counts


def _extreme(self: torch.Tensor, dim: int, keepdim: bool, largest: bool) -> _Found:
    """The first element along a dimension in a stable order, in which NaN is the largest; of minima it is the least."""
    values, indices = sort(self, dim, largest)
    if not self.dim():
        return values, indices
    if not largest and self.is_floating_point():
        is_nan = values.narrow(dim, -1, 1).isnan()
        nans = sort(self, dim, True)
        values = torch.where(is_nan, nans[0], values)
        indices = torch.where(is_nan, nans[1], indices)
    if keepdim:
        return values.narrow(dim, 0, 1), indices.narrow(dim, 0, 1)
    return values.select(dim, 0), indices.select(dim, 0)


def _declare_extremes(name: str, largest: bool) -> None:
    @on_devices(f"{name}.dim")
    def extreme(self: torch.Tensor, dim: int, keepdim: bool = False) -> _Found:
        return _extreme(self, dim, keepdim, largest)

    @on_devices(f"arg{name}")
    def place(self: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
        if dim is not None:
            return _extreme(self, dim, keepdim, largest)[1]
        found = _extreme(self.reshape(-1), 0, False, largest)[1]
        return found.reshape([1] * self.dim()) if keepdim else found


_declare_extremes("max", True)
_declare_extremes("min", False)


def _declare_running_extremes(name: str, at_least: Kernel) -> None:
    """Extremes of what precedes each element, of equal ones the last and of NaNs too; of n in log n steps."""

    @on_devices(f"_cum{name}_helper")
    def running(self: torch.Tensor, values: torch.Tensor, indices: torch.Tensor, dim: int) -> None:
        dim, count = dim % self.dim(), self.shape[dim]
        found = self
        places = torch.arange(count).reshape([count if d == dim else 1 for d in range(self.dim())]).expand(self.shape)
        step = 1
        while step < count:
            later, earlier = (found.narrow(dim, begin, count - step) for begin in (step, 0))
            stays = at_least(later, earlier) | later.isnan()
            of_later, of_earlier = (places.narrow(dim, begin, count - step) for begin in (step, 0))
            first = found.narrow(dim, 0, step), places.narrow(dim, 0, step)
            found = torch.cat([first[0], torch.where(stays, later, earlier)], dim)
            places = torch.cat([first[1], torch.where(stays, of_later, of_earlier)], dim)
            step *= 2
        values.copy_(found)
        indices.copy_(places)


_declare_running_extremes("max", torch.ge)
_declare_running_extremes("min", torch.le)
