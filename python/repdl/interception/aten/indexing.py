# SPDX-License-Identifier: MIT
"""Writes by index. torch's own race where an index occurs twice; here terms are added, or the last wins, in order."""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl import _core
from repdl.interception.native import Kernel, native_of
from repdl.interception.override import ANY_DTYPE, on_devices, override

_sort, _aminmax = native_of("sort.stable"), native_of("aminmax")
_write, _scatter = native_of("_index_put_impl_"), native_of("scatter_.src")
_index, _empty = native_of("index.Tensor"), native_of("empty.memory_format")

_INDICES = (torch.int64, torch.int32)
_MASKS = (torch.bool, torch.uint8)
_SERIAL = 3000  # elements: torch writes fewer by one thread (aten/src/ATen/native/cpu/IndexKernelUtils.h)


@override("_index_put_impl_", **ANY_DTYPE)
def index_put_(
    self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False, unsafe: bool = False
) -> torch.Tensor:
    """self[indices] = values, or += values."""
    if values.dtype != self.dtype:
        if accumulate or values.numel() != 1 or not _are_masks(indices):
            raise RuntimeError(
                f"[index_put] values of {values.dtype} must have the dtype of self, {self.dtype}: convert them by .to()"
            )
        return _write(self, indices, values, False, unsafe)  # torch fills with one number of any type
    values = values.to(self.device)
    indices = [None if index is None else index.to(self.device) for index in indices]
    in_any_order = not accumulate and self.is_cpu and not _core.view_overlaps(self.shape, self.stride())
    if in_any_order and (values.numel() == 1 or _are_masks(indices) or _is_written_in_order(self, indices)):
        return _write(self, indices, _apart(values, self), False, unsafe)
    if (accumulate or in_any_order) and (found := _lines_of(self, indices)) is not None:
        before, along, lines, behind = found
        if self.is_cpu and not _fits(values, [*before, *lines.shape, *behind]):
            return _write(self, indices, values, accumulate, unsafe)  # torch's error
        if in_any_order:
            values = _last_of_each_line(_apart(values, self), before, along, lines, behind)
            return _write(self, indices, values, False, unsafe)
        shape = (math.prod(before), along, math.prod(behind))
        terms = values.expand(*before, *lines.shape, *behind).reshape(shape[0], lines.numel(), shape[2])
        return _in_place(self, shape, lambda x: x.index_add_(1, lines.reshape(-1), terms))
    # The place of each element of self; indexing those in the same way gives the places that are written.
    places = torch.arange(self.numel()).reshape(self.shape)
    written = torch.ops.aten.index(places, list(indices))
    return write(self, written.reshape(-1), values.expand(written.shape).reshape(-1), accumulate)


def _are_masks(indices: list[torch.Tensor | None]) -> bool:
    return all(index is None or index.dtype in _MASKS for index in indices)


def _is_written_in_order(self: torch.Tensor, indices: list[torch.Tensor | None]) -> bool:
    """Whether torch's own kernel writes the values of a place one after the other: it goes along its dimensions in
    turns that the strides choose, of which only one is the indices' here, and shares long loops among threads.
    """
    rows, lines = self.numel(), 1
    for index, size in zip(indices, self.shape, strict=False):
        if index is None:
            continue
        if index.dim() > 1 or index.dtype not in _INDICES:
            return False
        rows //= max(size, 1)
        lines = max(lines, index.numel())
    return rows * lines < _SERIAL or torch.get_num_threads() == 1


def _fits(values: torch.Tensor, shape: list[int]) -> bool:
    """Whether the values can be broadcast to the shape."""
    sizes = values.shape[::-1]
    return len(sizes) <= len(shape) and all(n in (1, size) for n, size in zip(sizes, shape[::-1], strict=False))


