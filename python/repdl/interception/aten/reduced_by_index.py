# SPDX-License-Identifier: MIT
"""Sums, products, means and extremes of the terms that an index gives each place, in the order of the index.

torch's own kernels for devices take terms as they come; of integers that is all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.dtypes import widen
from repdl.interception.native import LOW_DTYPES, Kernel, native_of
from repdl.interception.override import ANY_DTYPE, on_devices, override

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


def _declare_few(name: str, ours: Kernel) -> None:
    """What the op does not take, on devices: integers, whose sums have no order, no terms, and single numbers."""

    @on_devices(name)
    def few(self: torch.Tensor, dim: int, index: torch.Tensor, terms: torch.Tensor, **alpha: Any) -> torch.Tensor:
        is_whole = not self.is_floating_point() and not self.is_complex()
        if is_whole or self.dtype != terms.dtype or index.numel() == 0:
            return native_of(name, "CUDA")(self, dim, index, terms, **alpha)
        if self.dim() or not self.is_floating_point():
            raise NotImplementedError
        return ours(self.reshape(1), 0, index.reshape(-1), terms.reshape(-1), **alpha).reshape(())


_declare_few("index_add", index_add)
_declare_few("scatter_add", scatter_add)

_EXTREMES = ("amax", "amin")
_SETTINGS: dict[str, Any] = {**ANY_DTYPE, "low": "steps", "converts": False, "in_place": True}


def _is_ours(self: torch.Tensor, reduce: str, *known: str) -> bool:
    """Whether the op computes. In 16 bits torch's own kernels round in between, but for the largest and smallest."""
    low = self.dtype in LOW_DTYPES and reduce in _EXTREMES
    return low or (self.dtype in _REAL and reduce in ("mean", "prod", *_EXTREMES, *known))


@override("scatter_reduce.two", op="scatter_reduce", **_SETTINGS)
def scatter_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    if not _is_ours(self, reduce, "sum") or not _of_elements(self, dim, index, src):
        return _native_scatter_reduce(self, dim, index, src, reduce, include_self=include_self)
    found = _scattered(ops["scatter_reduce"], widen(self), dim, index, widen(src), reduce, include_self)
    return found.to(self.dtype)


@override("index_reduce", op="index_reduce", **_SETTINGS)
def index_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    if not _is_ours(self, reduce) or not _of_slices(self, dim, index, source):
        return _native_index_reduce(self, dim, index, source, reduce, include_self=include_self)
    found: torch.Tensor = ops["index_reduce"](
        widen(self), dim, index.to(torch.int64), widen(source), reduce, include_self
    )
    return found.to(self.dtype)


def _reduced(
    self: torch.Tensor, places: torch.Tensor, terms: torch.Tensor, how: str, include_self: bool, each_step: bool
) -> torch.Tensor:
    """The tensor, with the reduction of the terms of each place; a place without any stays as it is.

    Places are those of the tensor as a row. Low types are rounded to at the end, or at `each_step`.
    """
    own, places, terms = self.reshape(-1), places.reshape(-1), terms.reshape(-1)
    if each_step and own.dtype in LOW_DTYPES and how not in _EXTREMES:
        is_reached = torch.zeros_like(own, dtype=torch.bool).index_fill_(0, places, True)
        first, step = (1.0, torch.mul) if how == "prod" else (0.0, torch.add)
        start = own if include_self else own.masked_fill(is_reached, first)
        found = _one_after_another(start, places, terms, step)
    else:
        sums = "sum" if how == "mean" else how
        found = ops["scatter_reduce"](widen(own), 0, places, widen(terms), sums, include_self).to(own.dtype)
    if how == "mean":
        counts = torch.full_like(own, int(include_self), dtype=torch.int64)
        counts.index_add_(0, places, torch.ones_like(places))
        wide = widen(found)
        found = ops["div"](wide, counts.clamp_min(1).to(wide.dtype)).to(own.dtype)
    return found.reshape(self.shape)


def _one_after_another(
    start: torch.Tensor, places: torch.Tensor, terms: torch.Tensor, step: Callable[..., torch.Tensor]
) -> torch.Tensor:
    """`step(result so far, term)` of each place, for the first terms of all places, then the second ones and so on."""
    result = start.clone()
    places, by = torch.sort(places, stable=True)
    rank = torch.arange(places.numel()) - torch.searchsorted(places, places)
    for turn in range(int(rank.amax()) + 1):
        chosen = (rank == turn).nonzero().reshape(-1)
        at = places[chosen]
        result.index_copy_(0, at, step(result[at], terms[by[chosen]]))
    return result


def _is_reduced(self: torch.Tensor, other: torch.Tensor, index: torch.Tensor, how: str) -> bool:
    """Whether not torch's own kernel for the device computes, of integers, or refuses the call."""
    if self.is_complex():
        raise NotImplementedError
    known = how in ("sum", "mean", "prod", *_EXTREMES)
    return known and self.is_floating_point() and other.dtype == self.dtype and index.numel() > 0


@on_devices("scatter_reduce.two")
def scatter_reduce_on_device(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    fits = index.dim() == src.dim() and all(n <= m for n, m in zip(index.shape, src.shape, strict=True))
    if not _is_reduced(self, src, index, reduce) or not fits:
        native = native_of("scatter_reduce.two", "CUDA")
        return native(self, dim, index, src, reduce, include_self=include_self)
    places = torch.arange(self.numel()).reshape(self.shape).gather(dim, index)  # which looks at the index as torch does
    return _reduced(self, places, src[tuple(map(slice, index.shape))], reduce, include_self, False)


_ADDED_OR_MULTIPLIED = {"add": "sum", "multiply": "prod"}


@on_devices("scatter.reduce")
def scatter(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, *, reduce: str) -> torch.Tensor:
    return torch.scatter_reduce(self, dim, index, src, _ADDED_OR_MULTIPLIED.get(reduce, reduce))


@on_devices("scatter.value_reduce")
def scatter_value(self: torch.Tensor, dim: int, index: torch.Tensor, value: Any, *, reduce: str) -> torch.Tensor:
    return scatter(self, dim, index, torch.full(index.shape, value, dtype=self.dtype), reduce=reduce)


@on_devices("index_reduce")
def index_reduce_on_device(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    fits = 0 < self.dim() == source.dim() and index.dim() < 2 and -self.dim() <= dim < self.dim()
    if not _is_reduced(self, source, index, reduce) or reduce == "sum" or not fits:
        native = native_of("index_reduce", "CUDA")
        return native(self, dim, index, source, reduce, include_self=include_self)
    places = torch.arange(self.numel()).reshape(self.shape).index_select(dim, index)
    if places.shape != source.shape:
        raise RuntimeError(f"index_reduce: expected source of shape {list(places.shape)}, got {list(source.shape)}")
    return _reduced(self, places, source, reduce, include_self, True)
