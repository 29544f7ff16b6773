# SPDX-License-Identifier: MIT
"""Products of sparse matrices: terms of the elements that are present, added in the order of the index.

Of blocks (BSR, BSC) all elements are present.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten.matmul import plus
from repdl.interception.aten.sparse import made
from repdl.interception.native import native_of, wide
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import layout
from repdl.interception.strict import not_reproducible
from repdl.interception.variants import fill

_COO, _CSR = "SparseCPU", "SparseCsrCPU"
_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
TERMS = 1 << 22  # at once, for memory


def product(sparse: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    """Each term is rounded, and each sum; a low precision is widened, and not yet rounded again."""
    dtype = wide(dense.dtype)
    if sparse.layout == torch.sparse_csr:  # as `to_sparse` does, which costs more around it
        places = torch._convert_indices_from_csr_to_coo(sparse.crow_indices(), sparse.col_indices())
        values = sparse.values()
    else:
        sparse = sparse.to_sparse().coalesce()
        places, values = sparse._indices(), sparse._values()
    return product_of(values.to(dtype), places[0], places[1], dense.to(dtype), sparse.shape[0])


def product_of(
    values: torch.Tensor, row: torch.Tensor, column: torch.Tensor, dense: torch.Tensor, rows: int
) -> torch.Tensor:
    """Of elements at these places; complex numbers and integers in steps of torch."""
    if dense.dtype in (torch.float32, torch.float64):
        return core.ops["sparse_mm"](values, row, column, dense, rows)
    result = torch.zeros(rows, dense.shape[1], dtype=dense.dtype)
    step = max(TERMS // max(dense.shape[1], 1), 1)
    for first in range(0, row.numel(), step):
        part = slice(first, first + step)
        result.index_add_(0, row[part], _terms(values[part, None], dense.index_select(0, column[part])))
    return result


def _terms(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.is_floating_point() or a.is_complex():
        return ops_of(a)["mul"](a, b)
    return a * b  # integers


def _of_sparse(mat1: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """For each element of mat1 the row of mat2 that it meets, in order, so that `coalesce` adds in the order of k.

    A low precision is widened, and not yet rounded again.
    """
    a, b, dtype = mat1.coalesce(), mat2.coalesce(), wide(mat1.dtype)
    (row, k), (of_row, column) = a._indices().unbind(0), b._indices().unbind(0)
    met = torch.bincount(of_row, minlength=b.shape[0])
    first = met.cumsum(0) - met
    count = met[k]
    left = torch.repeat_interleave(torch.arange(k.numel()), count)
    right = torch.arange(left.numel()) - (count.cumsum(0) - count - first[k])[left]
    terms = _terms(a._values().to(dtype)[left], b._values().to(dtype)[right])
    product = torch.empty(mat1.shape[0], mat2.shape[1], dtype=dtype, layout=torch.sparse_coo)
    return made(product, torch.stack([row[left], column[right]]), terms, False).coalesce()


def _by_sparse(dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
    result = product(sparse.to_sparse().t(), dense.t()).t()
    return result if sparse.layout == torch.sparse_coo else result.contiguous()


_OF_SPARSE = {torch.sparse_csr, torch.sparse_csc}
"""Of two of these torch makes a product, which is sparse."""


def _whole(mat1: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor | None:
    """The product for a dense sum, a low precision widened; None where torch has none, or of sparse ones alone."""
    if mat1.layout in _SPARSE and mat2.layout == torch.strided:
        return product(mat1, mat2)
    if mat1.layout == torch.strided and mat2.layout in _SPARSE:
        return _by_sparse(mat1, mat2)
    if {mat1.layout, mat2.layout} <= _OF_SPARSE:
        return _of_sparse(mat1.to_sparse(), mat2.to_sparse()).to_dense()
    return None


def fit(*operands: torch.Tensor) -> bool:
    """Whether their shapes and dtypes fit; if not, torch's own kernel says what is wrong."""
    a, b = operands
    return a.dim() == 2 == b.dim() and a.dtype == b.dtype and a.shape[1] == b.shape[0]


