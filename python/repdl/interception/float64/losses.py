# SPDX-License-Identifier: MIT
"""Losses of float64 that are ops of the core, with sums of float64."""

from __future__ import annotations

import torch

from repdl.interception.override import float64_ops as ops


def _weighed(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """The class of each place, 0 where it is ignored; the weight of that; and the dimension of the classes."""
    dim = 0 if input.dim() == 1 else 1
    counted = target != ignore_index
    classes = torch.where(counted, target, torch.zeros_like(target))
    if bool(((classes < 0) | (classes >= input.shape[dim])).any()):
        raise ValueError("[nll_loss] target has a class that is none")
    weights = counted.to(input.dtype)
    return classes.unsqueeze(dim), weights if weight is None else weights * weight.to(input.dtype)[classes], dim


def _nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: str,
    ignore_index: int,
    order: str = "blocked",
) -> tuple[torch.Tensor, torch.Tensor]:
    classes, weights, dim = _weighed(input, target, weight, ignore_index)
    # A class that is ignored counts nothing, even if its number is infinite.
    picked = torch.where(weights == 0, torch.zeros_like(weights), input.gather(dim, classes).squeeze(dim))
    loss = picked.neg() * weights
    if reduction == "none":
        return loss, input.new_zeros(())
    dims = tuple(range(loss.dim()))
    total = ops["sum"](weights, dims, False, False, order)
    loss = ops["sum"](loss, dims, False, False, order)
    return (loss / total if reduction == "mean" else loss), total


def _nll_loss_grad(
    grad: torch.Tensor,
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: str,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    classes, weights, dim = _weighed(input, target, weight, ignore_index)
    scale = grad / total_weight if reduction == "mean" else grad
    values = torch.where(weights == 0, torch.zeros_like(weights), weights.neg() * scale)
    zeros = torch.zeros_like(input, memory_format=torch.contiguous_format)
    return zeros.scatter_(dim, classes, values.unsqueeze(dim))


ops.update(nll_loss=_nll_loss, nll_loss_grad=_nll_loss_grad)
