# SPDX-License-Identifier: MIT
"""Distances between rows: the ops of the core."""

from __future__ import annotations

import torch

from repdl._order import get_order
from repdl.interception import core
from repdl.interception.override import override


def _of_one_batch(x1: torch.Tensor, x2: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:])


@override("_cdist_forward", wide="float64", alike=(0, 1))
def cdist(x1: torch.Tensor, x2: torch.Tensor, p: float, compute_mode: int | None = None) -> torch.Tensor:
    result: torch.Tensor = core.ops["cdist"](*_of_one_batch(x1, x2), p, get_order())
    return result


@override("_euclidean_dist", wide="float64")
def _euclidean_dist(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return cdist(x1, x2, 2.0)


@override("_cdist_backward", wide="float64")
def _cdist_backward(
    grad: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, p: float, cdist: torch.Tensor
) -> torch.Tensor:
    result: torch.Tensor = core.ops["cdist_grad"](grad, *_of_one_batch(x1, x2), cdist, p, get_order())
    return result


@override("_pdist_forward", wide="float64")
def _pdist_forward(self: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    result: torch.Tensor = core.ops["pdist"](self, p, get_order())
    return result


@override("_pdist_backward", wide="float64")
def _pdist_backward(grad: torch.Tensor, self: torch.Tensor, p: float, pdist: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = core.ops["pdist_grad"](grad, self, pdist, p)
    return result
