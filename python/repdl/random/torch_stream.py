# SPDX-License-Identifier: MIT
"""The stream "torch".

It is what torch's CPU generator draws (mt19937, 24 random bits a float32), so that a program whose
published results began from `torch.manual_seed` keeps them. torch itself rounds the step from [0, 1) to [low, high)
once or twice, depending on the CPU; here it is always once (op `uniform`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from repdl import ops

STREAMS = ("torch",)

_lock = threading.Lock()
_depth = 0
_overrides: torch.library.Library | None = None


def uniform_(
    tensor: torch.Tensor, low: float = 0.0, high: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a float32 CPU tensor with numbers in [low, high) from torch's generator, in place.

    The draws, and so the state of the generator afterwards, are those of `tensor.uniform_(low, high)`.

    Raises:
        TypeError: for another dtype.
        NotImplementedError: for another device.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"[uniform_] tensor must be a torch tensor, got {type(tensor).__name__}")
    if tensor.dtype != torch.float32:
        raise TypeError(f"[uniform_] tensor must be float32, got {tensor.dtype}")
    if tensor.device.type != "cpu":
        raise NotImplementedError(
            f"[uniform_] tensor must be on the CPU, got {tensor.device}; fill it there and move it"
        )
    draws = torch.rand(tensor.shape, generator=generator)  # multiples of 2^-24, the same on every CPU
    with torch.no_grad():
        return tensor.copy_(ops.uniform(draws, low, high))


@contextmanager
def stream(name: str) -> Iterator[None]:
    """`with repdl.random.stream("torch"):` random float32 tensors on the CPU have the same bits on every machine.

    It covers `uniform_` and all that is built on it, as the initial weights of torch's layers are. It acts on the
    whole process, and nests.

    Raises:
        ValueError: for a name that is not in STREAMS.
    """
    if name not in STREAMS:
        raise ValueError(f"[stream] name must be one of {STREAMS}, got {name!r}")
    from repdl.interception import switch

    global _depth, _overrides
    with _lock:
        _depth += 1
        if _depth == 1:
            _override_uniform()
            switch.over_all.append(_override_uniform)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                switch.over_all.remove(_override_uniform)
                _overrides = None


def _override_uniform() -> None:
    from repdl.interception.aten.random import draw_uniform
    from repdl.interception.registration import register

    global _overrides
    _overrides = register({"CPU": {"uniform_": draw_uniform}})
