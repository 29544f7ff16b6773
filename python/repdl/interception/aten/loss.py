# SPDX-License-Identifier: MIT
"""Losses that torch computes inside one kernel. The others are made of these and of pointwise operations."""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core as _core
from repdl.interception.aten.reduction import mean_of, sum_of
from repdl.interception.override import override
from repdl.interception.strides import laid_out

_NONE, _MEAN, _SUM = range(3)
_REDUCTIONS = ("none", "mean", "sum")


def _reduce(loss: torch.Tensor, reduction: int) -> torch.Tensor:
    if reduction == _NONE:
        return loss
    return mean_of(loss) if reduction == _MEAN else sum_of(loss)


def _classes(self: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The target as the op takes it."""
    if target.dtype == torch.uint8:
        target = target.to(torch.int64)
    elif target.dtype != torch.int64:
        raise RuntimeError(f"expected a target of int64 or uint8, but got {target.dtype}")
    return target.reshape(()) if self.dim() == 1 else target


def _check_classes(self: torch.Tensor, classes: torch.Tensor, ignore_index: int) -> None:
    """Says in torch's words which class is none, if one is."""
    count = self.shape[0 if self.dim() == 1 else 1]
    outside = classes[((classes < 0) | (classes >= count)) & (classes != ignore_index)]
    if outside.numel():
        raise IndexError(f"Target {int(outside[0])} is out of bounds.")


@override("nll_loss_forward", "nll_loss2d_forward", op="nll_loss", wide="float64", choices={3: _REDUCTIONS})
def nll_loss_forward(
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignore_index: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    classes = _classes(self, target)
    try:
        return _core.ops["nll_loss"](self, classes, weight, _REDUCTIONS[reduction], ignore_index, get_order())
    except ValueError:
        _check_classes(self, classes, ignore_index)
        raise


@override("nll_loss_backward", "nll_loss2d_backward", op="nll_loss_grad", wide="float64", choices={4: _REDUCTIONS})
def nll_loss_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    classes = _classes(self, target)
    grad = grad_output.reshape(()) if self.dim() == 1 else grad_output
    try:
        return _core.ops["nll_loss_grad"](
            grad, self, classes, weight, _REDUCTIONS[reduction], ignore_index, total_weight
        )
    except ValueError:
        _check_classes(self, classes, ignore_index)
        raise


@override("binary_cross_entropy", wide="float64")
def binary_cross_entropy(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = _MEAN
) -> torch.Tensor:
    """max(log1p(-x), -100) * (target - 1) - max(log(x), -100) * target, times the weight."""
    if bool(((self < 0) | (self > 1)).any()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    off, on = (log.clamp_min(-100) for log in (torch.log1p(self.neg()), torch.log(self)))
    loss = off * (target - 1) - on * target
    return _reduce(loss if weight is None else loss * weight, reduction)


@override("binary_cross_entropy_backward", wide="float64")
def binary_cross_entropy_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    """grad * (x - target) / max((1 - x) * x, 1e-12), times the weight, for a mean over the number of elements."""
    grad = grad_output * (self - target) / ((1 - self) * self).clamp_min(1e-12)
    if weight is not None:
        grad = grad * weight
    return grad / self.numel() if reduction == _MEAN else grad


# Losses that are linear far from the target. torch's gradients multiply in another order in vectors.


_smooth_l1, _smooth_l1_grad, _huber, _huber_grad = (
    laid_out(_core.ops[op]) for op in ("smooth_l1", "smooth_l1_grad", "huber", "huber_grad")
)


def _part(reduction: int, *operands: torch.Tensor) -> float:
    """The part that each term has in the loss."""
    count = math.prod(torch.broadcast_shapes(*(x.shape for x in operands)))
    return 1 / count if reduction == _MEAN and count else 1.0


@override("smooth_l1_loss", wide="float64")
def smooth_l1_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN, beta: Any = 1.0) -> torch.Tensor:
    """0.5 * d * d / beta for a distance d below beta, d - 0.5 * beta for others."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _reduce(_smooth_l1(self, target, float(beta)), reduction)


@override("smooth_l1_loss_backward", wide="float64")
def smooth_l1_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, beta: Any
) -> torch.Tensor:
    """The part times d times the gradient over beta, or plus or minus the part times the gradient."""
    part = _part(reduction, self, target)
    return _smooth_l1_grad(grad_output, self, target, float(beta), part)


@override("huber_loss", wide="float64")
def huber_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN, delta: Any = 1.0) -> torch.Tensor:
    """0.5 * d * d for a distance d up to delta, delta * (d - 0.5 * delta) for others."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _reduce(_huber(self, target, float(delta)), reduction)


@override("huber_loss_backward", wide="float64")
def huber_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, delta: Any
) -> torch.Tensor:
    """The part times d times the gradient, or plus or minus the part times the gradient times delta."""
    part = _part(reduction, self, target)
    return _huber_grad(grad_output, self, target, float(delta), part)


# Losses of margins.


def _per_term(grad_output: torch.Tensor, reduction: int, count: int) -> torch.Tensor:
    return grad_output / count if reduction == _MEAN else grad_output


@override("soft_margin_loss", wide="float64")
def soft_margin_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN) -> torch.Tensor:
    """log(1 + exp(-target * x))."""
    return _reduce(torch.nn.functional.softplus(self * target.neg()), reduction)


