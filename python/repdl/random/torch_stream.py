# SPDX-License-Identifier: MIT
"""The stream "torch".

It is what torch's CPU generator draws (mt19937, 24 random bits a float32), so that a program whose
published results began from `torch.manual_seed` keeps them. torch itself rounds the step from [0, 1) to [low, high)
once or twice, depending on the CPU; here it is always once (op `uniform`).
"""

from __future__ import annotations

import torch

from repdl import ops


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
    # Multiples of 2^-24, the same on every CPU.
    draws = torch.rand(tensor.shape, dtype=torch.float32, generator=generator)
    with torch.no_grad():
        return tensor.copy_(ops.uniform(draws, low, high))
