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
    """Numbers of a dtype from a fixed seed, the same ones on every machine."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.generator = np.random.default_rng(16)

    def of(self, array: np.ndarray) -> Tensor:
        """An array, rounded to the dtype."""
        array = np.ascontiguousarray(array)
        return torch.from_numpy(array.astype(np.float32 if self.dtype == torch.float32 else np.float64))

    def normal(self, *shape: int) -> Tensor:
        return self.of(self.generator.standard_normal(shape))

    def between(self, low: float, high: float, *shape: int) -> Tensor:
        return self.of(self.generator.uniform(low, high, shape))

    def wide(self, *shape: int) -> Tensor:
        """Normal numbers times powers of two from 2^-20 to 2^20."""
        return self.of(np.ldexp(self.generator.standard_normal(shape), self.generator.integers(-20, 21, shape)))

    def cancelling(self, rows: int, length: int) -> Tensor:
        """Rows of `length` numbers, each of which is there with both signs, but for a small change of one."""
        half = self.generator.standard_normal((rows, length // 2))
        change = 1 + 1e-3 * self.generator.standard_normal(half.shape)
        return self.of(self.generator.permutation(np.concatenate([half, -half * change], 1), axis=1))

    def places(self, size: int, *shape: int) -> Tensor:
        return torch.from_numpy(self.generator.integers(0, size, shape))


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
