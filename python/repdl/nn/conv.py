# SPDX-License-Identifier: MIT
"""Convolutions: torch's layers, with every padding mode, and the same bits everywhere."""

from __future__ import annotations

from typing import Any

import torch

from repdl.nn import functional as F


def _padded(layer: Any, input: torch.Tensor) -> tuple[torch.Tensor, Any]:
    """The input and the padding that is left. Padding moves numbers and computes none."""
    if layer.padding_mode == "zeros":
        return input, layer.padding
    return torch.nn.functional.pad(input, layer._reversed_padding_repeated_twice, mode=layer.padding_mode), 0


class Conv1d(torch.nn.Conv1d):
    """torch.nn.Conv1d with the same bits everywhere; every padding mode."""

    def _conv_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        input, padding = _padded(self, input)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d with the same bits everywhere; every padding mode."""

    def _conv_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        input, padding = _padded(self, input)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(torch.nn.Conv3d):
    """torch.nn.Conv3d with the same bits everywhere; every padding mode."""

    def _conv_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        input, padding = _padded(self, input)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


def _transposed(layer: Any, convolve: Any, input: torch.Tensor, output_size: list[int] | None) -> torch.Tensor:
    rank = len(layer.kernel_size)
    more = layer._output_padding(
        input, output_size, layer.stride, layer.padding, layer.kernel_size, rank, layer.dilation
    )
    return convolve(  # type: ignore[no-any-return]
        input, layer.weight, layer.bias, layer.stride, layer.padding, more, layer.groups, layer.dilation
    )


class ConvTranspose1d(torch.nn.ConvTranspose1d):
    """torch.nn.ConvTranspose1d with the same bits everywhere."""

    def forward(self, input: torch.Tensor, output_size: list[int] | None = None) -> torch.Tensor:
        return _transposed(self, F.conv_transpose1d, input, output_size)


class ConvTranspose2d(torch.nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d with the same bits everywhere."""

    def forward(self, input: torch.Tensor, output_size: list[int] | None = None) -> torch.Tensor:
        return _transposed(self, F.conv_transpose2d, input, output_size)


class ConvTranspose3d(torch.nn.ConvTranspose3d):
    """torch.nn.ConvTranspose3d with the same bits everywhere."""

    def forward(self, input: torch.Tensor, output_size: list[int] | None = None) -> torch.Tensor:
        return _transposed(self, F.conv_transpose3d, input, output_size)
