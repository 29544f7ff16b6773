# SPDX-License-Identifier: MIT
"""Distances between rows: the norm of each difference, whatever the number of rows."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.aten.reduction import sum_of, vector_norm
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import override


@override("_cdist_forward", wide="float64")
def cdist(x1: torch.Tensor, x2: torch.Tensor, p: float, compute_mode: int | None = None) -> torch.Tensor:
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = x1.new_empty(*batch, x1.shape[-2], x2.shape[-2])
    for i in range(x1.shape[-2]):  # one row at a time, for memory
        result[..., i, :] = vector_norm(x1[..., i : i + 1, :] - x2, p, -1, ops=ops_of(x1))
    return result


@override("_euclidean_dist", wide="float64")
def _euclidean_dist(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return cdist(x1, x2, 2.0)


def _slope(difference: torch.Tensor, distance: torch.Tensor, p: float) -> torch.Tensor:
    """The derivative of a distance by its difference d; +0 where there is none, or the distance or d is 0.

    sign(d) for p = 1, and for infinity where |d| is the distance; d / distance for 2; else
    (sign(d) * pow(|d|, p - 1)) / pow(distance, p - 1).
    """
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return difference.sign()
    if p == 2:
        slope = difference / distance
    elif p == float("inf"):
        return difference.sign() * (difference.abs() == distance)
    else:
        power, pow = torch.full((), p - 1, dtype=distance.dtype), ops_of(distance)["pow"]
        slope = difference.sign() * pow(difference.abs(), power) / pow(distance, power)
    return torch.where((distance == 0) | (difference == 0), torch.zeros_like(slope), slope)


@override("_cdist_backward", wide="float64")
def _cdist_backward(
    grad: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, p: float, cdist: torch.Tensor
) -> torch.Tensor:
    """The Sum over the rows of x2 of the derivative times the gradient."""
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = x1.new_empty(*batch, *x1.shape[-2:])
    for i in range(x1.shape[-2]):
        row = slice(i, i + 1)
        slope = _slope(x1[..., row, :] - x2, cdist[..., i, :, None], p)
        result[..., i, :] = sum_of(slope * grad[..., i, :, None], -2, ops=ops_of(x1))
    return result


def _pairs(rows: int) -> Any:
    return torch.triu_indices(rows, rows, 1)


@override("_pdist_forward", wide="float64")
def _pdist_forward(self: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    i, j = _pairs(self.shape[0])
    return vector_norm(self.index_select(0, i) - self.index_select(0, j), p, 1, ops=ops_of(self))


@override("_pdist_backward", wide="float64")
def _pdist_backward(grad: torch.Tensor, self: torch.Tensor, p: float, pdist: torch.Tensor) -> torch.Tensor:
    """Derivative times gradient: to the first row of each pair, pair after pair, then minus that to the second rows."""
    i, j = _pairs(self.shape[0])
    slope = _slope(self.index_select(0, i) - self.index_select(0, j), pdist[:, None], p) * grad[:, None]
    return torch.zeros_like(self).index_add(0, i, slope).index_add(0, j, slope.neg())
