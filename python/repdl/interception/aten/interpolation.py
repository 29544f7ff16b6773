# SPDX-License-Identifier: MIT
"""Resizing by interpolation: `resample` of the core, whose result has the layout of the operand."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.native import Kernel, native_of
from repdl.interception.override import override
from repdl.interception.strides import memory_format


def _resized(op: str, x: torch.Tensor, sizes: Any, filter: tuple[Any, ...], factors: tuple[Any, ...]) -> torch.Tensor:
    """Sizes and factors are of the dimensions behind the second. torch leaves out the last factors that are None."""
    rank = len(sizes)
    if x.dim() != rank + 2:
        raise RuntimeError(f"[{op}] expected a tensor of {rank + 2} dimensions, got one of shape {list(x.shape)}")
    factors = (*[None] * (3 - rank), *factors, *[None] * (rank - len(factors)))
    if memory_format(x) == torch.contiguous_format:
        return core.ops[op](x, sizes, *filter, *factors, 2)
    return core.ops[op](x.movedim(1, -1), sizes, *filter, *factors, 1).movedim(-1, 1)


def _define(name: str, mode: str, antialias: bool = False) -> None:
    @override(name, wide="float64")
    def upsample(self: torch.Tensor, output_size: Any, align_corners: bool, *factors: Any) -> torch.Tensor:
        return _resized("resample", self, output_size, (mode, antialias, align_corners), factors)

    @override(name + "_backward", wide="float64")
    def upsample_backward(
        grad_output: torch.Tensor, output_size: Any, input_size: Any, align_corners: bool, *factors: Any
    ) -> torch.Tensor:
        return _resized("resample_grad", grad_output, input_size[2:], (mode, antialias, align_corners), factors)


_define("upsample_linear1d", "linear")
_define("upsample_bilinear2d", "linear")
_define("upsample_trilinear3d", "linear")
_define("upsample_bicubic2d", "cubic")
_define("_upsample_bilinear2d_aa", "linear", antialias=True)
_define("_upsample_bicubic2d_aa", "cubic", antialias=True)
_define("_upsample_lanczos2d_aa", "lanczos", antialias=True)


def _define_nearest(name: str, mode: str) -> None:
    native: Kernel = native_of(name)

    @override(name, wide="float64", integers="compute", converts=False)
    def upsample(self: torch.Tensor, output_size: Any, *factors: Any) -> torch.Tensor:
        """torch's own places depend on the layout where a factor is not the quotient of the sizes."""
        if self.is_floating_point():
            return _resized("resample", self, output_size, (mode, False, False), factors)
        if self.dtype != torch.uint8:
            return native(self, output_size, *factors)  # which says what it takes
        wide = _resized("resample", self.to(torch.float32), output_size, (mode, False, False), factors)
        return wide.to(torch.uint8)

    @override(name + "_backward", wide="float64", converts=False)
    def upsample_backward(grad_output: torch.Tensor, output_size: Any, input_size: Any, *factors: Any) -> torch.Tensor:
        return _resized("resample_grad", grad_output, input_size[2:], (mode, False, False), factors)


for _rank in (1, 2, 3):
    _define_nearest(f"upsample_nearest{_rank}d", "nearest")
    _define_nearest(f"_upsample_nearest_exact{_rank}d", "nearest-exact")
