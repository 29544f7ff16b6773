# SPDX-License-Identifier: MIT
"""What a call is, and the families of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

Exact = Callable[..., np.ndarray]
"""A formula in long doubles, of the operands as long doubles."""


class Call(NamedTuple):
    name: str
    function: Callable[..., Any]
    operands: tuple[Tensor, ...]
    exact: Exact | None = None
    """Where there is none, float32 is compared with the same call of float64, and float64 is not measured."""
    after: Callable[..., np.ndarray] | None = None
    """Makes of the results, as long doubles, what is compared: the product of factors, for example."""


class Draw:
    """Numbers of a dtype from a fixed seed."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(16)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64).to(self.dtype)

    def between(self, low: float, high: float, *shape: int) -> Tensor:
        drawn = torch.rand(*shape, generator=self.generator, dtype=torch.float64)
        return (low + (high - low) * drawn).to(self.dtype)

    def wide(self, *shape: int, bits: float = 20) -> Tensor:
        """Normal numbers times powers of two with exponents up to `bits`, positive and negative."""
        return self.normal(*shape) * torch.exp2(self.between(-bits, bits, *shape).round())

    def cancelling(self, rows: int, length: int) -> Tensor:
        """Rows of `length` numbers, each of which is there with both signs, but for a small change of one."""
        half = self.normal(rows, length // 2)
        row = torch.cat([half, -half * (1 + 1e-3 * self.normal(rows, length // 2))], 1)
        return row[:, torch.randperm(length, generator=self.generator)]

    def places(self, size: int, *shape: int) -> Tensor:
        return torch.randint(size, shape, generator=self.generator)


Family = Callable[[Draw], Iterator[Call]]


class Entry(NamedTuple):
    calls: Family
    each: bool
    """Whether an error is in units of the last place of its own result, or of the largest one of the call."""


FAMILIES: dict[str, Entry] = {}


def family(name: str, each: bool = False) -> Callable[[Family], Family]:
    def enter(calls: Family) -> Family:
        FAMILIES[name] = Entry(calls, each)
        return calls

    return enter
