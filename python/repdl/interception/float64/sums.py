# SPDX-License-Identifier: MIT
"""Sums of float64, and products of matrices: a tree by halves, whatever the order of `repdl.enable()`.

Sum(x), i = 0 … n-1: with m = ceil(n / 2), x_i + x_{i+m} takes the place of x_i for i < n - m, until one number is left,
to which +0 is added. The sum of nothing is +0. An element of a product of matrices is the sum of its products, each
rounded.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception.float64.steps import add, add_into, mul, zero
from repdl.interception.override import float64_ops

_PIECE = 2**17
"""So many products of a matrix product at a time."""


def folded(x: torch.Tensor, dim: int, own: bool) -> torch.Tensor:
    """The sum along a dimension, which keeps the size 1. Changes x if that is its own."""
    count = x.shape[dim]
    if count == 0:
        return x.new_zeros([1 if d == dim else size for d, size in enumerate(x.shape)])
    while count > 1:
        middle = (count + 1) // 2
        back = x.narrow(dim, middle, count - middle)
        x = x.narrow(dim, 0, middle)
        if not own:
            x, own = x.clone(), True
        add_into(x.narrow(dim, 0, count - middle), back)
        count = middle
    return add(x, zero)


def _sum(x: torch.Tensor, dims: Any, keepdim: bool, squares: bool = False, order: str = "") -> torch.Tensor:
    """Along several dimensions the index counts in row-major order."""
    if squares:
        x = mul(x, x)
    dims = sorted(d % x.dim() for d in dims) if x.dim() else []
    if not dims:
        return add(x, zero)
    kept = [d for d in range(x.dim()) if d not in dims]
    if len(dims) == 1:
        total = folded(x, dims[0], squares)
    else:
        rows = x.permute(*dims, *kept).reshape(math.prod(x.shape[d] for d in dims), *(x.shape[d] for d in kept))
        total = folded(rows, 0, squares)
    return total.reshape([x.shape[d] if d in kept else 1 for d in range(x.dim()) if keepdim or d in kept])


def _mean(x: torch.Tensor, dims: Any, keepdim: bool, order: str = "") -> torch.Tensor:
    total = _sum(x, dims, keepdim)
    return total / math.prod(x.shape[d] for d in dims) if x.dim() else total


def _norm(x: torch.Tensor, dims: Any, keepdim: bool, order: str = "") -> torch.Tensor:
    return float64_ops["sqrt"](_sum(x, dims, keepdim, squares=True))


def _var(x: torch.Tensor, dims: Any, correction: float, keepdim: bool, order: str = "") -> torch.Tensor:
    count = math.prod(x.shape[d] for d in dims) if x.dim() else 1
    freedom = max(count - correction, 0)
    return _sum(x - _mean(x, dims, True), dims, keepdim, squares=True) / freedom


def _std(x: torch.Tensor, dims: Any, correction: float, keepdim: bool, order: str = "") -> torch.Tensor:
    return float64_ops["sqrt"](_var(x, dims, correction, keepdim))


def _product_into(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """Of (batch, m, k) and (batch, n, k), halved until the products of a piece are few."""
    if a.shape[0] * a.shape[1] * b.shape[1] * a.shape[2] <= _PIECE or out.numel() <= 1:
        out.copy_(folded(mul(a[:, :, None], b[:, None]), 3, own=True)[..., 0])
        return
    dim = next(d for d in (0, 1, 2) if out.shape[d] > 1)
    for part in (slice(0, out.shape[dim] // 2), slice(out.shape[dim] // 2, None)):
        if dim == 0:
            _product_into(out[part], a[part], b[part])
        elif dim == 1:
            _product_into(out[:, part], a[:, part], b)
        else:
            _product_into(out[:, :, part], a, b[:, part])


def _mm(a: torch.Tensor, b: torch.Tensor, trans_a: bool, trans_b: bool, order: str = "") -> torch.Tensor:
    if a.dim() == 2:
        return _mm(a[None], b[None], trans_a, trans_b)[0]
    rows, columns = (a.mT if trans_a else a).contiguous(), (b if trans_b else b.mT).contiguous()
    out = a.new_empty(a.shape[0], rows.shape[1], columns.shape[1])
    _product_into(out, rows, columns)
    return out


def _addmm(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, order: str = "") -> torch.Tensor:
    return add(_mm(a, b, False, False), bias)


float64_ops.update(sum=_sum, mean=_mean, norm=_norm, var=_var, std=_std, mm=_mm, addmm=_addmm)
