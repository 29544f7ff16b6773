# SPDX-License-Identifier: MIT
"""Packed sequences on devices: the steps that torch makes of them on the CPU, an op each but for GRU.

Above autograd: gradients of parameters are added step by step, as those of torch's steps are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

States = tuple[torch.Tensor, ...]
Layer = Callable[[torch.Tensor, Sequence[torch.Tensor], Any, Any, bool], States]
"""From the input's part of the gates, the states, weight_hh, bias_hh and `reverse`: the output and the last states."""

Step = Callable[[torch.Tensor, States], States]
"""From the input's part of the gates and the states: the states, of which the first is the output."""


def gru_layer(gates: torch.Tensor, states: Sequence[torch.Tensor], weight: Any, bias: Any, reverse: bool) -> States:
    """One step as torch makes it: the gradient of a state has three terms, of which the op would add two first."""
    (hx,), (of_input,) = states, gates.unbind(0)
    inputs, own = of_input.unsafe_chunk(3, 1), F.linear(hx, weight, bias).unsafe_chunk(3, 1)
    reset, update = own[0].add_(inputs[0]).sigmoid_(), own[1].add_(inputs[1]).sigmoid_()
    new = inputs[2].add(own[2].mul_(reset)).tanh_()
    hy = (hx - new).mul_(update).add_(new)
    return hy.unsqueeze(0), hy


def _part(states: States, begin: int, end: int) -> States:
    return tuple(state.narrow(0, begin, end - begin) for state in states)


def _joined(parts: Sequence[States]) -> States:
    return tuple(torch.cat(states, 0) for states in zip(*parts, strict=True))


def _forwards(step: Step, gates: torch.Tensor, sizes: list[int], states: States) -> tuple[torch.Tensor, States]:
    """A direction of a layer; sequences that end leave their states."""
    outputs, ended, offset, before = [], [], 0, sizes[0]
    for size in sizes:
        if size < before:
            ended.append(_part(states, size, before))
            states = _part(states, 0, size)
        states = step(gates.narrow(0, offset, size), states)
        outputs.append(states[0])
        offset, before = offset + size, size
    return torch.cat(outputs, 0), _joined([states, *reversed(ended)])


def _backwards(step: Step, gates: torch.Tensor, sizes: list[int], first: States) -> tuple[torch.Tensor, States]:
    """The same from the end, where sequences come in."""
    outputs, offset, before = [], len(gates), sizes[-1]
    states = _part(first, 0, before)
    for size in reversed(sizes):
        if size > before:
            states = _joined([states, _part(first, before, size)])
        offset, before = offset - size, size
        states = step(gates.narrow(0, offset, size), states)
        outputs.append(states[0])
    return torch.cat(outputs[::-1], 0), states


def over_packed_steps(layer: Layer, sizes: list[int]) -> Layer:
    """A layer of packed sequences, of how many each step has, by a layer that takes a step at a time."""

    def packed(gates: torch.Tensor, states: Sequence[torch.Tensor], weight: Any, bias: Any, reverse: bool) -> States:
        def step(gates: torch.Tensor, before: States) -> States:
            return layer(gates.unsqueeze(0), before, weight, bias, False)[1:]

        output, last = (_backwards if reverse else _forwards)(step, gates, sizes, tuple(states))
        return output, *last

    return packed
