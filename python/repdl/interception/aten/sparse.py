# SPDX-License-Identifier: MIT
"""Sparse tensors (COO): what `nn.Embedding(sparse=True)` and its optimizers do with them.

Values of an index that comes twice are added in the order in which they stand, before anything else. All else is done
with the elements that are present, by the ops for dense tensors, so that the bits are those that dense ones would give.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of, overload
from repdl.interception.override import layout
from repdl.interception.strict import not_reproducible
from repdl.interception.variants import fill

_KEY = "SparseCPU"
_write = native_of("_index_put_impl_")
_coalesce_native = native_of("_coalesce", _KEY)


def made(like: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, coalesced: bool) -> torch.Tensor:
    return torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors(
        indices.shape[0],
        values.dim() - 1,
        like.shape,
        indices,
        values,
        dtype=values.dtype,
        layout=torch.sparse_coo,
        device=values.device,
        pin_memory=False,
        is_coalesced=coalesced,
    )


def _adds(values: torch.Tensor) -> bool:
    return values.is_floating_point() or values.is_complex()


@layout(_KEY, "_coalesce")
def _coalesce(self: torch.Tensor) -> torch.Tensor:
    indices, values = self._indices(), self._values()
    if not _adds(values) or indices.shape[0] == 0 or self._nnz() < 2:
        return _coalesce_native(self)
    sizes = self.shape[: indices.shape[0]]
    places, which = torch.unique(places_of(indices, sizes), return_inverse=True)
    sums = _zeros(values, places.numel(), values.dtype).index_add_(0, which, values)
    return made(self, _indices(places, sizes), sums, True)


def _zeros(values: torch.Tensor, rows: int, dtype: torch.dtype) -> torch.Tensor:
    """Rows of -0, to which any number may be added and stays itself."""
    return values.new_full((rows, *values.shape[1:]), -0.0 if _adds(values) else 0, dtype=dtype)


def places_of(indices: torch.Tensor, sizes: torch.Size) -> torch.Tensor:
    """Of each element, its place in the row of all."""
    place = torch.zeros_like(indices[0])
    for index, size in zip(indices, sizes, strict=True):
        place = place * size + index  # integers
    return place


def _indices(places: torch.Tensor, sizes: torch.Size) -> torch.Tensor:
    rows = []
    for size in reversed(sizes):
        rows.append(places % size)  # integers
        places = places // size  # integers
    return torch.stack(rows[::-1])


@layout(_KEY, "_to_dense")
def _to_dense(self: torch.Tensor, dtype: torch.dtype | None = None, masked_grad: bool | None = None) -> torch.Tensor:
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return torch.zeros(self.shape, dtype=self.dtype, device=self.device).add_(self)


def _sum(name: str) -> None:
    """add or sub, of two sparse tensors, or a dense and a sparse one."""
    functional, changing, out_of = f"{name}.Tensor", f"{name}_.Tensor", f"{name}.out"
    native, native_changing, native_out = (native_of(n, _KEY) for n in (functional, changing, out_of))
    dense = overload(functional)

    def refused(self: Any, other: Any) -> bool:
        """Whether it is a call that torch refuses, and will."""
        if not isinstance(self, torch.Tensor) or not isinstance(other, torch.Tensor) or not other.is_sparse:
            return True
        if self.shape != other.shape or other.sparse_dim() == 0:
            return True
        return self.is_sparse and self.sparse_dim() != other.sparse_dim()

    def of_sparse(self: torch.Tensor, other: torch.Tensor, alpha: Any) -> torch.Tensor:
        dtype, sizes = torch.result_type(self, other), self.shape[: self.sparse_dim()]
        both = [self.coalesce(), other.coalesce()]
        places, which = torch.unique(torch.cat([places_of(t._indices(), sizes) for t in both]), return_inverse=True)
        operands = []
        for t, at in zip(both, which.split([t._nnz() for t in both]), strict=True):
            operands.append(_zeros(t._values(), places.numel(), dtype))
            _write(operands[-1], [at], t._values().to(dtype))
        return made(self, _indices(places, sizes), dense(*operands, alpha=alpha), True)

    def into(self: torch.Tensor, other: torch.Tensor, alpha: Any) -> torch.Tensor:
        other = other.coalesce()
        if other._nnz():
            at = list(other._indices().unbind(0))
            _write(self, at, dense(self[tuple(at)], other._values(), alpha=alpha).to(self.dtype))
        return self

    @layout(_KEY, functional)
    def new(self: Any, other: Any, *, alpha: Any = 1) -> torch.Tensor:
        if refused(self, other):
            return native(self, other, alpha=alpha)
        if self.is_sparse:
            return of_sparse(self, other, alpha)
        return into(self.to(torch.result_type(self, other), copy=True), other, alpha)

    @layout(_KEY, changing)
    def in_place(self: Any, other: Any, *, alpha: Any = 1) -> torch.Tensor:
        if refused(self, other) or not torch.can_cast(torch.result_type(self, other), self.dtype):
            return native_changing(self, other, alpha=alpha)
        if self.is_sparse:
            return torch.ops.aten.copy_sparse_to_sparse_(self, of_sparse(self, other, alpha))
        return into(self, other, alpha)

    @layout(_KEY, out_of)
    def out_form(self: Any, other: Any, *, alpha: Any = 1, out: torch.Tensor) -> torch.Tensor:
        if refused(self, other) or out.is_sparse != self.is_sparse:
            return native_out(self, other, alpha=alpha, out=out)
        result = dense(self, other, alpha=alpha)
        return torch.ops.aten.copy_sparse_to_sparse_(out, result) if out.is_sparse else fill(out, result)


_sum("add")
_sum("sub")


def _common(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two sparse tensors: of the elements that both have."""
    a, b = a.coalesce(), b.coalesce()
    sizes = a.shape[: a.sparse_dim()]
    places, others = places_of(a._indices(), sizes), places_of(b._indices(), sizes)
    at = torch.searchsorted(others, places).clamp(max=max(others.numel() - 1, 0))
    found = others[at] == places if others.numel() else torch.zeros_like(places, dtype=torch.bool)
    values = overload("mul.Tensor")(a._values()[found], b._values()[at[found]])
    return made(a, a._indices()[:, found], values, True)


