# SPDX-License-Identifier: MIT
"""Hashes of tensors and modules."""

from __future__ import annotations

import hashlib

import torch


def get_hash(x: torch.Tensor | torch.nn.Module) -> str:
    """SHA-256, in hexadecimal, of the raw bytes of a tensor, or of each parameter of a module in turn.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(x, torch.Tensor):
        tensors = [x]
    elif isinstance(x, torch.nn.Module):
        tensors = list(x.parameters())
    else:
        raise TypeError(f"[get_hash] x must be a tensor or a module, got {type(x).__name__}")
    digest = hashlib.sha256()
    for tensor in tensors:
        # Row-major bytes of any dtype, NumPy's or not.
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def print_hash(x: torch.Tensor | torch.nn.Module) -> None:
    """Prints `get_hash(x)`."""
    print(get_hash(x))
