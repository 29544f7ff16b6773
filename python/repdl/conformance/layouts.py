# SPDX-License-Identifier: MIT
"""The same numbers in memory otherwise: bits must depend neither on strides nor on alignment."""

from __future__ import annotations

from collections.abc import Callable

import torch

Layout = Callable[[torch.Tensor], torch.Tensor]


def is_dense(x: torch.Tensor) -> bool:
    return x.layout == torch.strided and not x.is_nested and not x.is_quantized


def packed(x: torch.Tensor) -> torch.Tensor:
    return x.detach().clone(memory_format=torch.contiguous_format) if is_dense(x) else x.detach().clone()


def transposed(x: torch.Tensor) -> torch.Tensor:
    return packed(x.transpose(-1, -2)).transpose(-1, -2) if x.dim() >= 2 else packed(x)


def reversed_axes(x: torch.Tensor) -> torch.Tensor:
    axes = list(range(x.dim()))[::-1]
    return packed(x.permute(axes)).permute(axes)


def stepped(x: torch.Tensor) -> torch.Tensor:
    """Every second element of a larger tensor."""
    if x.dim() == 0:
        return packed(x)
    wide = x.new_zeros(*x.shape[:-1], 2 * x.shape[-1])
    wide[..., ::2] = x
    return wide[..., ::2]


def misaligned(x: torch.Tensor) -> torch.Tensor:
    """One element behind the beginning of the memory."""
    line = x.new_zeros(x.numel() + 1)
    line[1:] = x.reshape(-1)
    return line[1:].view(x.shape)


def channels_last(x: torch.Tensor) -> torch.Tensor:
    if x.dim() in (4, 5):
        return packed(x).contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
    return packed(x)


LAYOUTS: dict[str, Layout] = {
    "transposed": transposed,
    "reversed": reversed_axes,
    "stepped": stepped,
    "misaligned": misaligned,
    "channels last": channels_last,
}