def _apart(values: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """The values, or a copy where they lie in what is written."""
    return values.clone() if values.untyped_storage().data_ptr() == self.untyped_storage().data_ptr() else values


def _last_of_each_line(
    values: torch.Tensor, before: list[int], along: int, lines: torch.Tensor, behind: list[int]
) -> torch.Tensor:
    """The values; where a line occurs again, the last of its values each time, so that no order of writing shows."""
    if lines.numel() < 2:
        return values
    of_row, numbers = lines.reshape(-1), torch.arange(lines.numel())
    writer = _empty((along,), dtype=torch.int64)
    _scatter(writer, 0, of_row, numbers)  # a single row is written in order
    last = _index(writer, [of_row])
    if torch.equal(last, numbers):
        return values
    whole = values.expand(*before, *lines.shape, *behind)
    of_lines = whole.reshape(*before, lines.numel(), *behind)
    return of_lines.index_select(len(before), last).reshape(whole.shape)


def _lines_of(self: torch.Tensor, indices: Any) -> tuple[list[int], int, torch.Tensor, list[int]] | None:
    """Of indices of neighbouring dimensions: the sizes before these, their number of places, the places that the
    indices name, and the sizes behind. None for others, and for indices that torch is to refuse.
    """
    by_dim: list[torch.Tensor | None] = []
    for index in indices:
        if index is not None and index.dtype in _MASKS:
            if index.dim() == 0 or index.shape != self.shape[len(by_dim) : len(by_dim) + index.dim()]:
                return None
            by_dim.extend(index.nonzero().unbind(1))
        else:
            by_dim.append(index)
    given = [d for d, index in enumerate(by_dim) if index is not None]
    if not given or given != list(range(given[0], given[-1] + 1)) or len(by_dim) > self.dim():
        return None
    first, end = given[0], given[-1] + 1
    of_first, *others = (
        _from_start(index, size) for index, size in zip(by_dim[first:end], self.shape[first:end], strict=True)
    )
    lines = of_first
    for index, size in zip(others, self.shape[first + 1 : end], strict=True):
        lines = None if lines is None or index is None else lines * size + index  # integers
    if lines is None:
        return None
    return list(self.shape[:first]), math.prod(self.shape[first:end]), lines, list(self.shape[end:])


def _from_start(index: Any, size: int) -> torch.Tensor | None:
    """The index with what counts from the end counted from the start; None if some are out of range."""
    if index.dtype not in _INDICES:
        return None
    index = index.to(torch.int64)
    if index.numel() == 0:
        return index
    if not index.is_cpu:  # where nobody waits for numbers; the op stops at one that is out of range
        return torch.where(index < 0, index + size, index)
    low, high = map(int, _aminmax(index))
    if low < -size or high >= size:
        return None
    return index if low >= 0 else torch.where(index < 0, index + size, index)


def _in_place(self: torch.Tensor, shape: tuple[int, ...], change: Kernel) -> torch.Tensor:
    """Changes the tensor as one of another shape."""
    other = self.reshape(shape)
    change(other)
    if other.data_ptr() != self.data_ptr() or other.numel() == 0:
        self.copy_(other.reshape(self.shape))
    return self


def write(self: torch.Tensor, places: torch.Tensor, values: torch.Tensor, accumulate: bool) -> torch.Tensor:
    """Writes to places of the tensor as a row, in order."""
    if accumulate:
        return _in_place(self, (-1,), lambda x: x.index_add_(0, places, values))
    # Of several that write to a place only the last does, so that no two threads meet.
    sorted_places, by = _sort(places, stable=True) if places.is_cpu else torch.sort(places, stable=True)
    last = torch.ones_like(sorted_places, dtype=torch.bool)
    if places.numel() > 1:
        torch.ne(sorted_places[1:], sorted_places[:-1], out=last[:-1])
    chosen = by[last]
    scatter = native_of("scatter_.src", "CPU" if self.is_cpu else "CUDA")
    if self.is_floating_point() and self.itemsize == 1:  # which torch does not scatter
        taken = values[chosen].view(torch.uint8)
        _in_place(self.view(torch.uint8), (-1,), lambda x: scatter(x, 0, places[chosen], taken))
        return self
    return _in_place(self, (-1,), lambda x: scatter(x, 0, places[chosen], values[chosen]))


@on_devices("scatter_.src")
def scatter_(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    """Of several elements for a place the last one stays, as it does on the CPU."""
    fits = index.dim() == src.dim() and all(n <= m for n, m in zip(index.shape, src.shape, strict=True))
    if not fits or self.dtype != src.dtype or index.dim() != self.dim() or self.dim() == 0 or index.numel() == 0:
        return native_of("scatter_.src", "CUDA")(self, dim, index, src)  # a single write, or an error
    # Gathering looks at the index as torch's own does.
    places = torch.arange(self.numel()).reshape(self.shape).gather(dim, index)
    return write(self, places.reshape(-1), src[tuple(map(slice, index.shape))].reshape(-1), False)


@on_devices("scatter.src")
def scatter(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    return scatter_(self.clone(memory_format=torch.contiguous_format), dim, index, src)


_native_strided = native_of("as_strided_scatter")


@override("as_strided_scatter", **ANY_DTYPE)
def as_strided_scatter(
    self: torch.Tensor, src: torch.Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> torch.Tensor:
    """A copy with `src` in the places of a view; where that overlaps itself, the last element of `src` stays."""
    if not _core.view_overlaps(size, stride):
        return _native_strided(self, src, size, stride, storage_offset)
    result = _native_strided(self, src.new_empty(0), (0,), (1,), storage_offset)  # a copy, laid out as torch's
    whole = result.as_strided((result.untyped_storage().nbytes() // result.itemsize,), (1,), 0)
    offset = self.storage_offset() if storage_offset is None else storage_offset
    places = torch.arange(whole.numel()).as_strided(size, stride, offset)
    write(whole, places.reshape(-1), src.expand(places.shape).reshape(-1), False)
    return result


_native_bincount = native_of("bincount")


@override("bincount", **ANY_DTYPE)
def bincount(self: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0) -> torch.Tensor:
    """With weights, sums from +0 in the order of the numbers; of weights that are not float32 in float64."""
    is_counted = not (self.is_floating_point() or self.dtype == torch.bool)
    if weights is None or not 0 < self.numel() == weights.numel() or self.dim() != 1 or not is_counted:
        return _native_bincount(self, weights, minlength)
    low, high = map(int, _aminmax(self))
    if low < 0 or minlength < 0 or weights.dim() != 1:
        return _native_bincount(self, weights, minlength)  # which says so
    terms = weights if weights.dtype == torch.float32 else weights.to(torch.float64)
    return terms.new_zeros(max(high + 1, minlength)).index_add_(0, self.to(torch.int64), terms)


_native_put = native_of("put_")


@override("put_", **ANY_DTYPE)
def put_(self: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    fit = index.dtype == torch.int64 and self.dtype == source.dtype and index.numel() == source.numel()
    places = _from_start(index.reshape(-1), self.numel()) if fit and self.numel() else None
    if places is None:
        return _native_put(self, index, source, accumulate)  # torch's error
    return write(self, places, source.reshape(-1), accumulate)


@override("narrow_copy", converts=False, **ANY_DTYPE)
def narrow_copy(self: torch.Tensor, dim: int, start: int, length: int) -> torch.Tensor:
    """torch's kernel writes into an `out` with strides as if it were packed."""
    return self.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)


_native_index_copy = native_of("index_copy")


@override("index_copy", converts=False, **ANY_DTYPE)
def index_copy(self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """torch's own kernel writes single numbers, and says what is wrong with others."""
    fit = (
        self.dtype == source.dtype
        and index.dtype == torch.int64
        and 0 < self.dim() == source.dim()
        and index.dim() < 2
        and -self.dim() <= dim < self.dim()
        and self.device == source.device == index.device
    )
    along = [d == dim % self.dim() for d in range(self.dim())]
    if not fit or source.shape != tuple(index.numel() if at else n for at, n in zip(along, self.shape, strict=True)):
        return _native_index_copy(self, dim, index, source)
    indices = [index.reshape(-1) if at else None for at in along]
    return index_put_(self.clone(memory_format=torch.contiguous_format), indices, source)


@on_devices("index_copy")
def index_copy_of_number(self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """A single number. torch's own kernel says what is wrong with other calls."""
    if self.dim() or source.numel() != 1 or index.numel() != 1:
        return native_of("index_copy", "CUDA")(self, dim, index, source)
    return self.clone().copy_(source.reshape(()))