@override("soft_margin_loss_backward", wide="float64")
def soft_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int
) -> torch.Tensor:
    """(-target * sigmoid(-target * x)) * grad, for a mean with the gradient over the number of elements."""
    away = target.neg()
    return away * torch.sigmoid(away * self) * _per_term(grad_output, reduction, self.numel())


def _missing(self: torch.Tensor, target: torch.Tensor, margin: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """How far each other class reaches into the margin of the right one; and the classes, as a column."""
    if bool(((target < 0) | (target >= self.shape[1])).any()):
        raise RuntimeError("[multi_margin_loss] target must hold classes of input: 0 to its size - 1")
    classes = target[:, None]
    reach = (margin - self.gather(1, classes) + self).clamp_min(0)
    return reach.scatter(1, classes, 0.0), classes


@override("multi_margin_loss", wide="float64")
def multi_margin_loss(
    self: torch.Tensor,
    target: torch.Tensor,
    p: Any = 1,
    margin: Any = 1,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    """Of a row Sum(r) over the classes, over their number: r is max((margin - right) + x, 0), or its square, times
    the weight of the right class; +0 for that itself.
    """
    if self.dim() < 2:
        loss = multi_margin_loss(self.reshape(1, -1), target.reshape(1), p, margin, weight, reduction)
        return loss.reshape(())
    reach, classes = _missing(self, target, margin)
    if p == 2:
        reach = reach * reach
    if weight is not None:
        reach = reach * weight[classes]
    return _reduce(sum_of(reach, 1) / self.shape[1], reduction)


@override("multi_margin_loss_backward", wide="float64")
def multi_margin_loss_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    p: Any,
    margin: Any,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    """1 where r > 0, or r * 2, times the weight, over the number of classes; for the right one minus the Sum of these.

    Then times the gradient, for a mean with that over the number of rows.
    """
    if self.dim() < 2:
        rows = self.reshape(1, -1), target.reshape(1)
        grad = grad_output.reshape(1) if reduction == _NONE else grad_output
        return multi_margin_loss_backward(grad, *rows, p, margin, weight, reduction).reshape(self.shape)
    reach, classes = _missing(self, target, margin)
    slope = reach * 2 if p == 2 else (reach > 0).to(self.dtype)
    if weight is not None:
        slope = slope * weight[classes]
    slope = slope / self.shape[1]
    slope = slope.scatter(1, classes, sum_of(slope, 1, True).neg())
    grad = _per_term(grad_output, reduction, self.shape[0])
    return slope * (grad[:, None] if reduction == _NONE else grad)


def _labels(self: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The labels of each row, 0 behind the first -1; which count; and what classes are labels."""
    if bool(((target < -1) | (target >= self.shape[1])).any()):
        raise RuntimeError("[multilabel_margin_loss] target must hold classes of input, then -1")
    valid = (target < 0).cumsum(1) == 0
    labels = torch.where(valid, target, torch.zeros_like(target))
    is_label = torch.zeros_like(self).scatter_add(1, labels, valid.to(self.dtype)) > 0
    return labels, valid, is_label


def _reach(self: torch.Tensor, labels: torch.Tensor, valid: torch.Tensor, is_label: torch.Tensor) -> torch.Tensor:
    """For each row, label and other class: how far that reaches into the margin, max((1 - label) + x, 0)."""
    reach = (1 - self.gather(1, labels)[:, :, None] + self[:, None, :]).clamp_min(0)
    return torch.where(valid[:, :, None] & ~is_label[:, None, :], reach, torch.zeros_like(reach))


@override("multilabel_margin_loss_forward", wide="float64")
def multilabel_margin_loss_forward(
    self: torch.Tensor, target: torch.Tensor, reduction: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of a row the Sum over labels and classes, label by label, over the number of classes; of labels it is +0."""
    rows = torch.atleast_2d(self)
    labels, valid, is_label = _labels(rows, target.reshape(rows.shape))
    loss = sum_of(_reach(rows, labels, valid, is_label), (1, 2)) / rows.shape[1]
    reduced = _reduce(loss if self.dim() > 1 else loss[0], reduction)
    return reduced, is_label.to(self.dtype).reshape(target.shape)


@override("multilabel_margin_loss_backward", wide="float64")
def multilabel_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, is_target: torch.Tensor
) -> torch.Tensor:
    """For a class the number of labels into whose margin it reaches; for each label, in order, minus the number of such
    classes. That over the number of classes, times the gradient, for a mean with that over the number of rows.
    """
    rows = torch.atleast_2d(self)
    labels, valid, is_label = _labels(rows, target.reshape(rows.shape))
    slope = (_reach(rows, labels, valid, is_label) > 0).to(self.dtype)
    grad = sum_of(slope, 1).scatter_add(1, labels, sum_of(slope, 2).neg()) / rows.shape[1]
    scale = _per_term(grad_output, reduction, rows.shape[0])
    return (grad * (scale.reshape(-1, 1) if reduction == _NONE else scale)).reshape(self.shape)