def _scaled(name: str) -> None:
    """mul or div of a sparse tensor by a number, and mul by a dense or a sparse tensor of its shape."""
    functional, changing = f"{name}.Tensor", f"{name}_.Tensor"
    native, native_changing = native_of(functional, _KEY), native_of(changing, _KEY)
    dense, dense_changing = overload(functional), overload(changing)

    def factors(self: torch.Tensor, other: Any) -> Any:
        """What the values are multiplied or divided by; None where that is not all."""
        if not isinstance(other, torch.Tensor) or (other.dim() == 0 and not other.is_sparse):
            return other
        is_dense = name == "mul" and other.layout == torch.strided and other.shape == self.shape
        return other[tuple(self._indices().unbind(0))] if is_dense and self.sparse_dim() else None

    def are_alike(self: Any, other: Any) -> bool:
        if name != "mul" or not isinstance(other, torch.Tensor) or not self.is_sparse or not other.is_sparse:
            return False
        return self.shape == other.shape and self.sparse_dim() == other.sparse_dim() > 0

    @layout(_KEY, functional)
    def new(self: Any, other: Any) -> torch.Tensor:
        if name == "mul" and not (isinstance(self, torch.Tensor) and self.is_sparse):
            self, other = other, self
        if are_alike(self, other):
            return _common(self, other)
        by = factors(self, other) if self.is_sparse else None
        if by is None:
            return not_reproducible(functional, (self, other), {}, native, "layout")
        values = dense(self._values(), by)
        if name == "mul" and isinstance(other, torch.Tensor):
            values = values.to(torch.result_type(self, other))
        return made(self, self._indices().clone(), values, self.is_coalesced())

    @layout(_KEY, changing)
    def in_place(self: Any, other: Any) -> torch.Tensor:
        if are_alike(self, other) and torch.can_cast(torch.result_type(self, other), self.dtype):
            return torch.ops.aten.copy_sparse_to_sparse_(self, _common(self, other).to(self.dtype))
        by = factors(self, other) if self.is_sparse else None
        if by is None:
            return not_reproducible(changing, (self, other), {}, native_changing, "layout")
        dense_changing(self._values(), by)
        return self


_scaled("mul")
_scaled("div")
