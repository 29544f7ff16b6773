# SPDX-License-Identifier: MIT
"""Packed sequences on devices: the steps that torch makes of them on the CPU, an op each or of `recurrent_steps`.

Above autograd: gradients of parameters are added step by step, as those of torch's steps are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from repdl.interception.aten.recurrent_steps import Layer, States

_Step = Callable[[torch.Tensor, States], States]
"""From the input's part of the gates and the states: the states, of which the first is the output."""


def _part(states: States, begin: int, end: int) -> States:
    return tuple(state.narrow(0, begin, end - begin) for state in states)


def _joined(parts: Sequence[States]) -> States:
    return tuple(torch.cat(states, 0) for states in zip(*parts, strict=True))


def _forwards(step: _Step, gates: torch.Tensor, sizes: list[int], states: States) -> tuple[torch.Tensor, States]:
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


def _backwards(step: _Step, gates: torch.Tensor, sizes: list[int], first: States) -> tuple[torch.Tensor, States]:
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
