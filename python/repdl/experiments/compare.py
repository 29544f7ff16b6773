# SPDX-License-Identifier: MIT
"""Compares results bit by bit: every NaN is the same NaN, and zeros of other signs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch

INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


class First(NamedTuple):
    """The first number that differs: of which result, its index, and what it is in both."""

    result: int
    at: list[int]
    expected: str
    got: str


@dataclass(frozen=True)
class Difference:
    """How far two results are apart.

    elements: how many numbers differ, of so many (`of`). ulps: the largest distance, in steps from one number of the
    dtype to the next; 0 if only signs of zeros differ; None if a NaN stands against a number, or for what is no
    floating-point number. first: None if the results are not of one shape and dtype.
    """

    elements: int
    of: int
    ulps: int | None
    first: First | None = field(default=None, compare=False)

    def told(self, expected: str, got: str) -> str:
        """In words, of results that have these names; those of the first in the alphabet come first."""
        far = "" if self.ulps is None else f", by at most {self.ulps} ulp"
        far = ", in the signs of zeros alone" if self.ulps == 0 else far
        first = ""
        if self.first is not None:
            values = sorted([(expected, self.first.expected), (got, self.first.got)])
            each = " and ".join(f"{value} in {name}" for name, value in values)
            first = f", first {self.first.at} of output {self.first.result}, {each}"
        return f"{self.elements} of {self.of} numbers differ{far}{first}"

    def __str__(self) -> str:
        far = "no number" if self.ulps is None else f"{self.ulps if self.ulps < 1e6 else format(self.ulps, '.1e')} ulp"
        return f"{self.elements} of {self.of}, {far}"


@dataclass(frozen=True)
class Answer:
    """What came of making a call again: what differs, None if nothing does; or why it was refused.

    hashes: of the results as a record of a run has them, where they are asked for; None of what is no tensor.
    """

    difference: Difference | None = None
    refused: str | None = None
    hashes: list[str | None] = field(default_factory=list)

    @staticmethod
    def to(expected: Sequence[Any], got: Sequence[Any] | None, hashing: bool) -> Answer:
        if got is None:
            return Answer(refused="the op does not run here")
        return Answer(difference(expected, got), hashes=hashes(got) if hashing else [])

    @staticmethod
    def read(values: dict[str, Any]) -> Answer:
        """From JSON."""
        found = values.get("difference")
        if found is not None:
            first = found.pop("first")
            found = Difference(**found, first=first and First(*first))
        return Answer(found, values.get("refused"), values.get("hashes", []))


def hashes(results: Sequence[Any]) -> list[str | None]:
    from repdl import _content as content  # needs the libraries of an extra

    return [content.of(x).hex() if isinstance(x, torch.Tensor) else None for x in results]


def difference(expected: Sequence[Any], got: Sequence[Any]) -> Difference | None:
    """None if all results, tensors and others, are the same."""
    elements, of, ulps, known = 0, 0, 0, True
    first: First | None = None
    for number, (a, b) in enumerate(zip(expected, got, strict=True)):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            found = None if repr(a) == repr(b) else Difference(1, 1, None)
        elif a.shape != b.shape or a.dtype != b.dtype:
            found = Difference(max(a.numel(), b.numel()), max(a.numel(), b.numel()), None)
        else:
            found = _of_tensors(a, b)
        of += a.numel() if isinstance(a, torch.Tensor) else 1
        if found is not None:
            elements += found.elements
            known = known and found.ulps is not None
            ulps = max(ulps, found.ulps or 0)
            first = first or (found.first and found.first._replace(result=number))
    return Difference(elements, of, ulps if known else None, first) if elements else None


def bits(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """The numbers as integers of their width, in the order of the indices."""
    x = torch.view_as_real(x.detach()) if x.is_complex() else x.detach()
    x = x.cpu()
    return x.contiguous().reshape(-1).view(INTEGERS[x.element_size()]).numpy()


def _of_tensors(a: torch.Tensor, b: torch.Tensor) -> Difference | None:
    x, y = bits(a), bits(b)
    if np.array_equal(x, y):
        return None
    dtype = a.dtype.to_real() if a.is_complex() else a.dtype
    if dtype not in FLOATS:
        return Difference(int((x != y).sum()), a.numel(), None, _first(a, b, x != y))
    magnitude = np.array(np.iinfo(x.dtype).max, x.dtype)
    infinity = bits(torch.full((1,), float("inf"), dtype=dtype))
    nan_x, nan_y = (x & magnitude) > infinity, (y & magnitude) > infinity
    other = (x != y) & ~(nan_x & nan_y)
    if not other.any():
        return None
    found = Difference(int(other.sum()), a.numel(), None, _first(a, b, other))
    if (other & (nan_x | nan_y)).any():
        return found
    return replace(found, ulps=_distance(x[other], y[other], magnitude))


def _first(a: torch.Tensor, b: torch.Tensor, other: np.ndarray[Any, Any]) -> First:
    """other: which of the bits are; a complex number has two."""
    at = int(np.argmax(other)) // (2 if a.is_complex() else 1)
    index = tuple(int(i) for i in np.unravel_index(at, a.shape))
    return First(0, list(index), *(repr(x[index].item()) for x in (a, b)))


def _distance(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], magnitude: np.ndarray[Any, Any]) -> int:
    """The largest number of steps between numbers, which both zeros are the middle of."""
    x, y = (np.where(v < 0, -(v & magnitude), v).astype(np.int64) for v in (x, y))
    # Of float64 the difference may need all 64 bits.
    return int((np.maximum(x, y).view(np.uint64) - np.minimum(x, y).view(np.uint64)).max())
