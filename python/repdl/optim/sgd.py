# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl import ops
from repdl.optim._step import TakesNoScale, call_flat, evaluate, number, parameters_with_gradient


class SGD(TakesNoScale, torch.optim.SGD):
    """torch.optim.SGD with the same bits everywhere: options, state and checkpoints are torch's.

    float32 or float64 parameters.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; returns what the closure returns, which is called first to compute the gradients."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for parameter, grad in parameters_with_gradient("SGD", group):
                buffer, first = None, False
                if group["momentum"] != 0:  # else it has no state, as in torch
                    state = self.state[parameter]
                    buffer = state.get("momentum_buffer")
                    first = buffer is None
                    if first:
                        buffer = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                        state["momentum_buffer"] = buffer
                call_flat(
                    ops.sgd_step,
                    (parameter, grad, buffer),
                    first,
                    number(group["lr"]),
                    number(group["momentum"]),
                    number(group["dampening"]),
                    number(group["weight_decay"]),
                    group["nesterov"],
                    group["maximize"],
                )
        return loss
