# SPDX-License-Identifier: MIT
"""Operands of ops of the core, as torch would promote them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import torch


def alike(*operands: Any) -> list[torch.Tensor]:
    """The operands in the type that torch gives the result of both; of integers, float32. Numbers are not low."""
    dtype = torch.result_type(*operands)
    if not dtype.is_floating_point and not dtype.is_complex:
        dtype = torch.float32
    wide = dtype if dtype.is_complex or dtype == torch.float64 else torch.float32
    return in_type(dtype, *operands, of_numbers=wide)


def of_common_type(*tensors: torch.Tensor) -> Iterable[torch.Tensor]:
    """The tensors in the type that torch gives the result of all: single numbers count where their kind is above."""
    if len({t.dtype for t in tensors}) == 1:
        return tensors
    kinds = [[t.dtype for t in tensors if bool(t.dim()) is is_single] for is_single in (True, False)]
    of_each = [reduce(torch.promote_types, dtypes) for dtypes in kinds if dtypes]
    examples = [torch.empty((1,) * (not i and len(of_each) > 1), dtype=dtype) for i, dtype in enumerate(of_each)]
    dtype = torch.result_type(*examples) if len(examples) > 1 else of_each[0]
    return [t.to(dtype) for t in tensors]


def check_factors(dtype: torch.dtype, **factors: Any) -> None:
    """Refuses complex numbers by which a call scales real tensors: they would give a result of another type."""
    for name, factor in factors.items():
        if isinstance(factor, complex) and not dtype.is_complex:
            raise RuntimeError(f"{name} must be real for tensors of {dtype}, got {factor}; give complex tensors")


def in_type(dtype: torch.dtype, *values: Any, of_numbers: torch.dtype | None = None) -> list[torch.Tensor]:
    """Tensors in a type, and numbers as tensors beside them: what is beyond the type becomes what torch makes of it."""
    device = next((value.device for value in values if isinstance(value, torch.Tensor)), torch.device("cpu"))

    def of_number(value: Any) -> torch.Tensor:
        widest = {bool: torch.int64, int: torch.int64, float: torch.float64}.get(type(value), dtype)
        return torch.full((), value, dtype=widest, device=device).to(of_numbers or dtype)

    return [value.to(dtype) if isinstance(value, torch.Tensor) else of_number(value) for value in values]
