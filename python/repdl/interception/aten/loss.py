# SPDX-License-Identifier: MIT
"""Losses that torch computes inside one kernel. The others are made of these and of pointwise operations."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.aten.reduction import mean_of, sum_of
from repdl.interception.override import override

_NONE, _MEAN, _SUM = range(3)


def _reduce(loss: torch.Tensor, reduction: int) -> torch.Tensor:
    if reduction == _NONE:
        return loss
    return mean_of(loss) if reduction == _MEAN else sum_of(loss)


def _check_classes(classes: torch.Tensor, count: int) -> None:
    outside = classes[(classes < 0) | (classes >= count)]
    if outside.numel():
        raise IndexError(f"Target {int(outside[0])} is out of bounds.")


def _class_weights(
    self: torch.Tensor, target: torch.Tensor, counted: torch.Tensor, weight: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row its class, 0 where it is not counted, and the weight of that."""
    classes = torch.where(counted, target, torch.zeros_like(target))
    _check_classes(classes, self.shape[1])
    weights = counted.to(torch.float32)
    return classes, weights if weight is None else weights * weight.to(torch.float32)[classes]


_COUNTED_EXACTLY = 2**24
"""So many ones can be summed without rounding."""


def _all_count(counted: torch.Tensor, weight: torch.Tensor | None) -> bool:
    """Whether every row has the weight 1: the usual case, in which fewer steps give the same bits."""
    return weight is None and counted.numel() <= _COUNTED_EXACTLY and bool(counted.all())


