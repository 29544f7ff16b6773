# SPDX-License-Identifier: MIT
"""Which calls the sweep makes of an entry, from its samples: as they are, with hostile numbers, and large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch

from repdl.conformance.torch_sweep.hostile import KINDS, hostile
from repdl.conformance.torch_sweep.layouts import TOO_LARGE, large
from repdl.conformance.torch_sweep.samples import Sample, spread_evenly


@dataclass(frozen=True)
class Amount:
    """How many samples are taken as they are, with hostile numbers, and large."""

    plain: int
    hostile: int
    large: int


WHOLE, SHORT, SOME = Amount(5, 2, 1), Amount(1, 1, 1), Amount(2, 1, 0)


@dataclass(frozen=True)
class Trial:
    sample: Sample
    is_large: bool = False

    @property
    def label(self) -> str:
        return self.sample.label


def trials(name: str, samples: list[Sample], dtype: str, amount: Amount) -> Iterator[Trial]:
    torch_dtype = getattr(torch, dtype)
    if dtype in ("int32", "int16", "int8", "uint8"):  # of which kernels differ from those of int64 in little
        amount = SOME
    for sample in spread_evenly(samples, amount.plain):
        yield Trial(sample)
    many = [sample for sample in samples if any(x.numel() >= 4 for x in sample.tensors())]
    for sample in spread_evenly(many, amount.hostile):
        for kind in KINDS:
            if (changed := hostile(sample, kind, torch_dtype)) is not None:
                yield Trial(changed)
    if name.startswith(TOO_LARGE) or amount.large == 0:
        return
    ways: tuple[tuple[str, tuple[str, ...], int], ...]
    if amount is SHORT:
        ways = (("flat", ("zeros", "sizes"), 1),)
    else:
        ways = (("flat", KINDS, 1), ("rows", ("zeros", "sizes"), amount.large))
    for how, kinds, most in ways:
        for grown in islice(_grown(many, how), most):
            if not (torch_dtype.is_floating_point or torch_dtype.is_complex):
                yield Trial(grown, is_large=True)
            for kind in kinds:
                if (changed := hostile(grown, kind, torch_dtype)) is not None:
                    yield Trial(changed, is_large=True)


def _grown(samples: list[Sample], how: str) -> Iterator[Sample]:
    for sample in spread_evenly(samples, 12):
        if (grown := large(sample, how)) is not None:
            yield grown
