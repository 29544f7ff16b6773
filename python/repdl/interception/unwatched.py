# SPDX-License-Identifier: MIT
"""Calls above autograd that may go straight to an op of the core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd import forward_ad

from repdl._torch import PLAIN

functorch = torch._C._functorch
_in_modes = torch._C._len_torch_dispatch_stack
_transform = functorch.peek_interpreter_stack
_is_tracing = torch._C._is_tracing
_records = torch.is_grad_enabled
_TRACERS = (torch._C._TorchDispatchModeKey.PROXY, torch._C._TorchDispatchModeKey.FAKE)


def transformed() -> bool:
    """Whether a transform, a tracer or gradients in forward mode follow the call, step by step."""
    return _transform() is not None or _is_tracing() or forward_ad._current_level >= 0


def in_vmap() -> bool:
    """Whether the call is one for all entries of a batch, of which a tensor may be a part or not."""
    return any(i.key() == functorch.TransformType.Vmap for i in functorch.get_interpreter_stack() or ())


def wrapped(value: Any) -> Iterator[torch.Tensor]:
    """A tensor, that which a transform has wrapped in it, and so on."""
    while isinstance(value, torch.Tensor):
        yield value
        value = functorch.get_unwrapped(value) if functorch.is_functorch_wrapped_tensor(value) else None


def has_numbers(tensor: torch.Tensor) -> bool:
    """Whether the program may go by what it holds: it is neither traced nor a part of a batch."""
    is_traced = any(torch._C._get_dispatch_mode(kind) is not None for kind in _TRACERS)
    return not is_traced and not any(map(functorch.is_batchedtensor, wrapped(tensor)))


def is_followed(*tensors: torch.Tensor) -> bool:
    """Whether a mode, a transform, a tracer or a subclass sees each step, so that none may go by the numbers."""
    return bool(_in_modes()) or transformed() or any(type(t) not in PLAIN for t in tensors)


def unwatched(*tensors: torch.Tensor | None) -> bool:
    """Whether these are plain tensors, and neither autograd nor a mode, a transform or a tracer wants to see the steps.

    A tensor may be a conjugated view, which an op refuses; not one whose memory holds the numbers with the other sign.
    """
    if _in_modes() or transformed():
        return False
    records = _records()
    for t in tensors:
        if t is not None and (type(t) not in PLAIN or (records and t.requires_grad) or t.is_neg()):
            return False
    return True
