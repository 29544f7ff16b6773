# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN on devices and within `torch.vmap`, step by step, as torch has them on the CPU.

On devices torch has others; those on the CPU write into states that, within `torch.vmap`, may be one for all entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

States = tuple[torch.Tensor, ...]
Layer = Callable[[torch.Tensor, Sequence[torch.Tensor], Any, Any, bool], States]
"""From the input's part of the gates, the states, weight_hh, bias_hh and `reverse`: the output and the last states."""

Step = Callable[[torch.Tensor, Sequence[torch.Tensor], Any, Any], States]
"""From the input's part of the gates, the states, weight_hh and bias_hh: the states, the first being the output."""


def lstm_step(of_input: torch.Tensor, states: Sequence[torch.Tensor], weight: Any, bias: Any) -> States:
    h, c = states
    gates = (F.linear(h, weight, bias) + of_input).unsafe_chunk(4, 1)
    enters, stays, shows = (gates[i].sigmoid_() for i in (0, 1, 3))
    cy = (stays * c).add_(enters * gates[2].tanh_())
    return shows * cy.tanh(), cy


def gru_step(of_input: torch.Tensor, states: Sequence[torch.Tensor], weight: Any, bias: Any) -> States:
    """The gradient of a state has three terms, of which the op would add two first."""
    (hx,) = states
    inputs, own = of_input.unsafe_chunk(3, 1), F.linear(hx, weight, bias).unsafe_chunk(3, 1)
    reset, update = own[0].add(inputs[0]).sigmoid_(), own[1].add(inputs[1]).sigmoid_()
    new = inputs[2].add(own[2].mul(reset)).tanh_()
    return ((hx - new).mul_(update).add_(new),)


def rnn_step(nonlinearity: str) -> Step:
    def step(of_input: torch.Tensor, states: Sequence[torch.Tensor], weight: Any, bias: Any) -> States:
        (hx,) = states
        gates = F.linear(hx, weight, bias) + of_input
        return (torch.tanh(gates) if nonlinearity == "tanh" else torch.relu(gates),)

    return step


def projected(step: Step, weight: torch.Tensor) -> Step:
    """A step whose output is multiplied by a matrix."""

    def with_product(of_input: torch.Tensor, states: Sequence[torch.Tensor], weight_hh: Any, bias: Any) -> States:
        output, *others = step(of_input, states, weight_hh, bias)
        return torch.matmul(output, weight.t()), *others

    return with_product


def in_steps(step: Step) -> Layer:
    """A direction of a layer."""

    def layer(gates: torch.Tensor, states: Sequence[torch.Tensor], weight: Any, bias: Any, reverse: bool) -> States:
        outputs = []
        for of_input in gates.unbind(0)[:: -1 if reverse else 1]:
            states = step(of_input, states, weight, bias)
            outputs.append(states[0])
        return torch.stack(outputs[:: -1 if reverse else 1]), *states

    return layer
