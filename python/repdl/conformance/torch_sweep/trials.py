# SPDX-License-Identifier: MIT
"""Which calls the sweep makes of an entry, from its samples: as they are, with hostile numbers, and large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from repdl.conformance.torch_sweep.hostile import KINDS, hostile
from repdl.conformance.torch_sweep.layouts import TOO_LARGE, large
from repdl.conformance.torch_sweep.samples import Sample, spread_evenly


@dataclass(frozen=True)
class Amount:
    """How many samples are taken as they are, and which kinds of hostile numbers: small, in one dimension, in rows."""

    plain: int
    small: tuple[str, ...] = KINDS
    flat: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


AMOUNTS = {
    "whole": Amount(3, flat=KINDS, rows=("sizes",)),
    "part": Amount(1, flat=("sizes",)),
    "slice": Amount(1, flat=("zeros", "sizes")),
}
"""part: in settings that lie between others. slice: for a test."""

SOME = Amount(2)
"""Of integers of which kernels differ from those of int64 in little."""


@dataclass(frozen=True)
class Trial:
    sample: Sample
    is_large: bool = False

    @property
    def label(self) -> str:
        return self.sample.label


def trials(name: str, samples: list[Sample], dtype: str, amount: Amount) -> Iterator[Trial]:
    """Those that find most come first, because the time may run out. Each kind takes another sample."""
    torch_dtype = getattr(torch, dtype)
    if dtype in ("int32", "int16", "int8", "uint8"):
        amount = SOME
    plain = spread_evenly(samples, amount.plain)
    yield from map(Trial, plain[:1])
    many = [sample for sample in samples if any(x.numel() >= 4 for x in sample.tensors())]
    chosen = spread_evenly(many, len(KINDS))
    for i, kind in enumerate(amount.small if chosen else ()):
        if (changed := hostile(chosen[i % len(chosen)], kind, torch_dtype)) is not None:
            yield Trial(changed)
    if not name.startswith(TOO_LARGE):
        for how, kinds in (("flat", amount.flat), ("rows", amount.rows)):
            yield from _large(many, how, kinds, torch_dtype)
    yield from map(Trial, plain[1:])


def _large(samples: list[Sample], how: str, kinds: tuple[str, ...], dtype: torch.dtype) -> Iterator[Trial]:
    grown = next((x for x in (large(s, how) for s in spread_evenly(samples, 12)) if x is not None), None)
    if grown is None or not kinds:
        return
    if not (dtype.is_floating_point or dtype.is_complex):
        yield Trial(grown, is_large=True)
    for kind in kinds:
        if (changed := hostile(grown, kind, dtype)) is not None:
            yield Trial(changed, is_large=True)
