# SPDX-License-Identifier: MIT
"""Arithmetic of compressed sparse tensors (CSR, CSC, BSR, BSC): that of their values, or of the same as COO."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import layout
from repdl.interception.strict import not_reproducible

_KEY = "SparseCsrCPU"
_BY_ROWS = {torch.sparse_csr, torch.sparse_bsr}
_LAYOUTS = _BY_ROWS | {torch.sparse_csc, torch.sparse_bsc}
_OF_ELEMENTS = {torch.sparse_csr, torch.sparse_csc}


def _indices(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if a.layout in _BY_ROWS:
        return a.crow_indices(), a.col_indices()
    return a.ccol_indices(), a.row_indices()


def _like(a: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Other values at the elements of a tensor."""
    return torch.sparse_compressed_tensor(*_indices(a), values, a.shape, layout=a.layout, check_invariants=False)


def _is_compressed(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.layout in _LAYOUTS


def _is_number(x: Any) -> bool:
    return not isinstance(x, torch.Tensor) or (x.layout == torch.strided and x.dim() == 0)


def _are_matrices(a: Any, b: Any) -> bool:
    """Whether they have one layout of elements and one shape, without a batch."""
    both = _is_compressed(a) and _is_compressed(b) and a.layout == b.layout in _OF_ELEMENTS
    return both and a.dim() == 2 and a.shape == b.shape and a.values().dim() == b.values().dim() == 1


def _meet(a: torch.Tensor, b: torch.Tensor) -> bool:
    return all(map(torch.equal, _indices(a), _indices(b)))


def _is_dense_like(dense: Any, a: torch.Tensor) -> bool:
    strided = isinstance(dense, torch.Tensor) and dense.layout == torch.strided
    return strided and a.dim() == 2 and dense.shape == a.shape


_native_mul, _native_mul_changing = native_of("mul.Tensor", _KEY), native_of("mul_.Tensor", _KEY)


@layout(_KEY, "mul.Tensor")
def mul(self: Any, other: Any) -> torch.Tensor:
    """The products of the elements with a number, or with those that another tensor has there."""
    a, b = (self, other) if _is_compressed(self) else (other, self)
    if _is_number(b):
        return _like(a, a.values() * b)
    if _is_compressed(b) and a.layout == torch.sparse_csr == b.layout and a.shape == b.shape and _meet(a, b):
        return _like(a, a.values() * b.values())
    if a.layout == torch.sparse_csr and (_are_matrices(a, b) or _is_dense_like(b, a)):
        return (a.to_sparse() * (b.to_sparse() if _is_compressed(b) else b)).to_sparse_csr()
    return not_reproducible("mul.Tensor", (self, other), {}, _native_mul, "layout")


@layout(_KEY, "mul_.Tensor")
def mul_(self: Any, other: Any) -> torch.Tensor:
    if _is_compressed(self) and _is_number(other):
        self.values().mul_(other)
        return self
    return not_reproducible("mul_.Tensor", (self, other), {}, _native_mul_changing, "layout")


@layout(_KEY, "sum")
def sum_(self: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    return self.values().sum(dtype=dtype)


_native_sum, _native_sum_dim = native_of("_sparse_csr_sum.dim_dtype", _KEY), native_of("sum.dim_IntList", _KEY)


@layout(_KEY, "_sparse_csr_sum.dim_dtype")
def sparse_csr_sum(
    self: torch.Tensor, dim: list[int], keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """The elements of each row, of each column or of all, added one after the other; without one there is none."""
    fits = self.layout == torch.sparse_csr and self.dim() == 2 and keepdim and all(-2 <= d < 2 for d in dim)
    if not fits or len({d % 2 for d in dim}) < len(dim) or (dtype or self.dtype) == torch.bool:
        return _native_sum(self, dim, keepdim, dtype=dtype)  # which says what is wrong
    places, values = self.to_sparse()._indices().clone(), self.values().to(dtype or self.dtype)
    if not (values.is_floating_point() or values.is_complex()):
        values = values.to(torch.int64)
    size = list(self.shape)
    for d in dim or (0, 1):
        places[d], size[d] = 0, 1
    found = torch.sparse_coo_tensor(places, values, size).coalesce()
    rows, columns = found._indices()
    count = torch.bincount(rows, minlength=size[0])
    crow = torch.cat([count.new_zeros(1), count.cumsum(0)]).to(self.crow_indices().dtype)
    return torch.sparse_csr_tensor(crow, columns.to(crow.dtype), found._values(), size, check_invariants=False)


@layout(_KEY, "sum.dim_IntList")
def sum_dim(
    self: torch.Tensor, dim: list[int] | None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    if dim is None or self.layout != torch.sparse_csr:
        return _native_sum_dim(self, dim, keepdim, dtype=dtype)  # which says what is wrong
    return sparse_csr_sum(self, dim, keepdim, dtype=dtype)


_native_add = native_of("add.Tensor", _KEY)


@layout(_KEY, "add.Tensor")
def add(self: Any, other: Any, *, alpha: Any = 1) -> torch.Tensor:
    """The sum of two matrices of one layout, or of a dense and a sparse one."""
    if _are_matrices(self, other):
        result = torch.add(self.to_sparse(), other.to_sparse(), alpha=alpha)
        return result.to_sparse_csr() if self.layout == torch.sparse_csr else result.to_sparse_csc()
    if _is_compressed(other) and _is_dense_like(self, other):
        return torch.add(self, other.to_sparse(), alpha=alpha)
    if _is_compressed(self) and _is_dense_like(other, self):
        if alpha == 1:
            return torch.add(other, self.to_sparse())
        return torch.add(self.to_dense(), other, alpha=alpha)
    return not_reproducible("add.Tensor", (self, other), {"alpha": alpha}, _native_add, "layout")
