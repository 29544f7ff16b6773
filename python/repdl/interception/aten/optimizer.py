# SPDX-License-Identifier: MIT
"""The fused steps of torch.optim: the formulas of the single-tensor steps, so that all forms of an optimizer agree."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.override import ANY_DTYPE, override

Tensors = list[torch.Tensor]


def _gradient(
    param: torch.Tensor, grad: torch.Tensor, weight_decay: float, maximize: bool, grad_scale: torch.Tensor | None
) -> torch.Tensor:
    if grad_scale is not None:
        grad.div_(grad_scale)  # as torch's fused steps do, in place
    if maximize:
        grad = grad.neg()
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad


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
        if found_inf is not None and float(found_inf) != 0:
            return
        lr = float(lr)
        for i, param in enumerate(self):
            mean, square = exp_avgs[i], exp_avg_sqs[i]
            grad = _gradient(param, grads[i], 0 if decoupled else weight_decay, maximize, grad_scale)
            if decoupled and weight_decay != 0:
                param.mul_(1 - lr * weight_decay)
            count = float(state_steps[i])
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            correction1, correction2 = 1 - beta1**count, 1 - beta2**count
            if amsgrad:
                torch.maximum(max_exp_avg_sqs[i], square, out=max_exp_avg_sqs[i])
                square = max_exp_avg_sqs[i]
            denominator = (square.sqrt() / correction2**0.5).add_(eps)
            param.addcdiv_(mean, denominator, value=-(lr / correction1))

    return step


override("_fused_adam_", "_fused_adam_.tensor_lr", **ANY_DTYPE)(_adam(decoupled=False))
override("_fused_adamw_", "_fused_adamw_.tensor_lr", **ANY_DTYPE)(_adam(decoupled=True))


@override("_fused_adagrad_", "_fused_adagrad_.tensor_lr", **ANY_DTYPE)
def _(
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
    if found_inf is not None and float(found_inf) != 0:
        return
    for i, param in enumerate(self):
        grad = _gradient(param, grads[i], weight_decay, maximize, grad_scale)
        state_sums[i].addcmul_(grad, grad, value=1)
        rate = float(lr) / (1 + (float(state_steps[i]) - 1) * lr_decay)
        param.addcdiv_(grad, state_sums[i].sqrt().add_(eps), value=-rate)


@override("_fused_sgd_", "_fused_sgd_.tensor_lr", **ANY_DTYPE)
def _(
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
    if found_inf is not None and float(found_inf) != 0:
        return
    for i, param in enumerate(self):
        grad = _gradient(param, grads[i], weight_decay, maximize, grad_scale)
        if momentum != 0:
            buffer = momentum_buffer_list[i]
            if is_first_step:
                buffer.copy_(grad)
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        param.add_(grad, alpha=-float(lr))
