# SPDX-License-Identifier: MIT
"""Operands of ops of the core, as torch would promote them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def alike(*operands: Any) -> Iterator[torch.Tensor]:
    """The operands in the type that torch gives the result of both; of integers, float32. Numbers are not low."""
    dtype = torch.result_type(*operands)
    if not dtype.is_floating_point and not dtype.is_complex:
        dtype = torch.float32
    wide = dtype if dtype.is_complex or dtype == torch.float64 else torch.float32
    for value in operands:
        yield value.to(dtype) if isinstance(value, torch.Tensor) else number_in(value, wide)


def number_in(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A number as a tensor of its own; a floating-point one beyond the type is an infinity, as torch has it."""
    return torch.full((), value, dtype=torch.float64 if isinstance(value, float) else dtype).to(dtype)
