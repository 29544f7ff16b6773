# SPDX-License-Identifier: MIT
"""Calls a sample in its forms: forward, with gradient, in place, into `out`; and takes digests of what it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from repdl.conformance.layouts import is_dense, packed, stepped
from repdl.conformance.torch_sweep.samples import Sample

SEED = 20


def _seed_otherwise(seed: int) -> torch.Generator:
    return torch.default_generator.manual_seed(seed + 1)


def _bytes(x: torch.Tensor) -> bytes:
    """The elements in row-major order, with every NaN as one."""
    x = x.detach().resolve_conj().resolve_neg().contiguous()
    if x._is_zerotensor():
        x = x.clone()
    if x.is_complex():
        x = torch.view_as_real(x)
    if x.is_floating_point():
        nan = x != x
        if bool(nan.any()):
            x = x.masked_fill(nan, float("nan"))
        if x.dtype not in (torch.float32, torch.float64, torch.float16):  # which NumPy does not have
            x = x.view(torch.int16 if x.element_size() == 2 else torch.uint8)
    data: bytes = np.ascontiguousarray(x.numpy()).tobytes()
    return data


def digest(values: Any) -> str:
    """Of the tensors and numbers in a result, with their dtypes and shapes; the sign of zero counts."""
    sha = hashlib.sha256()
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor):
            sha.update(f"{leaf.dtype} {tuple(leaf.shape) if not leaf.is_nested else 'nested'} {leaf.layout};".encode())
            for part in parts(leaf):
                sha.update(_bytes(part))
        elif isinstance(leaf, (float, complex)):
            sha.update(_bytes(torch.tensor(leaf, dtype=torch.complex128)))
        else:
            sha.update(f"{type(leaf).__name__} {leaf};".encode())
    return sha.hexdigest()[:20]


def parts(x: torch.Tensor) -> list[torch.Tensor]:
    """The dense tensors that a tensor is made of."""
    if x.is_nested:
        return list(x.unbind())
    if x.is_quantized:
        return [x.int_repr()]
    if x.layout == torch.sparse_coo:
        return [x._indices(), x._values()]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [x.crow_indices(), x.col_indices(), x.values()]
    if x.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [x.ccol_indices(), x.row_indices(), x.values()]
    if x.layout != torch.strided:
        return [x.to_dense()]
    return [x]


def fresh(sample: Sample) -> Sample:
    """With tensors that a call may change; their layout is that of the sample."""
    return sample.with_tensors([_copy(x) for x in sample.tensors()])


def _copy(x: torch.Tensor) -> torch.Tensor:
    """With the same strides and offset, which clone does not keep where they leave holes."""
    if not is_dense(x) or x.numel() == 0 or x.is_conj() or x.is_neg():
        return x.detach().clone()
    if x.is_contiguous() and x.storage_offset() == 0:
        return x.detach().clone()
    size = x.storage_offset() + sum((n - 1) * s for n, s in zip(x.shape, x.stride())) + 1
    memory = torch.as_strided(x.detach(), (size,), (1,), 0).clone()
    return memory.as_strided(x.shape, x.stride(), x.storage_offset())


def forward(sample: Sample, seed: int = SEED) -> Any:
    """The result, and the arguments that the call changed."""
    call = fresh(sample)
    torch.default_generator.manual_seed(seed)
    # Some of the database's functions seed by themselves, always alike.
    seeded = nullcontext() if seed == SEED else patch.object(torch, "manual_seed", _seed_otherwise)
    with torch.no_grad(), seeded:
        tensors = call.tensors()
        before = [x._version for x in tensors]
        result = call.function(*call.args, **call.kwargs)
        written = [x for x, version in zip(tensors, before) if x._version != version]
    return [result, *written] if written else result


def weights(x: torch.Tensor) -> torch.Tensor:
    """What arrives from behind in a backward pass: eighths of both signs."""
    numbers = (np.arange(x.numel()) % 7 - 3) / 8.0
    return torch.from_numpy(numbers * (1 + 0.5j) if x.is_complex() else numbers).to(x).reshape(x.shape)


def gradient(
    sample: Sample, weights_of: Callable[[torch.Tensor], torch.Tensor] = weights
) -> tuple[Any, list[torch.Tensor | None]] | None:
    """The result and the gradients of all floating-point tensors; None if there are none."""
    call = fresh(sample)
    leaves = [x for x in call.tensors() if x.is_floating_point() or x.is_complex()]
    for x in leaves:
        x.requires_grad_()
    if not leaves:
        return None
    torch.default_generator.manual_seed(SEED)
    result = call.function(*call.args, **call.kwargs)
    outputs = [
        x
        for x in tree_leaves(call.reduced(result))
        if isinstance(x, torch.Tensor) and x.requires_grad and (x.is_floating_point() or x.is_complex())
    ]
    if not outputs:
        return None
    behind = [weights_of(x) if is_dense(x) else torch.ones_like(x) for x in outputs]
    return result, list(torch.autograd.grad(outputs, leaves, behind, allow_unused=True))


def in_place(sample: Sample, function: Any) -> Any:
    call = fresh(sample)
    torch.default_generator.manual_seed(SEED)
    with torch.no_grad():
        return function(*call.args, **call.kwargs)


def into(sample: Sample, like: Any, spread: bool) -> Any:
    """Writes into tensors given as `out`, of the dtypes and shapes of an earlier result."""

    def target(x: torch.Tensor) -> torch.Tensor:
        return stepped(torch.zeros_like(packed(x))) if spread else torch.zeros_like(packed(x))

    out = target(like) if isinstance(like, torch.Tensor) else tuple(target(x) for x in like)
    call = fresh(sample)
    torch.default_generator.manual_seed(SEED)
    with torch.no_grad():
        call.function(*call.args, **call.kwargs, out=out)
    return out


def writes(sample: Sample) -> bool:
    """Whether the function changes its arguments, running statistics say."""
    call = fresh(sample)
    tensors = call.tensors()
    before = [x._version for x in tensors]
    torch.default_generator.manual_seed(SEED)
    with torch.no_grad():
        call.function(*call.args, **call.kwargs)
    return any(x._version != version for x, version in zip(tensors, before))
