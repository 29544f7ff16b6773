# SPDX-License-Identifier: MIT
"""Gradients of pools whose kernels in torch take the memory of the indices as it is, whatever its strides."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, override


def _with_packed_indices(name: str) -> None:
    native = native_of(name)

    @override(name, **ANY_DTYPE)
    def backward(grad_output: torch.Tensor, self: torch.Tensor, *settings: Any, indices: Any = None) -> torch.Tensor:
        """The indices come last, by place or by name."""
        *others, last = settings if indices is None else (*settings, indices)
        return native(grad_output, self, *others, last.contiguous())


for _name in ("adaptive_max_pool3d_backward", "fractional_max_pool2d_backward", "fractional_max_pool3d_backward"):
    _with_packed_indices(_name)
