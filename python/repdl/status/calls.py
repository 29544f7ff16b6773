# SPDX-License-Identifier: MIT
"""Which calls are made of an op: torch's own samples, and larger ones, above the sizes from which kernels fork."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

import numpy as np
import torch

from repdl.conformance.layouts import is_dense
from repdl.conformance.torch_sweep.database import Entry
from repdl.conformance.torch_sweep.hostile import counted
from repdl.conformance.torch_sweep.layouts import LARGE, TOO_LARGE, large
from repdl.conformance.torch_sweep.samples import Sample, spread_evenly

LOOKED_AT = 40
"""So many samples of an op are made and chosen from."""

SIZES = {"S": 41, "M": 82, "L": 164}
"""In the place of the names by which torch's samples give most of their sizes: 5, 10 and 20."""

ELEMENTS = range(2_000, 4 * LARGE)
"""Of the largest tensor of a sample that is large by those names."""

MOST_GROWN = 3
"""Of them so many are kept."""

GROW = (*TOO_LARGE, "nn.functional.conv", "conv")
"""Names of ops begin so whose results or time grow faster than their operands."""

FEWER = 4_000
"""Elements of their tiled tensors."""

WANTED = {"tiled": 3, "rows": 2, "grown": 1, "": 1}
"""How many calls of each form are made; those that show most come first, because the time may run out. Some are none
that torch takes; then the next is tried."""

NO_TILES = ("nn.functional.embedding_bag", "segment_reduce", "_segment_reduce")
"""Names of ops begin so that have offsets or lengths, in an order that torch takes unchecked."""

MOST_TRIED = 6
"""Of each form."""


class Calls:
    """Of an op and dtype, by label: "3", a sample by its number; "3 tiled", with all sizes multiplied; "3 rows", with
    more rows; "3 grown", that of larger names of sizes. Every process makes the same."""

    def __init__(self, entry: Entry, dtype: str) -> None:
        self.name = entry.name
        self.plain = {sample.label: sample for sample in islice(entry.samples(dtype), LOOKED_AT)}
        self.grown: dict[str, Sample] = {}
        with _larger_names(), suppress(Exception):  # some samples have other sizes too, which do not fit
            for sample in islice(entry.samples(dtype), LOOKED_AT):
                if _most_elements(sample) in ELEMENTS:
                    self.grown[sample.label] = sample
                if len(self.grown) == MOST_GROWN:
                    break

    def labels(self, form: str) -> list[str]:
        """In the order in which they are tried."""
        if (form == "rows" and self.name.startswith(TOO_LARGE)) or (form == "tiled" and self.name.startswith(NO_TILES)):
            return []
        there = self.grown if form == "grown" else self.plain
        found = [sample for sample in there.values() if _most_elements(sample) > 1]
        if form == "" and not found:
            found = list(there.values())
        chosen = spread_evenly(found, MOST_TRIED)
        # The first and the last are the most different.
        return [f"{sample.label} {form}".rstrip() for sample in [*chosen[:1], *chosen[:0:-1]]]

    def make(self, label: str) -> Sample | None:
        number, _, form = label.partition(" ")
        if form == "grown":
            return replace(self.grown[number], label=label)
        sample = self.plain[number]
        if form == "tiled":
            return _tiled(sample, FEWER if self.name.startswith(GROW) else LARGE)
        return _more_rows(sample) if form else sample


def _most_elements(sample: Sample) -> int:
    return max((x.numel() for x in sample.tensors()), default=0)


@contextmanager
def _larger_names() -> Iterator[None]:
    """In this block torch's samples are larger, and those that are too large take no memory."""
    modules = [module for name, module in sys.modules.items() if name.startswith("torch.testing._internal")]
    changed = {"make_tensor": _bounded} | SIZES
    before = [(m, name, vars(m)[name]) for m in modules for name in changed if _is_name(vars(m).get(name))]
    try:
        for module, name, _ in before:
            setattr(module, name, changed[name])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _is_name(value: object) -> bool:
    return type(value) is int or value is torch.testing.make_tensor


def _bounded(*shape: Any, **options: Any) -> torch.Tensor:
    """As torch's, but of too many elements a single one."""
    sizes = shape[0] if shape and not isinstance(shape[0], int) else shape
    if math.prod(sizes) < ELEMENTS.stop:
        return torch.testing.make_tensor(*shape, **options)
    return torch.testing.make_tensor((), **options).expand(sizes)


def _tiled(sample: Sample, elements: int) -> Sample | None:
    """The call with every size above 1 multiplied, those in tuples too, and the numbers changed.

    wide: the shape that all have together where they broadcast.
    """
    tensors = sample.tensors()
    if not tensors or not all(is_dense(x) for x in tensors):
        return None
    wide = [max(sizes) for sizes in zip_longest(*(reversed(x.shape) for x in tensors), fillvalue=1)]
    times = min([*(_times(x.shape, elements) for x in tensors), _times(wide, 4 * elements)])
    if times < 2:
        return None
    shapes = {tuple(x.shape[i:]) for x in tensors for i in range(x.dim())}
    grown = iter([_repeated(x, times, i) for i, x in enumerate(tensors)])

    def grow(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return next(grown)
        if isinstance(leaf, (tuple, list)):
            if leaf and all(type(n) is int for n in leaf) and tuple(leaf) in shapes:
                return type(leaf)(n * times if n > 1 else n for n in leaf)
            return type(leaf)(map(grow, leaf)) if type(leaf) in (tuple, list) else leaf
        return {key: grow(value) for key, value in leaf.items()} if type(leaf) is dict else leaf

    args, kwargs = grow(sample.args), grow(sample.kwargs)
    return replace(sample, args=args, kwargs=kwargs, label=f"{sample.label} tiled")


def _times(shape: Sequence[int], elements: int) -> float:
    """By what each size may be multiplied."""
    axes = sum(size > 1 for size in shape)
    return math.ceil((elements / math.prod(shape)) ** (1 / axes)) if axes and math.prod(shape) else math.inf


def _repeated(x: torch.Tensor, times: float, seed: int) -> torch.Tensor:
    if x.dim() == 0 or x.numel() == 0:
        return x
    return _varied(x.repeat([int(times) if size > 1 else 1 for size in x.shape]), seed)


def _more_rows(sample: Sample) -> Sample | None:
    """The call with more rows. They are not alike: one would be like the mean of all, and no row by itself."""
    grown = large(sample, "rows")
    if grown is None:
        return None
    pairs = zip(sample.tensors(), grown.tensors(), strict=True)
    return grown.with_tensors([y if x.shape == y.shape else _varied(y, i) for i, (x, y) in enumerate(pairs)])


def _varied(x: torch.Tensor, seed: int) -> torch.Tensor:
    """Floating-point numbers times other factors between 1 and 2 in each place."""
    if not (x.is_floating_point() or x.is_complex()):
        return x
    factors = 1 + (counted(x.numel(), seed) % np.uint64(1 << 20)).astype(np.float64) / (1 << 20)
    wide = x.to(torch.complex128 if x.is_complex() else torch.float64)
    return (wide * torch.from_numpy(factors).reshape(x.shape)).to(x.dtype)
