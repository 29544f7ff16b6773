# SPDX-License-Identifier: MIT
"""Average pools, by the core; others whose kernels in torch see the layout or the threads; which NaN is the largest."""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten.indexing import write
from repdl.interception.native import Kernel, native_of
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.strides import memory_format
from repdl.interception.variants import fill


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


def _average(rank: int) -> None:
    @override(f"avg_pool{rank}d", wide="float64", converts=False)
    def average_pool(
        self: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> torch.Tensor:
        windows = _windows(rank, kernel_size, stride, padding)
        settings = *windows, ceil_mode, count_include_pad, _checked_divisor(divisor_override)
        if _is_turned(self, rank):
            turned: torch.Tensor = core.ops["avg_pool"](self.movedim(1, -1), *settings, 1)
            return turned.movedim(-1, 1)
        result: torch.Tensor = core.ops["avg_pool"](self, *settings, -rank)
        return result

    @override(f"avg_pool{rank}d_backward", wide="float64", converts=False)
    def average_pool_backward(
        grad_output: torch.Tensor,
        self: torch.Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> torch.Tensor:
        windows = _windows(rank, kernel_size, stride, padding)
        settings = *windows, ceil_mode, count_include_pad, _checked_divisor(divisor_override)
        sizes = list(self.shape[-rank:])
        if _is_turned(self, rank):
            turned: torch.Tensor = core.ops["avg_pool_grad"](grad_output.movedim(1, -1), sizes, *settings, 1)
            return turned.movedim(-1, 1)
        result: torch.Tensor = core.ops["avg_pool_grad"](grad_output, sizes, *settings, -rank)
        return result


_average(2)
_average(3)


def _adaptive(rank: int) -> None:
    def checked(self: torch.Tensor, output_size: Any) -> list[int]:
        if len(output_size) != rank or self.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"[adaptive_avg_pool{rank}d] expects {rank} sizes and a tensor of {rank + 1} or {rank + 2} dimensions; "
                f"got sizes {list(output_size)} and shape {list(self.shape)}"
            )
        return list(output_size)

    @override(f"_adaptive_avg_pool{rank}d", wide="float64")
    def adaptive_pool(self: torch.Tensor, output_size: Any) -> torch.Tensor:
        result: torch.Tensor
        sizes = checked(self, output_size)
        if _is_turned(self, rank):
            result = core.ops["adaptive_avg_pool"](self.movedim(1, -1), sizes, 1).movedim(-1, 1)
        else:
            result = core.ops["adaptive_avg_pool"](self, sizes, -rank)
        return result

    @override(f"_adaptive_avg_pool{rank}d_backward", wide="float64")
    def adaptive_pool_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor
        sizes = checked(grad_output, self.shape[-rank:])
        if _is_turned(self, rank):
            result = core.ops["adaptive_avg_pool_grad"](grad_output.movedim(1, -1), sizes, 1).movedim(-1, 1)
        else:
            result = core.ops["adaptive_avg_pool_grad"](grad_output, sizes, -rank)
        return result

    @override(f"adaptive_avg_pool{rank}d.out", **ANY_DTYPE)
    def adaptive_pool_out(self: torch.Tensor, output_size: Any, *, out: torch.Tensor) -> torch.Tensor:
        """Of torch's own kernel the form with `out` is another than the composite: it does not ask the dispatcher."""
        pool = getattr(torch.ops.aten, f"adaptive_avg_pool{rank}d")
        return fill(out, pool(self, output_size), converts=False)


_adaptive(2)
_adaptive(3)


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
