# SPDX-License-Identifier: MIT
"""The fused steps of torch.optim, an op for each parameter: those of the single-tensor forms, so that all agree."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import increment_version

from repdl import _core
from repdl.interception.core import RANKS
from repdl.interception.native import Kernel
from repdl.interception.override import ANY_DTYPE, override

Tensors = list[torch.Tensor]


def _steps(op: str) -> Kernel:
    def refuse(params: Tensors, *_: Any) -> None:
        if params:
            raise RuntimeError(f"[{op}] needs as many gradients and states as parameters")

    step_each: Kernel = _core.make_each_op(op, increment_version, refuse)

    def step(params: Tensors, *others: Any) -> None:
        if all(param.dim() <= RANKS for param in params):
            step_each(params, *others)
            return
        lists = params, *others
        rows = [[_row(x) for x in values] if isinstance(values, list) else values for values in lists]
        step_each(*rows)
        for values, changed in zip(lists, rows, strict=True):
            for x, row in zip(values, changed, strict=True) if isinstance(values, list) else ():
                if row is not x and row.data_ptr() != x.data_ptr():
                    x.copy_(row.reshape(x.shape))

    return step


def _row(x: Any) -> Any:
    """A tensor of more dimensions than the op takes as a row: a view of it, or a copy."""
    return x.reshape(-1) if isinstance(x, torch.Tensor) and x.dim() > RANKS else x


_adam_steps, _adagrad_steps, _sgd_steps = map(_steps, ("fused_adam_step", "fused_adagrad_step", "fused_sgd_step"))


def _read(counts: Tensors) -> list[Any]:
    """The counts of steps: all at once where they lie on a device, since the host waits for them."""
    if counts and counts[0].is_cuda:
        return torch.cat([count.reshape(1) for count in counts]).tolist()
    return counts


def _goes_on(grads: Tensors, grad_scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> bool:
    """Whether the step is done at all. The gradients are scaled in place, as torch's fused steps do it."""
    if found_inf is not None and float(found_inf) != 0:
        return False
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return True


def _adam(decoupled: bool) -> Any:
    def step(
        self: Tensors,
        grads: Tensors,
        exp_avgs: Tensors,
        exp_avg_sqs: Tensors,
        max_exp_avg_sqs: Tensors,
        state_steps: Tensors,
        *,
        lr: Any,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: torch.Tensor | None = None,
        found_inf: torch.Tensor | None = None,
    ) -> None:
        if _goes_on(grads, grad_scale, found_inf):
            largest = max_exp_avg_sqs if amsgrad else None
            options = lr, beta1, beta2, eps, weight_decay, maximize, decoupled
            _adam_steps(self, grads, exp_avgs, exp_avg_sqs, largest, _read(state_steps), *options)

    return step


override("_fused_adam_", "_fused_adam_.tensor_lr", **ANY_DTYPE)(_adam(decoupled=False))
override("_fused_adamw_", "_fused_adamw_.tensor_lr", **ANY_DTYPE)(_adam(decoupled=True))


@override("_fused_adagrad_", "_fused_adagrad_.tensor_lr", **ANY_DTYPE)
def fused_adagrad(
    self: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    *,
    lr: Any,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
) -> None:
    if _goes_on(grads, grad_scale, found_inf):
        _adagrad_steps(self, grads, state_sums, _read(state_steps), lr, lr_decay, eps, weight_decay, maximize)


@override("_fused_sgd_", "_fused_sgd_.tensor_lr", **ANY_DTYPE)
def fused_sgd(
    self: Tensors,
    grads: Tensors,
    momentum_buffer_list: Tensors,
    *,
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
) -> None:
    if _goes_on(grads, grad_scale, found_inf):
        buffers = momentum_buffer_list if momentum != 0 else None
        options = is_first_step, lr, momentum, dampening, weight_decay, nesterov, maximize
        _sgd_steps(self, grads, buffers, *options)