def _mm(key: str) -> None:
    native = native_of("mm", key)

    @layout(key, "mm")
    def mm(self: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
        layouts = (self.layout, mat2.layout)
        if not fit(self, mat2):
            return native(self, mat2)
        if layouts == (torch.sparse_coo, torch.sparse_coo):
            return _of_sparse(self, mat2).to(self.dtype)
        if set(layouts) <= _OF_SPARSE:
            return _of_sparse(self.to_sparse(), mat2.to_sparse()).to(self.dtype).to_sparse_csr()
        if self.layout in _SPARSE and mat2.layout == torch.strided:
            return product(self, mat2).to(self.dtype)
        if self.layout == torch.strided and mat2.layout in _SPARSE:
            return _by_sparse(self, mat2).to(self.dtype)
        return not_reproducible("mm", (self, mat2), {}, native, "layout")


def _addmm(name: str, key: str) -> None:
    native = native_of(name, key)

    @layout(key, name)
    def addmm(
        self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, **out: Any
    ) -> torch.Tensor:
        numbers = {"beta": beta, "alpha": alpha, **out}
        if not fit(mat1, mat2) or self.dtype != mat1.dtype:
            return native(self, mat1, mat2, **numbers)
        product = _whole(mat1, mat2) if self.layout == torch.strided else None
        if product is None:
            return not_reproducible(name, (self, mat1, mat2), numbers, native, "layout")
        whole = self.to(wide(self.dtype)).expand(mat1.shape[0], mat2.shape[1])
        result = plus(whole, product, beta, alpha).to(self.dtype)
        return self.copy_(result) if name == "addmm_" else fill(out["out"], result) if out else result


for _key in (_COO, _CSR):
    _mm(_key)
    _addmm("addmm", _key)
    _addmm("addmm.out", _key)
_addmm("addmm_", _COO)

_native_mv = native_of("mv", _COO)


@layout(_COO, "mv")
def mv(self: torch.Tensor, vec: torch.Tensor) -> torch.Tensor:
    if self.layout not in _SPARSE or vec.layout != torch.strided or vec.dim() != 1:
        return _native_mv(self, vec)
    return torch.mm(self, vec[:, None])[:, 0]


layout(_COO, "_sparse_sparse_matmul")(torch.mm)

_native_bmm = native_of("bmm", _COO)


@layout(_COO, "bmm")
def bmm(self: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """One product, of a matrix whose blocks are the batch."""
    fits = self.dim() == 3 == mat2.dim() and self.shape[::2] == (mat2.shape[0], mat2.shape[1])
    if not fits or self.dtype != mat2.dtype:
        return _native_bmm(self, mat2)  # which says what is wrong
    if self.layout != torch.sparse_coo or mat2.layout != torch.strided or self.sparse_dim() != 3:
        return not_reproducible("bmm", (self, mat2), {}, _native_bmm, "layout")
    sparse, dtype = self.coalesce(), wide(self.dtype)
    batch, row, column = sparse._indices().unbind(0)
    at, met = batch * self.shape[1] + row, batch * self.shape[2] + column  # integers
    dense = mat2.to(dtype).reshape(-1, mat2.shape[2])
    result = product_of(sparse._values().to(dtype), at, met, dense, self.shape[0] * self.shape[1])
    return result.reshape(*self.shape[:2], mat2.shape[2]).to(self.dtype)


_native_addmv = native_of("addmv.out", _CSR)


@layout(_CSR, "addmv.out")
def addmv_out(
    self: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, out: torch.Tensor
) -> torch.Tensor:
    """What mv calls, too."""
    numbers = {"beta": beta, "alpha": alpha, "out": out}
    if vec.dim() != 1 or not fit(mat, vec[:, None]) or out.dtype != mat.dtype or self.dtype != mat.dtype:
        return _native_addmv(self, mat, vec, **numbers)
    if not (mat.layout in _SPARSE and self.layout == torch.strided == vec.layout):
        return not_reproducible("addmv.out", (self, mat, vec), numbers, _native_addmv, "layout")
    whole = self.to(wide(self.dtype)).expand(mat.shape[0])
    return fill(out, plus(whole, product(mat, vec[:, None])[:, 0], beta, alpha).to(self.dtype))
