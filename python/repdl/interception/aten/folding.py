# SPDX-License-Identifier: MIT
"""Gradients of what copies elements to several places, and `fold`: sums of the copies, by the core."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.override import override
from repdl.interception.strides import memory_format

_SUMS: dict[str, Any] = {"wide": "float64", "complex": True, "converts": False}


def _of_parts(compute: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Of complex numbers both parts are summed alike."""
    return torch.complex(compute(x.real), compute(x.imag)) if x.is_complex() else compute(x)


@override("col2im", **_SUMS)
def col2im(
    self: torch.Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> torch.Tensor:
    settings = kernel_size, stride, padding, dilation
    return _of_parts(lambda x: ops["fold"](x, output_size, *settings), self)


@override("unfold_backward", **_SUMS)
def unfold_backward(grad_in: torch.Tensor, input_sizes: Any, dim: int, size: int, step: int) -> torch.Tensor:
    if not input_sizes:  # a single number, of which there is one window
        return _of_parts(lambda x: ops["unfold_grad"](x.reshape(1, 1), 1, step), grad_in).reshape(())
    dim %= len(input_sizes)
    windows = grad_in.movedim(dim, -2)
    lead = windows.shape[:-2]
    lines = windows.reshape(math.prod(lead), *windows.shape[-2:])
    length = input_sizes[dim]
    sums = _of_parts(lambda x: ops["unfold_grad"](x, length, step), lines)
    return sums.reshape(*lead, length).movedim(-1, dim).contiguous()


def _padding(name: str, mode: str, rank: int) -> None:
    @override(f"{name}_pad{rank}d_backward", **_SUMS)
    def pad_backward(grad_output: torch.Tensor, self: torch.Tensor, padding: Any) -> torch.Tensor:
        """torch gives the padding of the last dimension first."""
        pads = [p for i in reversed(range(rank)) for p in padding[2 * i : 2 * i + 2]]
        channel = self.dim() - rank - 1
        if memory_format(self) == torch.contiguous_format:
            return _of_parts(lambda x: ops["pad_grad"](x, pads, mode, -rank), grad_output)
        turned = grad_output.movedim(channel, -1)
        return _of_parts(lambda x: ops["pad_grad"](x, pads, mode, channel), turned).movedim(-1, channel)


for _rank in (1, 2, 3):
    _padding("reflection", "reflect", _rank)
    _padding("replication", "replicate", _rank)
