# SPDX-License-Identifier: MIT
"""Generators of CUDA devices: their state is a seed and an offset, which torch keeps on the host.

They give the numbers that a generator on the CPU with the same seed gives: the n-th call takes the n-th number of 64
bits, n counted by the offset, which each call moves on by four as torch's smallest kernels do.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

_STEP = 4
"""torch's offsets are multiples of it."""

_KEPT, _AT_ONCE = 8, 1 << 16
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

_lock = threading.Lock()
_on_cpu: dict[int, tuple[torch.Generator, int]] = {}
"""By seed, a generator on the CPU and how many numbers it has drawn: the last few, of which one seldom begins anew."""

_draw: Any = torch.library.get_kernel("aten::random_.from", "CPU").call_boxed


def default_on(index: int) -> torch.Generator | None:
    """The default generator of a CUDA device; None where that of the CPU has its seed, and stands for it."""
    known = torch.cuda.default_generators
    if index >= len(known) or known[index].initial_seed() == torch.default_generator.initial_seed():
        return None
    return known[index]


def key_of(generator: torch.Generator) -> tuple[int, int] | None:
    """The key of the next call, which is counted; None for a generator on the CPU.

    Raises:
        NotImplementedError: for a generator of a device that is neither.
    """
    if generator.device.type == "cpu":
        return None
    if generator.device.type != "cuda":
        raise NotImplementedError(
            f"[philox_key] generator must be on the CPU or a CUDA device, got one on {generator.device}; use "
            "torch.Generator()"
        )
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + _STEP)
    return seed - (seed >> 63 << 64), _number(seed, offset // _STEP)


def _number(seed: int, n: int) -> int:
    """The n-th number of 64 bits of a generator on the CPU."""
    with _lock:
        generator, drawn = _on_cpu.pop(seed, (None, 0))
        if generator is None or drawn > n:
            generator, drawn = torch.Generator().manual_seed(seed), 0
        while drawn <= n:
            numbers = torch.empty(min(n + 1 - drawn, _AT_ONCE), dtype=torch.int64, device="cpu")
            _draw(_KEYS, numbers, -(2**63), None, generator=generator)
            drawn += len(numbers)
        _on_cpu[seed] = generator, drawn
        if len(_on_cpu) > _KEPT:
            del _on_cpu[next(iter(_on_cpu))]
        return numbers.numpy()[-1].item()  # type: ignore[no-any-return]
