# SPDX-License-Identifier: MIT
"""Softmax and log-softmax of sparse tensors (COO), in which an element that is not present counts as -inf.

The elements of a row are those that differ in the index of the dimension alone. Their exponentials, less the largest,
are added to +0 in the order of the index. Along a dense dimension it is the softmax of the values.
"""

from __future__ import annotations

import torch

from repdl.interception.aten.sparse import made, places_of
from repdl.interception.core import ops
from repdl.interception.native import LOW_DTYPES
from repdl.interception.override import layout

_KEY = "SparseCPU"


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float32) if x.dtype in LOW_DTYPES else x


def _rows(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, int]:
    """To which row each element belongs, and how many rows there are."""
    kept = [d for d in range(x.sparse_dim()) if d != dim]
    if not kept:
        return torch.zeros(x._nnz(), dtype=torch.int64), 1
    place = places_of(x._indices()[kept], torch.Size(x.shape[d] for d in kept))
    if dim == x.sparse_dim() - 1:  # a row's elements lie side by side
        found, which = torch.unique_consecutive(place, return_inverse=True)
    else:
        found, which = torch.unique(place, return_inverse=True)
    return which, found.numel()


def _sums(values: torch.Tensor, which: torch.Tensor, rows: int) -> torch.Tensor:
    result: torch.Tensor = ops["index_add"](values.new_zeros(rows, *values.shape[1:]), 0, which, values, 1.0)
    return result


def _forward(name: str, logarithm: bool) -> None:
    @layout(_KEY, name)
    def sparse_softmax(self: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
        x, dim = self.coalesce(), dim % self.dim()
        values = _wide(x._values())
        if dim >= x.sparse_dim():
            result = (torch.log_softmax if logarithm else torch.softmax)(values, dim - x.sparse_dim() + 1)
        else:
            which, rows = _rows(x, dim)
            largest = values.new_full((rows, *values.shape[1:]), -torch.inf)
            at = which.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
            largest = largest.scatter_reduce(0, at, values, "amax")
            largest = torch.where(largest.isinf(), torch.zeros_like(largest), largest)
            rest = ops["sub"](values, largest[which])
            powers = ops["exp"](rest)
            total = _sums(powers, which, rows)
            result = ops["sub"](rest, ops["log"](total)[which]) if logarithm else ops["div"](powers, total[which])
        return made(x, x._indices().clone(), result if half_to_float else result.to(self.dtype), True)


def _met(grad: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The values of a gradient at the elements of the output; 0 where it has none."""
    sizes = output.shape[: output.sparse_dim()]
    given, wanted = places_of(grad._indices(), sizes), places_of(output._indices(), sizes)
    values = output._values().new_zeros(output._values().shape)
    if not given.numel():
        return values
    at = torch.searchsorted(given, wanted).clamp(max=given.numel() - 1)
    found = (given[at] == wanted).reshape(-1, *[1] * (values.dim() - 1))
    return torch.where(found, grad._values()[at], values)


def _backward(name: str, logarithm: bool) -> None:
    @layout(_KEY, name)
    def sparse_softmax_backward(
        grad_output: torch.Tensor, output: torch.Tensor, dim: int, self: torch.Tensor
    ) -> torch.Tensor:
        y, dim = output.coalesce(), dim % output.dim()
        grad, values = _wide(_met(grad_output.coalesce(), y)), _wide(y._values())
        if dim >= y.sparse_dim():
            inner = dim - y.sparse_dim() + 1
            total = (grad if logarithm else ops["mul"](grad, values)).sum(inner, keepdim=True)
        else:
            which, rows = _rows(y, dim)
            total = _sums(grad if logarithm else ops["mul"](grad, values), which, rows)[which]
        if logarithm:
            result = ops["sub"](grad, ops["mul"](ops["exp"](values), total))
        else:
            result = ops["mul"](ops["sub"](grad, total), values)
        return made(y, y._indices().clone(), result.to(output.dtype), True)


_forward("_sparse_softmax", logarithm=False)
_forward("_sparse_log_softmax", logarithm=True)
_backward("_sparse_softmax_backward_data", logarithm=False)
_backward("_sparse_log_softmax_backward_data", logarithm=True)
