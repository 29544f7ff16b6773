# SPDX-License-Identifier: MIT
"""Pools whose kernels in torch see the layout or the threads; and which NaN is the largest."""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception.aten.indexing import write
from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, Kernel, override


def _with_packed_indices(name: str) -> None:
    native = native_of(name)

    @override(name, **ANY_DTYPE)
    def backward(grad_output: torch.Tensor, self: torch.Tensor, *settings: Any, indices: Any = None) -> torch.Tensor:
        """The indices come last, by place or by name."""
        *others, last = settings if indices is None else (*settings, indices)
        return native(grad_output, self, *others, last.contiguous())


for _name in ("adaptive_max_pool3d_backward", "fractional_max_pool2d_backward", "fractional_max_pool3d_backward"):
    _with_packed_indices(_name)


def _unpool(name: str, rank: int) -> None:
    native: Kernel = native_of(name)

    @override(name, **ANY_DTYPE)
    def unpool(self: torch.Tensor, indices: torch.Tensor, *settings: Any) -> torch.Tensor:
        """Of several elements with one index the last stays. torch's threads race for it."""
        result: torch.Tensor = native(self, indices, *settings)
        planes = indices.reshape(-1, math.prod(indices.shape[-rank:]))
        places = planes + torch.arange(len(planes))[:, None] * math.prod(result.shape[-rank:])
        return write(result, places.reshape(-1), self.reshape(-1), accumulate=False)


_unpool("max_unpool2d", 2)
_unpool("max_unpool3d", 3)


_native_average = native_of("avg_pool2d")


def _counts(size: int, outputs: int, kernel: int, stride: int, padding: int, with_padding: bool) -> torch.Tensor:
    """Of each window along a dimension, the places that its mean counts."""
    first = torch.arange(outputs) * stride - padding
    end = (first + kernel).clamp_max(size + padding)
    counts = end - first if with_padding else end.clamp_max(size) - first.clamp_min(0)
    return counts.clamp_min(1)


def _pair(setting: Any) -> tuple[int, int]:
    values = (setting, setting) if isinstance(setting, int) else tuple(setting)
    return (values[0], values[-1])


@override("avg_pool2d", wide="compute", converts=False)
def average_pool(
    self: torch.Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> torch.Tensor:
    """The sum of a window, divided once. In images that lie in rows, torch adds the quotient to +0: -0 is lost."""
    settings = kernel_size, stride, padding, ceil_mode, count_include_pad
    if divisor_override == 0:
        return _native_average(self, *settings, divisor_override)  # which says so
    sums: torch.Tensor = _native_average(self, *settings, 1)
    if divisor_override is not None:
        return sums / divisor_override
    kernels, paddings = _pair(kernel_size), _pair(padding)
    strides = kernels if stride is None or stride == [] or stride == () else _pair(stride)
    high, wide = (
        _counts(self.shape[d], sums.shape[d], kernels[d], strides[d], paddings[d], count_include_pad) for d in (-2, -1)
    )
    return sums / (high[:, None] * wide).to(sums.dtype)


def _with_first_nan(name: str) -> None:
    native: Kernel = native_of(name)

    @override(name, **ANY_DTYPE)
    def largest(self: torch.Tensor, *settings: Any, **named: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """The largest of each window, the first of equals. Of several NaN, too, it is the first; in torch the last."""
        values, places = native(self, *settings, **named)
        found = values.isnan()
        if bool(found.any()):
            _, first = native(self.isnan().to(torch.float32), *settings, **named)
            places = torch.where(found, first, places)
        return values, places


for _name in ("max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d"):
    _with_first_nan(_name)
