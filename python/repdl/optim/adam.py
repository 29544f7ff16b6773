# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl import ops
from repdl.optim._step import TakesNoScale, call_flat, evaluate, number, parameters_with_gradient


def _step(optimizer: torch.optim.Optimizer, step_op: Any, closure: Callable[[], Any] | None) -> Any:
    loss = evaluate(closure)
    name = type(optimizer).__name__
    for group in optimizer.param_groups:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        for parameter, grad in parameters_with_gradient(name, group):
            state = optimizer.state[parameter]
            if len(state) == 0:
                state["step"] = torch.tensor(0.0)
                state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            # A tensor in torch's checkpoints, a number in RepDL's.
            state["step"] += 1
            largest = state["max_exp_avg_sq"] if group["amsgrad"] else None
            call_flat(
                step_op,
                (parameter, grad, state["exp_avg"], state["exp_avg_sq"], largest),
                int(state["step"]),
                number(group["lr"]),
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                group["maximize"],
            )
    return loss


class Adam(TakesNoScale, torch.optim.Adam):
    """torch.optim.Adam with the formula of microsoft/RepDL 0.1: options, state and checkpoints are torch's.

    float32 or float64 parameters. The options foreach, fused, capturable and differentiable have no effect on the
    result: there is one kernel.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; returns what the closure returns, which is called first to compute the gradients."""
        decoupled = any(group.get("decoupled_weight_decay", False) for group in self.param_groups)
        return _step(self, ops.adamw_step if decoupled else ops.adam_step, closure)


class AdamW(TakesNoScale, torch.optim.AdamW):
    """torch.optim.AdamW by the kernel of `Adam`, with decoupled weight decay."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; returns what the closure returns, which is called first to compute the gradients."""
        return _step(self, ops.adamw_step, closure)
