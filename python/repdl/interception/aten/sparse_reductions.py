# SPDX-License-Identifier: MIT
"""Products of a sparse matrix (CSR) that are reduced by a mean or a largest term, and products at its elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core
from repdl.interception.aten import sparse_products
from repdl.interception.aten.matmul import plus
from repdl.interception.native import native_of, wide
from repdl.interception.override import layout
from repdl.interception.strict import not_reproducible

_CSR = "SparseCsrCPU"
_REDUCTIONS = ("sum", "mean", "amax", "amin")


def _like(a: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Other values at the elements of a CSR matrix."""
    return torch.sparse_csr_tensor(a.crow_indices(), a.col_indices(), values, a.shape, check_invariants=False)


def _rows(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The row of each element, and the number of elements of each row."""
    count = a.crow_indices().diff()
    return torch.repeat_interleave(torch.arange(a.shape[0]), count), count


def _over(rows: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Rows divided by a number each, but not by 0."""
    result: torch.Tensor = core.ops["div"](rows, count.clamp_min(1).to(rows.dtype)[:, None])
    return result


def _parts(rows: int, columns: int) -> Iterator[slice]:
    """Columns, or elements, of which so many rows have few enough terms at once."""
    step = max(sparse_products.TERMS // max(rows, 1), 1)
    for first in range(0, columns, step):
        yield slice(first, first + step)


def _extreme(a: torch.Tensor, dense: torch.Tensor, reduce: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest or smallest term, and its element: the first of equal ones, or of NaN. A row without one has +0."""
    (row, count), number = _rows(a), a.values().numel()
    reduction = {"amax": "max", "amin": "min"}[reduce]

    def reduced(x: torch.Tensor, how: str) -> torch.Tensor:
        result: torch.Tensor = core.ops["segment_reduce"](x, count.to(torch.int64), how, None, 0)
        return result

    numbers = torch.arange(number, dtype=torch.float64)[:, None]
    results, chosen = [], []
    for part in _parts(number, dense.shape[1]):
        terms = core.ops["mul"](a.values()[:, None], dense[:, part].index_select(0, a.col_indices()))
        best = reduced(terms, reduction).index_select(0, row)
        is_best = (terms == best) | (terms.isnan() & best.isnan())
        places = torch.where(is_best, numbers, float(number))
        first = reduced(places, "min").clamp_max(number).to(torch.int64)
        chosen.append(first)
        results.append(torch.cat([terms, terms.new_zeros(1, terms.shape[1])]).gather(0, first))
    if not results:
        return dense.new_zeros(a.shape[0], 0), torch.zeros(a.shape[0], 0, dtype=torch.int64)
    return torch.cat(results, 1), torch.cat(chosen, 1)


_native_reduced = native_of("_sparse_mm_reduce_impl", _CSR)


@layout(_CSR, "_sparse_mm_reduce_impl")
def sparse_mm_reduce(self: torch.Tensor, other: torch.Tensor, reduce: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The reduction of the products of a row's elements; a mean is their sum over their number. An empty row has +0."""
    fits = self.layout == torch.sparse_csr and other.layout == torch.strided
    if not fits or reduce not in _REDUCTIONS or not sparse_products.fit(self, other) or not self.is_floating_point():
        return _native_reduced(self, other, reduce)  # which says what is wrong
    dtype, none = wide(other.dtype), torch.empty(0, dtype=torch.int64)
    if reduce in ("amax", "amin"):
        result, chosen = _extreme(_like(self, self.values().to(dtype)), other.to(dtype), reduce)
        return result.to(other.dtype), chosen
    result = sparse_products.product(self, other)
    if reduce == "mean":
        result = _over(result, _rows(self)[1])
    return result.to(other.dtype), none


@layout(_CSR, "_sparse_mm_reduce_impl_backward")
def sparse_mm_reduce_backward(
    self: torch.Tensor,
    grad_out: torch.Tensor,
    weight: torch.Tensor,
    reduce: str,
    arg_out: torch.Tensor,
    output_mask: Any,
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """An element gets the Product over the columns of grad and weight.

    A weight gets grad * element, in the order of the elements. The gradient of a mean is divided first; that of a
    largest term goes to the term alone.
    """
    dtype = wide(weight.dtype)
    values, columns = self.values().to(dtype), self.col_indices()
    grad, dense = grad_out.to(dtype), weight.to(dtype)
    by_self = torch.zeros_like(values)
    by_weight = torch.zeros_like(dense, memory_format=torch.contiguous_format)
    if reduce in ("amax", "amin"):
        chosen = arg_out.clamp_max(max(values.numel() - 1, 0))
        grad = torch.where(arg_out < values.numel(), grad, 0.0)
        if values.numel():
            at = columns[chosen]
            by_self.index_add_(0, chosen.flatten(), core.ops["mul"](grad, dense.gather(0, at)).flatten())
            by_weight.scatter_add_(0, at, core.ops["mul"](grad, values[chosen]))
    else:
        row, count = _rows(self)
        if reduce == "mean":
            grad = _over(grad, count)
        if output_mask[0]:
            by_self = core.ops["sampled_mm"](grad, dense.t(), row, columns.to(torch.int64), get_order())
        if output_mask[1]:
            by_weight = sparse_products.product_of(values, columns.to(torch.int64), row, grad, dense.shape[0])
    return (
        _like(self, by_self.to(self.dtype)) if output_mask[0] else None,
        by_weight.to(weight.dtype) if output_mask[1] else None,
    )


def _sampled(self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, beta: Any, alpha: Any) -> torch.Tensor:
    """beta * element + alpha * product, a row of the first matrix times a column of the second, by the Product rule."""
    if self.dim() > 2:
        parts = [_sampled(a, x, y, beta, alpha) for a, x, y in zip(self.unbind(), mat1, mat2, strict=True)]
        return _like(self, torch.stack([part.values() for part in parts]))
    row, _ = _rows(self)
    dtype, columns = wide(mat1.dtype), self.col_indices().to(torch.int64)
    products = core.ops["sampled_mm"](mat1.to(dtype), mat2.to(dtype), row, columns, get_order()).to(self.dtype)
    return _like(self, plus(self.values(), products, beta, alpha))


def _sampled_addmm(name: str) -> None:
    native = native_of(name, _CSR)

    @layout(_CSR, name)
    def sampled_addmm(
        self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, **out: Any
    ) -> torch.Tensor:
        numbers = {"beta": beta, "alpha": alpha, **out}
        if any(t.layout != torch.strided for t in (mat1, mat2)) or len({t.dtype for t in (self, mat1, mat2)}) > 1:
            return native(self, mat1, mat2, **numbers)  # which says what is wrong
        if self.is_complex():
            return not_reproducible(name, (self, mat1, mat2), numbers, native, "dtype")
        shapes = (*self.shape[:-1], mat1.shape[-1]), (*self.shape[:-2], mat1.shape[-1], self.shape[-1])
        if self.layout != torch.sparse_csr or (mat1.shape, mat2.shape) != shapes or not self.is_floating_point():
            return native(self, mat1, mat2, **numbers)
        result = _sampled(self, mat1, mat2, beta, alpha)
        if not out:
            return result
        return out["out"].resize_as_sparse_(result).copy_(result)


_sampled_addmm("sparse_sampled_addmm")
_sampled_addmm("sparse_sampled_addmm.out")
