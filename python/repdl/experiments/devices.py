# SPDX-License-Identifier: MIT
"""Accelerators beside the CPU: whether there is one, and the states of the generators that a call draws from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

CPU = "cpu"

SEED = 0
"""With which random numbers begin where a call is made on two devices."""


def at_hand() -> str | None:
    """The device that calls can be made on beside the CPU; None if there is none."""
    return "cuda" if torch.cuda.is_available() else None


def generators(device: str) -> list[torch.Generator]:
    """Those of torch from which a call on a device may draw."""
    if device == CPU:
        return [torch.default_generator]
    index = torch.device(device).index
    return [
        torch.default_generator,
        torch.cuda.default_generators[torch.cuda.current_device() if index is None else index],
    ]


def states(device: str) -> list[torch.Tensor]:
    return [generator.get_state() for generator in generators(device)]


def seeded(device: str) -> list[torch.Tensor]:
    """The states after `torch.manual_seed`."""
    return [torch.Generator(x.device).manual_seed(SEED).get_state() for x in generators(device)]


@contextmanager
def drawing(device: str, begin: Sequence[torch.Tensor]) -> Iterator[None]:
    """In a block, generators that begin in given states; afterwards they are as they were."""
    before = states(device)
    _put(device, begin)
    try:
        yield
    finally:
        _put(device, before)


def _put(device: str, values: Sequence[torch.Tensor]) -> None:
    for generator, state in zip(generators(device), values, strict=True):
        generator.set_state(state)
