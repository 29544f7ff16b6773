# SPDX-License-Identifier: MIT
"""Reductions of the terms that an index gives each place, on devices, in the order of the index as on the CPU.

torch's own kernels there take terms as they come. Of integers that is all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.dtypes import widen
from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.override import on_devices

_OF_SEGMENTS = {"prod": "prod", "amax": "max", "amin": "min"}


def _reduced(
    self: torch.Tensor, places: torch.Tensor, terms: torch.Tensor, how: str, include_self: bool, each_step: bool
) -> torch.Tensor:
    """The tensor, with the reduction of the terms of each place; a place without any stays as it is.

    Places are those of the tensor as a row. Low types are rounded to at the end, or at `each_step`.
    """
    own, places, terms = self.reshape(-1), places.reshape(-1), terms.reshape(-1)
    counts = torch.zeros_like(own, dtype=torch.int64).index_add_(0, places, torch.ones_like(places))
    is_reached = counts > 0
    if include_self:
        counts = counts + 1
    if how in ("sum", "mean"):
        start = own if include_self else own.masked_fill(is_reached, 0.0)
        if each_step and own.dtype in LOW_DTYPES:
            found = _one_after_another(start, places, terms, torch.add)
        else:
            found = widen(start).index_add(0, places, widen(terms)).to(own.dtype)
        if how == "mean":
            wide = widen(found)
            found = ops["div"](wide, counts.clamp_min(1).to(wide.dtype)).to(own.dtype)
    elif each_step and own.dtype in LOW_DTYPES and how == "prod":
        start = own if include_self else own.masked_fill(is_reached, 1.0)
        found = _one_after_another(start, places, terms, torch.mul)
    else:
        if include_self:
            places, terms = torch.cat([torch.arange(own.numel()), places]), torch.cat([own, terms])
        order = torch.sort(places, stable=True)[1]
        found = ops["segment_reduce"](widen(terms[order]), counts, _OF_SEGMENTS[how], None, 0).to(own.dtype)
    return torch.where(is_reached, found, own).reshape(self.shape)


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


def _is_ours(self: torch.Tensor, other: torch.Tensor, index: torch.Tensor, how: str) -> bool:
    """Whether not torch's own kernel computes, of integers, or refuses the call."""
    if self.is_complex():
        raise NotImplementedError
    known = how in ("sum", "mean", *_OF_SEGMENTS)
    return known and self.is_floating_point() and other.dtype == self.dtype and index.numel() > 0


@on_devices("scatter_reduce.two")
def scatter_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    fits = index.dim() == src.dim() and all(n <= m for n, m in zip(index.shape, src.shape, strict=True))
    if not _is_ours(self, src, index, reduce) or not fits:
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
def index_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    fits = 0 < self.dim() == source.dim() and index.dim() < 2 and -self.dim() <= dim < self.dim()
    if not _is_ours(self, source, index, reduce) or reduce == "sum" or not fits:
        native = native_of("index_reduce", "CUDA")
        return native(self, dim, index, source, reduce, include_self=include_self)
    places = torch.arange(self.numel()).reshape(self.shape).index_select(dim, index)
    if places.shape != source.shape:
        raise RuntimeError(f"index_reduce: expected source of shape {list(places.shape)}, got {list(source.shape)}")
    return _reduced(self, places, source, reduce, include_self, True)
