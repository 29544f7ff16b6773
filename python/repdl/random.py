# SPDX-License-Identifier: MIT
"""Random numbers with the same bits on every machine.

The stream "torch" is what torch's CPU generator draws (mt19937, 24 random bits a float32), so that a program whose
published results began from `torch.manual_seed` keeps them. torch itself rounds the step from [0, 1) to [low, high)
once or twice, depending on the CPU; here it is always once (op `uniform`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
    global _depth, _overrides
    with _lock:
        _depth += 1
        if _overrides is None:
            _overrides = _override_uniform()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _overrides = None


def _override_uniform() -> torch.library.Library:
    native = torch.library.get_kernel("aten::uniform_", "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def uniform(self: torch.Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> torch.Tensor:
        if self.dtype != torch.float32:
            return native.call_boxed(keys, self, low, high, generator=generator)  # type: ignore[no-any-return]
        # In place at unit scale, where torch rounds nothing; then moved by our own op.
        draws = native.call_boxed(keys, torch.empty_like(self), 0.0, 1.0, generator=generator)
        return self.copy_(ops.uniform.kernel(draws, low, high))

    library = torch.library.Library("aten", "IMPL")
    with _without_override_warning():
        library.impl("uniform_", uniform, "CPU")
    return library


@contextmanager
def _without_override_warning() -> Iterator[None]:
    """torch warns once a process that a kernel is replaced; here it is asked for."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel.*")
        yield
