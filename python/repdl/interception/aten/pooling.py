# SPDX-License-Identifier: MIT
"""Pools, by the core."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.dtypes import map_tensors
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.strides import memory_format
from repdl.interception.variants import fill


def _windows(rank: int, kernel_size: Any, stride: Any, padding: Any) -> tuple[list[int], list[int], list[int]]:
    """A number for each dimension, where torch may have one for all; no stride stands for the kernel size."""
    sizes, paddings = (_each_of(rank, setting) for setting in (kernel_size, padding))
    return sizes, _each_of(rank, stride) if stride else sizes, paddings


def _each_of(rank: int, setting: Any) -> list[int]:
    numbers = [setting] if isinstance(setting, int) else list(setting)
    return numbers * rank if len(numbers) == 1 else numbers


def _checked_divisor(divisor: int | None) -> int:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    return divisor or 0


def _is_turned(x: torch.Tensor, rank: int) -> bool:
    """Whether images have their channels last. torch gives volumes with channels first in any case."""
    return rank == 2 and memory_format(x) == torch.channels_last


def _pool(op: str, x: torch.Tensor, rank: int, turned: bool, *args: Any, indices: torch.Tensor | None = None) -> Any:
    """An op over the last dimensions; `turned` where the channels before them are the last in memory."""
    channel = x.dim() - rank - 1
    tensors = [x] if indices is None else [x, indices]
    if not turned:
        return core.ops[op](*tensors, *args, -rank)
    results = core.ops[op](*(t.movedim(channel, -1) for t in tensors), *args, channel)
    return map_tensors(lambda t: t.movedim(-1, channel), results)


def _checked_sizes(name: str, self: torch.Tensor, sizes: Any, rank: int) -> list[int]:
    if len(sizes) != rank or self.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"[{name}] expects {rank} sizes and a tensor of {rank + 1} or {rank + 2} dimensions; "
            f"got sizes {list(sizes)} and shape {list(self.shape)}"
        )
    return list(sizes)


def _check_not_empty(name: str, sizes: torch.Size) -> None:
    """torch takes a batch of no images, but no images of no channels, rows or columns."""
    if 0 in sizes:
        raise RuntimeError(f"[{name}] input has a size of 0, of {list(sizes)}: only a batch may be empty")


def _average(rank: int) -> None:
    name = f"avg_pool{rank}d"

    @override(name, wide="float64", converts=False)
    def average_pool(
        self: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        _check_not_empty(name, self.shape[-rank - 1 :])
        windows = _windows(rank, kernel_size, stride, padding)
        settings = *windows, ceil_mode, count_include_pad, _checked_divisor(divisor_override)
        return _pool("avg_pool", self, rank, _is_turned(self, rank), *settings)

    @override(f"{name}_backward", wide="float64", converts=False)
    def average_pool_backward(
        grad_output: torch.Tensor,
        self: torch.Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Any:
        windows = _windows(rank, kernel_size, stride, padding)
        settings = *windows, ceil_mode, count_include_pad, _checked_divisor(divisor_override)
        return _pool("avg_pool_grad", grad_output, rank, _is_turned(self, rank), list(self.shape[-rank:]), *settings)


_average(2)
_average(3)


def _adaptive(rank: int) -> None:
    name = f"adaptive_avg_pool{rank}d"

    @override(f"_adaptive_avg_pool{rank}d", wide="float64")
    def adaptive_pool(self: torch.Tensor, output_size: Any) -> torch.Tensor:
        sizes = _checked_sizes(name, self, output_size, rank)
        return _pool("adaptive_avg_pool", self, rank, _is_turned(self, rank), sizes)

    @override(f"_adaptive_avg_pool{rank}d_backward", wide="float64")
    def adaptive_pool_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
        sizes = _checked_sizes(name, grad_output, self.shape[-rank:], rank)
        return _pool("adaptive_avg_pool_grad", grad_output, rank, _is_turned(self, rank), sizes)

    @override(f"adaptive_avg_pool{rank}d.out", **ANY_DTYPE)
    def adaptive_pool_out(self: torch.Tensor, output_size: Any, *, out: torch.Tensor) -> torch.Tensor:
        """Of torch's own kernel the form with `out` is another than the composite: it does not ask the dispatcher."""
        pool = getattr(torch.ops.aten, f"adaptive_avg_pool{rank}d")
        return fill(out, pool(self, output_size), converts=False)


