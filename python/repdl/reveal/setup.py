# SPDX-License-Identifier: MIT
"""How an op is read: what is chosen of it, how its terms are put in and where their sum comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from repdl.reveal.probing import MOST_TERMS
from repdl.reveal.tree import Array

Ints: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Options:
    """What of an op is read; None for what the op takes by default.

    Attributes:
        n: the number of terms, if there is no shape; 64 by default.
        shape: the sizes of the call: those that errors name.
        dim: the dimension summed over, for ops along one; the last by default.
        element: the element of the result.
        every: read only the first of each so many terms, the others being 0. Quicker for a long sum.
        sum: which sum, of an op that has several.
    """

    n: int | None = None
    shape: Ints | None = None
    dim: int | None = None
    element: Ints | None = None
    every: int = 1
    sum: str | None = None

    def __post_init__(self) -> None:
        if self.n is not None and self.shape is not None:
            raise ValueError("[reveal] n and shape both say how many terms there are: give one of them")
        for name in ("n", "every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"[reveal] {name} must be at least 1, got {value}")
        if self.terms > MOST_TERMS * self.every:
            raise ValueError(f"[reveal] n must be at most {MOST_TERMS}, or that times every, got {self.n}")

    @property
    def terms(self) -> int:
        """How many, if there is no shape."""
        return 64 if self.n is None else self.n

    def shape_or(self, default: Ints, names: str) -> Ints:
        shape = default if self.shape is None else self.shape
        if len(shape) != len(default) or min(shape) < 1:
            raise ValueError(f"[reveal] shape must be {names}, each at least 1; got {shape}")
        return shape

    def element_of(self, shape: Ints, default: Ints | None = None) -> Ints:
        """The element of the result that is read."""
        element = self.element if self.element is not None else default or (0,) * len(shape)
        if len(element) != len(shape) or not all(0 <= i < size for i, size in zip(element, shape)):
            raise ValueError(f"[reveal] element must be one of a result of shape {shape}, got {element}")
        return element


@dataclass(frozen=True)
class Setup:
    """A call whose result has the sum of n terms somewhere."""

    what: str
    """Which sum, in words."""
    slot: Array
    """A view into an operand, where the terms go in row-major order."""
    run: Callable[[], Any]
    """Calls the op on the operands and returns the sum."""
    factors: Array | None = None
    """What the terms are multiplied by: a view as large as `slot`, set to powers of two that are not all equal, so that
    a way of computing that needs more than the products shows."""
    put: Callable[[Array], Array] | None = None
    """What goes into the slot for these terms, if the op makes something else of it than products with factors."""
    every: int = 1
    """Of so many terms only the first counts; the others are 0."""
    exact: bool = True
    positive: bool = False
    """The terms cannot be negative."""

    def __post_init__(self) -> None:
        if self.factors is not None:
            self.factors[...] = np.random.default_rng(0).choice([0.5, 1, 2], self.factors.shape)

    @property
    def n(self) -> int:
        return -(-self.slot.size // self.every)

    def __call__(self, rows: Array) -> Array:
        terms = np.zeros(self.slot.size, np.float32)
        shaped = terms.reshape(self.slot.shape)
        sums = np.empty(len(rows))
        for k, row in enumerate(rows):
            terms[:: self.every] = row
            if self.put is not None:
                self.slot[...] = self.put(shaped)
            else:
                self.slot[...] = shaped if self.factors is None else shaped / self.factors
            sums[k] = self.run()
        return sums


Make: TypeAlias = Callable[[Callable[..., Any], Options, str], Setup]
"""From the op, what is chosen of it, and its name in words."""


@dataclass(frozen=True)
class Adapter:
    make: Make
    takes: tuple[str, ...]
    """Of the options that not every op has: those that say something of this one."""

    def check(self, op: str, options: Options) -> None:
        for name in ("shape", "dim", "element", "sum"):
            if getattr(options, name) is not None and name not in self.takes:
                others = ", ".join(("n", "every", *self.takes))
                raise ValueError(f"[reveal] {op} takes no {name}: leave it out. What can be chosen of it is {others}")


def takes(*options: str) -> Callable[[Make], Adapter]:
    return lambda make: Adapter(make, options)


def ones(*shape: int) -> Array:
    """Aligned as torch aligns: where an operand begins may show in another library's order."""
    memory = np.empty(4 * math.prod(shape) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array: Array = memory[start : start + 4 * math.prod(shape)].view(np.float32).reshape(shape)
    array[...] = 1
    return array


def logarithms(terms: Array) -> Array:
    """For terms that go through exp."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(terms), -1e4))
