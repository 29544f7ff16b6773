# SPDX-License-Identifier: MIT
"""Operands of ops of the core, as torch would promote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import torch


def alike(*operands: Any) -> Iterator[torch.Tensor]:
    """The operands in the type that torch gives the result of both; of integers, float32. Numbers are not low."""
    dtype = torch.result_type(*operands)
    if not dtype.is_floating_point and not dtype.is_complex:
        dtype = torch.float32
    wide = dtype if dtype.is_complex or dtype == torch.float64 else torch.float32
    for value in operands:
        yield in_type(value, dtype if isinstance(value, torch.Tensor) else wide)


def of_common_type(*tensors: torch.Tensor) -> Iterable[torch.Tensor]:
    """The tensors in the type that torch gives the result of all: single numbers count where their kind is above."""
    if len({t.dtype for t in tensors}) == 1:
        return tensors
    kinds = [[t.dtype for t in tensors if bool(t.dim()) is is_single] for is_single in (True, False)]
    of_each = [reduce(torch.promote_types, dtypes) for dtypes in kinds if dtypes]
    examples = [torch.empty((1,) * (not i and len(of_each) > 1), dtype=dtype) for i, dtype in enumerate(of_each)]
    dtype = torch.result_type(*examples) if len(examples) > 1 else of_each[0]
    return [t.to(dtype) for t in tensors]


def in_type(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor, or a number as one of its own, in a type; a number beyond it becomes what torch makes of it there."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    of_number = {bool: torch.int64, int: torch.int64, float: torch.float64}.get(type(value), dtype)
    return torch.full((), value, dtype=of_number, device="cpu").to(dtype)
