# SPDX-License-Identifier: MIT
"""Orders of numbers and what is read from them. Equal numbers, zeros and NaNs among them, go by their index."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import Kernel, native_of
from repdl.interception.override import ANY_DTYPE, override

_stable = native_of("sort.stable")
_Found = tuple[torch.Tensor, torch.Tensor]


@override("sort", **ANY_DTYPE)
def sort(self: torch.Tensor, dim: int = -1, descending: bool = False) -> _Found:
    return _stable(self, stable=True, dim=dim, descending=descending)


@override("sort.stable", **ANY_DTYPE)
def sort_stable(self: torch.Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> _Found:
    return _stable(self, stable=True, dim=dim, descending=descending)


def _first(self: torch.Tensor, found: torch.Tensor, dim: int) -> _Found:
    """The first number along a dimension that equals what was found there, and its index. Both keep the dimension."""
    equal = self == found
    if self.is_floating_point():
        equal = equal | (self.isnan() & found.isnan())
    index = equal.to(torch.uint8).argmax(dim, keepdim=True)
    return self.gather(dim, index), index


def _with_lowest_index(name: str, into: str) -> Kernel:
    """torch's choice of a number from each row, with the index of the first that equals it.

    `into` is the overload that computes: the other one calls it, and so would come back here.
    """
    native = native_of(into)

    def kernel(self: torch.Tensor, *args: Any, **kwargs: Any) -> _Found:
        values, indices = native(
            self, *args, **kwargs, values=self.new_empty(0), indices=self.new_empty(0, dtype=torch.int64)
        )
        if self.dim() == 0 or self.numel() == 0:
            return values, indices
        dim, keepdim = _dim_and_keepdim(name, args, kwargs)
        if not keepdim:
            values = values.unsqueeze(dim)
        values, indices = _first(self, values, dim)
        return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))

    return kernel


def _dim_and_keepdim(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, bool]:
    given = (
        dict(zip(("k", "dim", "keepdim") if name == "kthvalue" else ("dim", "keepdim"), args, strict=False)) | kwargs
    )
    return given.get("dim", -1), given.get("keepdim", False)


for _name, _into in (
    ("kthvalue", "kthvalue.values"),
    ("median.dim", "median.dim_values"),
    ("nanmedian.dim", "nanmedian.dim_values"),
):
    override(_name, **ANY_DTYPE)(_with_lowest_index(_name, _into))


def _of_all(name: str) -> Kernel:
    native = native_of(name)

    def kernel(self: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = native(self)
        if not self.is_floating_point() or self.numel() == 0 or bool(found != 0) or self.dim() == 0:
            return found
        return _first(self.reshape(-1), found.reshape(1), 0)[0].reshape(())

    return kernel


for _name in ("median", "nanmedian"):
    override(_name, **ANY_DTYPE)(_of_all(_name))


@override("mode", **ANY_DTYPE)
def mode(self: torch.Tensor, dim: int = -1, keepdim: bool = False) -> _Found:
    """The number that comes most often, the smallest of several; NaN is one of them, and the largest."""
    if self.dim() == 0 or self.numel() == 0:
        return native_mode(self, dim, keepdim)
    values, indices = _stable(self, stable=True, dim=dim, descending=False)
    size = self.shape[dim]
    before, after = values.narrow(dim, 0, size - 1), values.narrow(dim, 1, size - 1)
    changes = before != after
    if self.is_floating_point():
        changes = changes & ~(before.isnan() & after.isnan())
    place = torch.arange(size).reshape([-1 if d == dim % self.dim() else 1 for d in range(self.dim())])
    starts = torch.zeros(values.shape, dtype=torch.int64)
    starts.narrow(dim, 1, size - 1).copy_(torch.where(changes, place.narrow(dim, 1, size - 1), 0))
    starts = starts.cummax(dim).values
    end = (place - starts).argmax(dim, keepdim=True)
    index = indices.gather(dim, starts.gather(dim, end))
    value = self.gather(dim, index)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


native_mode = native_of("mode")


def _with_first_zero(name: str) -> Kernel:
    """torch's unique numbers, and of zeros the sign of the first."""
    native = native_of(name)

    def kernel(self: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
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
    values, inverse, counts = _native_unique_dim(self, dim, sorted, True, return_counts)
    if self.is_floating_point() and values.numel():
        first = torch.full((values.shape[dim],), len(inverse)).scatter_reduce(
            0, inverse, torch.arange(len(inverse)), "amin"
        )
        values = self.index_select(dim, first)
    return values, inverse, counts
