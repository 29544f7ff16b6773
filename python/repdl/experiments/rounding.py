# SPDX-License-Identifier: MIT
"""The inputs of a call with fewer bits, as units for products of matrices take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from repdl.experiments.call import Call, Results
from repdl.experiments.variations import Again

_TF32 = 13
"""Bits of a float32 that TF32 leaves out."""


def _cut(x: torch.Tensor) -> torch.Tensor:
    return ((x.view(torch.int32) >> _TF32) << _TF32).view(torch.float32)


def _nearest(x: torch.Tensor) -> torch.Tensor:
    """Of two that are as near the even one."""
    bits = x.view(torch.int32)
    half = (1 << (_TF32 - 1)) - 1 + ((bits >> _TF32) & 1)
    return torch.where(x.isfinite(), _cut((bits + half).view(torch.float32)), x)


ROUNDINGS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "TF32": _nearest,
    "TF32 towards zero": _cut,
    "bfloat16": lambda x: x.bfloat16().float(),
    "float16": lambda x: x.half().float(),
}


def rounded(call: Call, whole: Results) -> Iterator[Again]:
    """With each rounding of its float32 tensors."""
    if call.written or not any(view.dtype is torch.float32 for view in call.views):
        return
    for name, change in ROUNDINGS.items():
        inputs = [change(x.contiguous()) if x.dtype is torch.float32 else x for x in call.tensors()]
        yield Again(name, whole, call.attempt(inputs))
