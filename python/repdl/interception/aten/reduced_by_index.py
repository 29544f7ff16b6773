# SPDX-License-Identifier: MIT
"""Sums, products, means and extremes of the terms that an index gives each place, in the order of the index.

torch's own kernels for devices take terms as they come; of integers that is all the same.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.native import Kernel, native_of
from repdl.interception.override import on_devices, override

_REAL = (torch.float32, torch.float64)
_PAIRED = (torch.complex64, torch.complex128)
_INDICES = (torch.int64, torch.int32)

_native_index_add, _native_scatter_add = native_of("index_add"), native_of("scatter_add")
_native_index_reduce, _native_scatter_reduce = native_of("index_reduce"), native_of("scatter_reduce.two")


def _of_slices(self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether the arguments fit together: torch's own kernels say what is wrong with others."""
    return (
        self.dtype == source.dtype
        and index.dtype in _INDICES
        and 0 < self.dim() == source.dim()
        and index.dim() < 2
        and -self.dim() <= dim < self.dim()
        and source.shape[dim] == index.numel()
    )


def _of_elements(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> bool:
    """The same of an index for each element."""
    return (
        self.dtype == src.dtype
        and index.dtype in _INDICES
        and 0 < self.dim() == src.dim() == index.dim()
        and -self.dim() <= dim < self.dim()
        and all(n <= m for n, m in zip(index.shape, src.shape, strict=True))
        and all(n <= m or d == dim % self.dim() for d, (n, m) in enumerate(zip(index.shape, self.shape, strict=True)))
        and index.numel() > 0
    )


def _scattered(
    op: Kernel, self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, *settings: Any
) -> torch.Tensor:
    """An op of the elements that the index can reach. Others stay as they are."""
    reached = tuple(slice(None) if d == dim % self.dim() else slice(n) for d, n in enumerate(index.shape))
    terms = src[tuple(slice(n) for n in index.shape)]
    found: torch.Tensor = op(self[reached], dim, index.to(torch.int64), terms, *settings)
    if found.shape == self.shape:
        return found
    result = self.clone(memory_format=torch.contiguous_format)
    result[reached] = found
    return result


@override("index_add", op="index_add", wide="compute", alike=(0, 3), converts=False, in_place=True)
def index_add(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: Any = 1
) -> torch.Tensor:
    """Terms are added in the order of the index, each times alpha, a product that torch's own may fuse with the sum.

    Complex numbers are pairs of sums. torch's own kernel adds integers.
    """
    if self.dtype in _PAIRED and source.dtype == self.dtype and 0 < self.dim() == source.dim():
        terms = source if alpha == 1 else source * alpha
        pairs = (torch.view_as_real(x.resolve_conj()) for x in (self, terms))
        sums = index_add(next(pairs), dim if dim >= 0 else dim - 1, index, next(pairs))
        return torch.view_as_complex(sums)
    if self.dtype not in _REAL or not _of_slices(self, dim, index, source):
        return _native_index_add(self, dim, index, source if alpha == 1 else source * alpha)
    return ops["index_add"](self, dim, index.to(torch.int64), source, alpha)


@override("scatter_add", op="scatter_add", wide="compute", alike=(0, 3), converts=False, in_place=True)
def scatter_add(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    if self.dtype not in _REAL or not _of_elements(self, dim, index, src):
        return _native_scatter_add(self, dim, index, src)
    return _scattered(ops["scatter_add"], self, dim, index, src)


_SETTINGS: dict[str, Any] = {"wide": "compute", "alike": (0, 3), "converts": False, "in_place": True}
_OF_INDEX = ("mean", "prod", "amax", "amin")


@override("scatter_reduce.two", op="scatter_reduce", **_SETTINGS)
def scatter_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    if self.dtype not in _REAL or reduce not in ("sum", *_OF_INDEX) or not _of_elements(self, dim, index, src):
        return _native_scatter_reduce(self, dim, index, src, reduce, include_self=include_self)
    return _scattered(ops["scatter_reduce"], self, dim, index, src, reduce, include_self)


@override("index_reduce", op="index_reduce", **_SETTINGS)
def index_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    if self.dtype not in _REAL or reduce not in _OF_INDEX or not _of_slices(self, dim, index, source):
        return _native_index_reduce(self, dim, index, source, reduce, include_self=include_self)
    return ops["index_reduce"](self, dim, index.to(torch.int64), source, reduce, include_self)


def _declare_few(name: str, ours: Kernel) -> None:
    """What the op does not take, on devices: integers, whose sums have no order, no terms, and single numbers."""

    @on_devices(name)
    def few(
        self: torch.Tensor, dim: int, index: torch.Tensor, terms: torch.Tensor, *how: str, **settings: Any
    ) -> torch.Tensor:
        is_whole = not self.is_floating_point() and not self.is_complex()
        if is_whole or self.dtype != terms.dtype or index.numel() == 0:
            return native_of(name, "CUDA")(self, dim, index, terms, *how, **settings)
        if self.dim() or not self.is_floating_point():
            raise NotImplementedError
        return ours(self.reshape(1), 0, index.reshape(-1), terms.reshape(-1), *how, **settings).reshape(())


_declare_few("index_add", index_add)
_declare_few("scatter_add", scatter_add)
_declare_few("scatter_reduce.two", scatter_reduce)
_declare_few("index_reduce", index_reduce)

_ADDED_OR_MULTIPLIED = {"add": "sum", "multiply": "prod"}


@on_devices("scatter.reduce")
def scatter(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, *, reduce: str) -> torch.Tensor:
    return torch.scatter_reduce(self, dim, index, src, _ADDED_OR_MULTIPLIED.get(reduce, reduce))


@on_devices("scatter.value_reduce")
def scatter_value(self: torch.Tensor, dim: int, index: torch.Tensor, value: Any, *, reduce: str) -> torch.Tensor:
    return scatter(self, dim, index, torch.full(index.shape, value, dtype=self.dtype), reduce=reduce)