def _pick(self: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    try:
        return self.gather(1, target[:, None])[:, 0]
    except RuntimeError:  # of an index that is none
        _check_classes(target, self.shape[1])
        raise


def _checked(target: torch.Tensor) -> torch.Tensor:
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError(f"expected a target of int64 or uint8, but got {target.dtype}")
    return target.to(torch.int64)


@override("nll_loss_forward")
def nll_loss_forward(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """-weight[target] * self[target] for each row; their sum, or that divided by the sum of the weights."""
    if self.dim() == 1:
        loss, total = nll_loss_forward(self[None], target.reshape(1), weight, reduction, ignore_index)
        return (loss[0] if reduction == _NONE else loss), total
    target = _checked(target)
    counted = target != ignore_index
    if _all_count(counted, weight):
        loss = _pick(self, target).neg()
        if reduction == _NONE:
            return loss, self.new_zeros(())
        total = self.new_full((), target.numel())
        loss = sum_of(loss)
        return (loss / total if reduction == _MEAN else loss), total
    classes, weights = _class_weights(self, target, counted, weight)
    # A class that is ignored counts nothing, even if its number is infinite.
    picked = torch.where(weights == 0, torch.zeros_like(weights), self.gather(1, classes[:, None])[:, 0])
    loss = picked.neg() * weights
    if reduction == _NONE:
        return loss, self.new_zeros(())
    total = sum_of(weights)
    loss = sum_of(loss)
    return (loss / total if reduction == _MEAN else loss), total


@override("nll_loss_backward")
def nll_loss_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    if self.dim() == 1:
        grad = grad_output.reshape(1) if reduction == _NONE else grad_output
        return nll_loss_backward(grad, self[None], target.reshape(1), weight, reduction, ignore_index, total_weight)[0]
    target = _checked(target)
    counted = target != ignore_index
    scale = grad_output / total_weight if reduction == _MEAN else grad_output
    if _all_count(counted, weight):
        classes, values = target, scale.neg().expand(target.shape)
    else:
        classes, weights = _class_weights(self, target, counted, weight)
        values = torch.where(weights == 0, torch.zeros_like(weights), weights.neg() * scale)
    return torch.zeros_like(self, memory_format=torch.contiguous_format).scatter_(1, classes[:, None], values[:, None])


def _pixels(image: torch.Tensor) -> torch.Tensor:
    """(n, c, h, w) as rows of classes."""
    return image.permute(0, 2, 3, 1).reshape(-1, image.shape[1])


@override("nll_loss2d_forward")
def _(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    loss, total = nll_loss_forward(_pixels(self), target.reshape(-1), weight, reduction, ignore_index)
    return (loss.reshape(target.shape) if reduction == _NONE else loss), total


@override("nll_loss2d_backward")
def _(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    grad = grad_output.reshape(-1) if reduction == _NONE else grad_output
    rows = nll_loss_backward(grad, _pixels(self), target.reshape(-1), weight, reduction, ignore_index, total_weight)
    n, c, h, w = self.shape
    return rows.reshape(n, h, w, c).permute(0, 3, 1, 2).contiguous()


@override("binary_cross_entropy")
def _(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = _MEAN
) -> torch.Tensor:
    """max(log1p(-x), -100) * (target - 1) - max(log(x), -100) * target, times the weight."""
    if bool(((self < 0) | (self > 1)).any()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    off, on = (log.clamp_min(-100) for log in (torch.log1p(self.neg()), torch.log(self)))
    loss = off * (target - 1) - on * target
    return _reduce(loss if weight is None else loss * weight, reduction)


@override("binary_cross_entropy_backward")
def _(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    grad = grad_output * (self - target) / ((1 - self) * self).clamp_min(1e-12)
    if weight is not None:
        grad = grad * weight
    return grad / self.numel() if reduction == _MEAN else grad


# Losses of margins.


def _per_term(grad_output: torch.Tensor, reduction: int, count: int) -> torch.Tensor:
    return grad_output / count if reduction == _MEAN else grad_output


@override("soft_margin_loss")
def _(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN) -> torch.Tensor:
    """log(1 + exp(-target * x))."""
    return _reduce(torch.nn.functional.softplus(self * target.neg()), reduction)


@override("soft_margin_loss_backward")
def _(grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int) -> torch.Tensor:
    away = target.neg()
    return away * torch.sigmoid(away * self) * _per_term(grad_output, reduction, self.numel())


def _missing(self: torch.Tensor, target: torch.Tensor, margin: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """How far each other class reaches into the margin of the right one; and the classes, as a column."""
    if bool(((target < 0) | (target >= self.shape[1])).any()):
        raise RuntimeError("[multi_margin_loss] target must hold classes of input: 0 to its size - 1")
    classes = target[:, None]
    reach = (margin - self.gather(1, classes) + self).clamp_min(0)
    return reach.scatter(1, classes, 0.0), classes


@override("multi_margin_loss")
def multi_margin_loss(
    self: torch.Tensor,
    target: torch.Tensor,
    p: Any = 1,
    margin: Any = 1,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    if self.dim() < 2:
        loss = multi_margin_loss(self.reshape(1, -1), target.reshape(1), p, margin, weight, reduction)
        return loss.reshape(())
    reach, classes = _missing(self, target, margin)
    if p == 2:
        reach = reach * reach
    if weight is not None:
        reach = reach * weight[classes]
    return _reduce(sum_of(reach, 1) / self.shape[1], reduction)


@override("multi_margin_loss_backward")
def multi_margin_loss_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    p: Any,
    margin: Any,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    if self.dim() < 2:
        rows = self.reshape(1, -1), target.reshape(1)
        grad = grad_output.reshape(1) if reduction == _NONE else grad_output
        return multi_margin_loss_backward(grad, *rows, p, margin, weight, reduction).reshape(self.shape)
    reach, classes = _missing(self, target, margin)
    slope = reach * 2 if p == 2 else (reach > 0).to(torch.float32)
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
    is_label = torch.zeros_like(self).scatter_add(1, labels, valid.to(torch.float32)) > 0
    return labels, valid, is_label


def _reach(self: torch.Tensor, labels: torch.Tensor, valid: torch.Tensor, is_label: torch.Tensor) -> torch.Tensor:
    """For each row, label and other class: how far that reaches into the margin, 1."""
    reach = (1 - self.gather(1, labels)[:, :, None] + self[:, None, :]).clamp_min(0)
    return torch.where(valid[:, :, None] & ~is_label[:, None, :], reach, torch.zeros_like(reach))


@override("multilabel_margin_loss_forward")
def _(self: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, torch.Tensor]:
    rows = torch.atleast_2d(self)
    labels, valid, is_label = _labels(rows, target.reshape(rows.shape))
    loss = sum_of(_reach(rows, labels, valid, is_label), (1, 2)) / rows.shape[1]
    reduced = _reduce(loss if self.dim() > 1 else loss[0], reduction)
    return reduced, is_label.to(self.dtype).reshape(target.shape)


@override("multilabel_margin_loss_backward")
def _(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, is_target: torch.Tensor
) -> torch.Tensor:
    rows = torch.atleast_2d(self)
    labels, valid, is_label = _labels(rows, target.reshape(rows.shape))
    slope = (_reach(rows, labels, valid, is_label) > 0).to(torch.float32)
    grad = sum_of(slope, 1).scatter_add(1, labels, sum_of(slope, 2).neg()) / rows.shape[1]
    scale = _per_term(grad_output, reduction, rows.shape[0])
    return (grad * (scale.reshape(-1, 1) if reduction == _NONE else scale)).reshape(self.shape)
