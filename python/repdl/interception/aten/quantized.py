# SPDX-License-Identifier: MIT
"""Quantised tensors: they are moved and read; whatever rounds to their steps raises."""

from __future__ import annotations

import torch

from repdl.interception.native import native_of
from repdl.interception.override import layout
from repdl.interception.strict import not_reproducible

_copy = native_of("copy_", "QuantizedCPU")


@layout("QuantizedCPU", "copy_")
def _(self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Of a tensor that is not quantised it would be a rounding."""
    if src.is_quantized:
        return _copy(self, src, non_blocking)
    return not_reproducible("copy_", (self, src, non_blocking), {}, _copy, "layout")
