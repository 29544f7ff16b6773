# SPDX-License-Identifier: MIT
"""The settings of a process on which bits may depend, so that another process, or another moment, can have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from repdl import _core, _order
from repdl.interception import choices, strict, switch


@dataclass(frozen=True)
class State:
    """threads: torch's. own_threads: this library's. flushes: subnormal numbers to zero. enabled: by what
    `repdl.enable` is in force, level, order and random numbers; None if it is not."""

    threads: int
    own_threads: int
    deterministic: bool
    precision: str
    onednn: bool
    flushes: bool
    enabled: tuple[str, str, str] | None

    @staticmethod
    def now() -> State:
        enabled = (strict.level(), _order.get_order(), switch.rng_in_force()) if switch.is_enabled() else None
        return State(
            torch.get_num_threads(),
            _core.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
            choices.float32_precision(),
            torch._C._get_mkldnn_enabled(),
            torch.full((1,), 1e-40, dtype=torch.float32).mul(1.0).item() == 0.0,
            enabled,
        )

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """In a process that is not enabled: a worker."""
        torch.set_num_threads(self.threads)
        _core.set_num_threads(self.own_threads)
        choices.set_float32_precision(self.precision)
        torch.set_flush_denormal(self.flushes)
        with choices.DETERMINISTIC.made(self.deterministic):
            if self.enabled is None:
                torch._C._set_mkldnn_enabled(self.onednn)
                yield
                return
            with switch.reproducible(*self.enabled):
                yield


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Of torch and of this library."""
    before = torch.get_num_threads(), _core.get_num_threads()
    torch.set_num_threads(count)
    _core.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        _core.set_num_threads(before[1])
