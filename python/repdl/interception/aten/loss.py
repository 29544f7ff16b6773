# SPDX-License-Identifier: MIT
"""Losses that torch computes inside one kernel. The others are made of these and of pointwise operations."""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core as _core
from repdl.interception.aten.reduction import mean_of, sum_of
from repdl.interception.native import Kernel
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


# The terms of losses that are pointwise, and their gradients.
_binary_cross_entropy, _smooth_l1, _huber, _soft_margin = (
    laid_out(_core.ops[op]) for op in ("binary_cross_entropy", "smooth_l1", "huber", "soft_margin")
)
_binary_cross_entropy_grad = laid_out(_core.ops["binary_cross_entropy_grad"])
_smooth_l1_grad, _huber_grad = (_core.ops[f"{op}_grad"] for op in ("smooth_l1", "huber"))  # row-major, as torch's are


def _part(reduction: int, *operands: torch.Tensor) -> float:
    """The part that each term has in the loss."""
    if reduction != _MEAN:
        return 1.0
    first, *others = operands
    alike = all(x.shape == first.shape for x in others)
    count = first.numel() if alike else math.prod(torch.broadcast_shapes(*(x.shape for x in operands)))
    return 1 / count if count else 1.0


@override(
    "nll_loss_forward", "nll_loss2d_forward", op="nll_loss", wide="float64", alike=(0, 2), choices={3: _REDUCTIONS}
)
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


def _as_numbers(weight: torch.Tensor | None, self: torch.Tensor) -> torch.Tensor | None:
    """Weights that are integers, as torch multiplies by them."""
    return weight if weight is None or weight.is_floating_point() else weight.to(self.dtype)


@override("binary_cross_entropy", low="first", wide="float64", alike=(0, 1))
def binary_cross_entropy(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = _MEAN
) -> torch.Tensor:
    loss = _reduce(_binary_cross_entropy(self, target, _as_numbers(weight, self)), reduction)
    # Terms of what is no probability are NaN: only then is it worth a search.
    if bool(loss.isnan().any()) and not bool(((self >= 0) & (self <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return loss


@override("binary_cross_entropy_backward", low="first", wide="float64", alike=(1, 2))
def binary_cross_entropy_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    part = _part(reduction, self)
    return _binary_cross_entropy_grad(grad_output, self, target, _as_numbers(weight, self), part)


def _floating(self: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both of the floating-point type that one of them has, as torch's pointwise kernels take them."""
    dtype = self.dtype if self.is_floating_point() else target.dtype
    return self.to(dtype), target if target.is_floating_point() else target.to(dtype)


def _check_of_input(self: torch.Tensor, target: torch.Tensor) -> None:
    """For losses whose result has the type of the input, and so none for integers."""
    if not self.is_floating_point():
        raise RuntimeError(f"result type {target.dtype} can't be cast to the desired output type {self.dtype}")


# Losses that are linear far from the target. torch's gradients multiply in another order in vectors.


@override("smooth_l1_loss", wide="float64")
def smooth_l1_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN, beta: Any = 1.0) -> torch.Tensor:
    """0.5 * d * d / beta for a distance d below beta, d - 0.5 * beta for others."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _reduce(_smooth_l1(*_floating(self, target), float(beta)), reduction)


@override("smooth_l1_loss_backward", wide="float64")
def smooth_l1_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, beta: Any
) -> torch.Tensor:
    """The part times d times the gradient over beta, or plus or minus the part times the gradient."""
    part = _part(reduction, self, target)
    return _smooth_l1_grad(grad_output, *_floating(self, target), float(beta), part)


@override("huber_loss", low="first", wide="float64")
def huber_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN, delta: Any = 1.0) -> torch.Tensor:
    """0.5 * d * d for a distance d up to delta, delta * (d - 0.5 * delta) for others."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _check_of_input(self, target)
    return _reduce(_huber(*_floating(self, target), float(delta)), reduction)


@override("huber_loss_backward", wide="float64")
def huber_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, delta: Any
) -> torch.Tensor:
    """The part times d times the gradient, or plus or minus the part times the gradient times delta."""
    part = _part(reduction, self, target)
    return _huber_grad(grad_output, *_floating(self, target), float(delta), part)


@laid_out
def _soft_margin_grad(target: torch.Tensor, self: torch.Tensor, grad_output: torch.Tensor, part: float) -> torch.Tensor:
    """With the strides of the target first, as torch has them."""
    found: torch.Tensor = _core.ops["soft_margin_grad"](grad_output, self, target, part)
    return found


# Losses of margins.


def _of_margins(op: str) -> Kernel:
    """The op, whose errors are of torch's type."""
    compute = _core.ops[op]

    def kernel(*args: Any) -> Any:
        try:
            return compute(*args)
        except ValueError as error:
            raise RuntimeError(str(error)) from error

    return kernel


_multi_margin, _multi_margin_grad, _multilabel_margin, _multilabel_margin_grad = (
    _of_margins(op) for op in ("multi_margin", "multi_margin_grad", "multilabel_margin", "multilabel_margin_grad")
)


@override("soft_margin_loss", low="first", wide="float64")
def soft_margin_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN) -> torch.Tensor:
    _check_of_input(self, target)
    return _reduce(_soft_margin(*_floating(self, target)), reduction)


@override("soft_margin_loss_backward", wide="float64")
def soft_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int
) -> torch.Tensor:
    x, y = _floating(self, target)
    return _soft_margin_grad(y, x, grad_output, _part(reduction, self, target))


def _of_rows(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """A gradient for each row, where all may share one."""
    return grad_output.expand(self.shape[0]) if grad_output.dim() == 0 else grad_output


@override("multi_margin_loss", wide="float64", alike=(0, 4))
def multi_margin_loss(
    self: torch.Tensor,
    target: torch.Tensor,
    p: Any = 1,
    margin: Any = 1,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    losses = _multi_margin(torch.atleast_2d(self), target.reshape(-1), int(p), float(margin), weight, get_order())
    return _reduce(losses if self.dim() > 1 else losses[0], reduction)


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
    rows, classes = torch.atleast_2d(self), target.reshape(-1)
    settings = int(p), float(margin), weight, _part(reduction, classes), get_order()
    return _multi_margin_grad(_of_rows(grad_output, rows), rows, classes, *settings).reshape(self.shape)


@override("multilabel_margin_loss_forward", wide="float64")
def multilabel_margin_loss_forward(
    self: torch.Tensor, target: torch.Tensor, reduction: int
) -> tuple[torch.Tensor, torch.Tensor]:
    rows = torch.atleast_2d(self)
    losses, is_target = _multilabel_margin(rows, target.reshape(rows.shape), get_order())
    return _reduce(losses if self.dim() > 1 else losses[0], reduction), is_target.reshape(target.shape)


@override("multilabel_margin_loss_backward", wide="float64")
def multilabel_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, is_target: torch.Tensor
) -> torch.Tensor:
    rows = torch.atleast_2d(self)
    grad = _of_rows(grad_output, rows)
    part = 1 / len(rows) if reduction == _MEAN and len(rows) else 1.0
    return _multilabel_margin_grad(grad, rows, target.reshape(rows.shape), part).reshape(self.shape)
