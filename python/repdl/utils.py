# SPDX-License-Identifier: MIT
"""Hashes of tensors and modules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch


def get_hash(x: torch.Tensor | torch.nn.Module) -> str:
    """SHA-256, in hexadecimal, of the raw bytes of a tensor, or of each parameter of a module in turn.

    Raises:
        TypeError: for anything else, and for tensors that are sparse, nested, without data or wrap others, as DTensors.
    """
    if isinstance(x, torch.Tensor):
        tensors = [x]
    elif isinstance(x, torch.nn.Module):
        tensors = list(x.parameters())
    else:
        raise TypeError(f"[get_hash] x must be a tensor or a module, got {type(x).__name__}")
    return hash_of_all(tensors)


def hash_of_all(tensors: Iterable[torch.Tensor]) -> str:
    """SHA-256, in hexadecimal, of the raw bytes of each tensor in turn."""
    digest = hashlib.sha256()
    for tensor in tensors:
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_meta:
            raise TypeError("[get_hash] x must be dense and hold data; convert it first, with .to_dense() say")
        if type(tensor).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl:
            raise TypeError(
                f"[get_hash] x must hold its data itself, got {type(tensor).__name__}, a tensor that wraps others; "
                "hash what it wraps: of a DTensor x.to_local(), this process' part, or x.full_tensor()"
            )
        # Row-major bytes of any dtype, NumPy's or not; of the numbers that a conjugate or negated view stands for.
        plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        digest.update(plain.reshape(-1).view(torch.uint8).numpy(force=True).data)
    return digest.hexdigest()


def print_hash(x: torch.Tensor | torch.nn.Module) -> None:
    """Prints `get_hash(x)`."""
    print(get_hash(x))
