# SPDX-License-Identifier: MIT
"""Writes by index. torch's own race where an index occurs twice; here terms are added, or the last wins, in order."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, LOW, kinds_of, override

_sort, _topk = native_of("sort.stable"), native_of("topk")


@override("_index_put_impl_", **ANY_DTYPE)
def index_put_(
    self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False, unsafe: bool = False
) -> torch.Tensor:
    """self[indices] = values, or += values."""
    # The place of each element of self; indexing those in the same way gives the places that are written.
    places = torch.arange(self.numel()).reshape(self.shape)
    written = torch.ops.aten.index(places, list(indices))
    values = values.to(self.device).expand(written.shape).reshape(-1)
    return write(self, written.reshape(-1), values, accumulate)


def write(self: torch.Tensor, places: torch.Tensor, values: torch.Tensor, accumulate: bool) -> torch.Tensor:
    """Writes to places of the tensor as a row, in order."""
    flat = self.reshape(-1)
    own = flat.data_ptr() != self.data_ptr() or flat.numel() == 0
    if accumulate:
        if kinds_of((self,)) & LOW:
            flat.copy_(flat.to(torch.float32).index_add_(0, places, values.to(torch.float32)))
        else:
            flat.index_add_(0, places, values)
    else:
        # Of several that write to a place only the last does, so that no two threads meet.
        sorted_places, by = _sort(places, stable=True)
        last = torch.ones_like(sorted_places, dtype=torch.bool)
        if places.numel() > 1:
            torch.ne(sorted_places[1:], sorted_places[:-1], out=last[:-1])
        chosen = by[last]
        flat.scatter_(0, places[chosen], values[chosen])
    if own:
        self.copy_(flat.reshape(self.shape))
    return self


_native_index_add, _native_index_add_ = native_of("index_add"), native_of("index_add_")


@override("index_add", wide="compute", converts=False)
def index_add(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: Any = 1
) -> torch.Tensor:
    """Terms are added in the order of the index, each times alpha, a product that torch's own may fuse with the sum."""
    return _native_index_add(self, dim, index, source if alpha == 1 else source * alpha)


@override("index_add_", **ANY_DTYPE)
def index_add_(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: Any = 1
) -> torch.Tensor:
    if kinds_of((self,)) & LOW:
        return self.copy_(torch.index_add(self, dim, index, source, alpha=alpha))
    if alpha == 1 or not (self.is_floating_point() or self.is_complex()):
        return _native_index_add_(self, dim, index, source, alpha=alpha)
    return _native_index_add_(self, dim, index, source * alpha)


@override("put_", **ANY_DTYPE)
def _(self: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    places = index.reshape(-1)
    if bool(((places < -self.numel()) | (places >= self.numel())).any()):
        raise IndexError(f"put_(): index out of range for a tensor of {self.numel()} elements")
    places = torch.where(places < 0, places + self.numel(), places)
    return write(self, places, source.reshape(-1), accumulate)


@override("narrow_copy", **ANY_DTYPE)
def narrow_copy(self: torch.Tensor, dim: int, start: int, length: int) -> torch.Tensor:
    """torch's kernel writes into an `out` with strides as if it were packed."""
    return self.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)


@override("index_copy", **ANY_DTYPE)
def _(self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    out = self.clone(memory_format=torch.contiguous_format)
    if self.dim() == 0:
        return out.copy_(source.reshape(()))
    dim = dim % self.dim()
    indices: list[Any] = [None] * self.dim()
    indices[dim] = index.reshape(-1)
    if source.dim() != self.dim():
        source = source.reshape([index.numel() if d == dim else self.shape[d] for d in range(self.dim())])
    return index_put_(out, indices, source)


@override("topk", **ANY_DTYPE)
def _(
    self: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of equal numbers the one with the lower index comes first."""
    if self.dim() == 0:
        return self.clone(), torch.zeros((), dtype=torch.int64)
    if not 0 <= k <= self.shape[dim]:
        raise RuntimeError("selected index k out of range")
    rows = self.movedim(dim, -1)
    size = rows.shape[-1]
    if 0 < k <= size // 8 and not bool(rows.isnan().any()):
        kept = _chosen(rows.reshape(-1, size), k, largest).reshape(*rows.shape[:-1], k)
        values, by = _sort(rows.gather(-1, kept), stable=True, dim=-1, descending=largest)
        found = values, kept.gather(-1, by)
    else:
        values, indices = _sort(rows, stable=True, dim=-1, descending=largest)
        found = values[..., :k], indices[..., :k]
    values, indices = (t.movedim(-1, dim).contiguous() for t in found)
    return values, indices


def _chosen(rows: torch.Tensor, k: int, largest: bool) -> torch.Tensor:
    """Which k of each row are first, by their index: sooner found from torch's last value than by sorting all."""
    last = _topk(rows, k, 1, largest, True)[0][:, -1:]
    ahead, equal = (rows > last if largest else rows < last), rows == last
    chosen = ahead | (equal & (equal.cumsum(1) <= k - ahead.sum(1, keepdim=True)))
    return chosen.nonzero()[:, 1].reshape(-1, k)
