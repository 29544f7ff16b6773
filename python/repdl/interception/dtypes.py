# SPDX-License-Identifier: MIT
"""What a call's tensors are, as bits, and torch's rules of promotion for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch

# What a call's tensors are, as bits.
FLOAT32, LOW, FLOAT64, OTHER, COMPLEX = 1, 2, 4, 8, 16
WIDE = FLOAT64 | COMPLEX
KINDS = {
    torch.float32: FLOAT32,
    torch.bfloat16: LOW,
    torch.float16: LOW,
    torch.float64: FLOAT64,
    torch.complex32: COMPLEX,
    torch.complex64: COMPLEX,
    torch.complex128: COMPLEX,
}

FLOATING = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
"""Of the tensors that ops of the core take, as they are or widened."""

_NO_TENSORS = frozenset({bool, int, float, str, type(None)})


def has_complex(values: Any) -> bool:
    for value in values:  # noqa: SIM110 - any() takes longer, and this is in the way of every product
        if value.is_complex() if isinstance(value, torch.Tensor) else type(value) is complex:
            return True
    return False


def is_complex_half(values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) and value.dtype == torch.complex32 for value in values)


def kinds_of(values: Any) -> int:
    kinds = 0
    for value in values:
        kind = type(value)
        if kind in _NO_TENSORS:  # sooner told than by isinstance, and this is in the way of every kernel in Python
            continue
        if kind is torch.Tensor or isinstance(value, torch.Tensor):
            kinds |= KINDS.get(value.dtype, OTHER)
        elif kind is list or kind is tuple:
            for item in value:
                if isinstance(item, torch.Tensor):
                    kinds |= KINDS.get(item.dtype, OTHER)
    return kinds


def to_floating(value: Any) -> Any:
    return value.to(torch.get_default_dtype()) if isinstance(value, torch.Tensor) else value


def to_float64(value: Any) -> Any:
    return value.to(torch.float64) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def floating_type(values: Any) -> torch.dtype:
    """The floating-point type of a result, by torch's rule: single numbers count only among themselves."""
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    wide = [v for v in tensors if v.dim() > 0] or tensors
    return reduce(torch.promote_types, (v.dtype for v in wide))


def narrowed(args: tuple[Any, ...]) -> list[Any] | None:
    """Arguments whose only wide tensors are single numbers beside a narrower tensor: torch gives them its type."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    wide = [t for t in tensors if KINDS.get(t.dtype, 0) & WIDE]
    if any(t.dim() > 0 or t.is_complex() for t in wide) or not any(t.is_floating_point() and t.dim() for t in tensors):
        return None
    dtype = floating_type(tensors)
    return [a.to(dtype) if isinstance(a, torch.Tensor) and KINDS.get(a.dtype, 0) & WIDE else a for a in args]


def widen(value: Any) -> Any:
    is_low = isinstance(value, torch.Tensor) and KINDS.get(value.dtype) == LOW
    return value.to(torch.float32) if is_low else value


def map_tensors(change: Callable[[torch.Tensor], Any], value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(change, item) for item in value)
    return value