_adaptive(2)
_adaptive(3)


def _back(rank: int, turned: bool, grad_output: torch.Tensor, self: torch.Tensor, indices: torch.Tensor) -> Any:
    """The gradient of a pool that gave places."""
    return _pool("max_pool_grad", grad_output, rank, turned, list(self.shape[-rank:]), indices=indices)


def _is_channels_last(x: torch.Tensor, rank: int) -> bool:
    """A volume without a batch, too, may have its channels last, if it has no gaps; an image without one does not."""
    if rank == 2:
        return _is_turned(x, rank)
    volume = x.unsqueeze(0) if x.dim() == 4 else x
    return not volume.is_contiguous() and volume.is_contiguous(memory_format=torch.channels_last_3d)


def _largest(rank: int) -> None:
    forward = f"max_pool{rank}d_with_indices"

    @override(forward, wide="float64")
    def max_pool(
        self: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        sizes = _checked_sizes(forward, self, _each_of(rank, kernel_size), rank)
        _check_not_empty(forward, self.shape[-rank - 1 :])
        if stride and 0 in _each_of(rank, stride):
            raise RuntimeError("stride should not be zero")
        settings = stride or 0, padding, dilation, ceil_mode
        return _pool("max_pool", self, rank, _is_channels_last(self, rank), sizes, *settings)

    @override(f"{forward}_backward", wide="float64", converts=False)
    def max_pool_backward(
        grad_output: torch.Tensor,
        self: torch.Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        indices: torch.Tensor,
    ) -> Any:
        turned = _is_channels_last(self, rank) and (
            self.dim() != 4 or rank == 2 or _is_channels_last(grad_output, rank)
        )
        return _back(rank, turned, grad_output, self, indices)

    adaptive = f"adaptive_max_pool{rank}d"

    @override(adaptive, wide="float64")
    def adaptive_max_pool(self: torch.Tensor, output_size: Any) -> Any:
        sizes = _checked_sizes(adaptive, self, output_size, rank)
        _check_not_empty(adaptive, self.shape[1:])
        return _pool("adaptive_max_pool", self, rank, _is_turned(self, rank), sizes)

    @override(f"{adaptive}_backward", wide="float64", converts=False)
    def adaptive_max_pool_backward(grad_output: torch.Tensor, self: torch.Tensor, indices: torch.Tensor) -> Any:
        return _back(rank, _is_turned(self, rank), grad_output, self, indices)

    @override(f"fractional_max_pool{rank}d_backward", wide="float64", converts=False)
    def fractional_max_pool_backward(
        grad_output: torch.Tensor, self: torch.Tensor, kernel_size: Any, output_size: Any, indices: torch.Tensor
    ) -> Any:
        return _back(rank, False, grad_output, self, indices)


_largest(2)
_largest(3)


@override("max_unpool2d", wide="float64", converts=False)
def max_unpool2d(self: torch.Tensor, indices: torch.Tensor, output_size: Any) -> Any:
    sizes = _checked_sizes("max_unpool2d", self, output_size, 2)
    return _pool("max_unpool", self, 2, _is_turned(self, 2), sizes, indices=indices)


@override("max_unpool3d", wide="float64", converts=False)
def max_unpool3d(self: torch.Tensor, indices: torch.Tensor, output_size: Any, stride: Any, padding: Any) -> Any:
    """The stride and the padding of the pool count no more, where its places are known."""
    sizes = _checked_sizes("max_unpool3d", self, output_size, 3)
    if len(stride) != 3 or len(padding) != 3 or min(stride) < 1:
        raise RuntimeError(f"[max_unpool3d] expects 3 strides from 1 on and 3 paddings; got {stride} and {padding}")
    return _pool("max_unpool", self, 3, False, sizes, indices=indices)
