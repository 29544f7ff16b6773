# SPDX-License-Identifier: MIT
"""Sums in the order of the index, by torch's own kernels of float32 and float64; cumulative ones by the core.

In low precision torch's kernels round more than once; and in gradients of nearest neighbours they call, on a CPU with
SVE of 256 bits, a function that was compiled for 128. Here bfloat16 and float16 are widened, and results rounded once.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.aten.complex_numbers import running_product
from repdl.interception.aten.reduction import checked_dim
from repdl.interception.core import ops
from repdl.interception.native import LOW_DTYPES, Kernel, native_of
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.strides import memory_format
from repdl.interception.variants import fill

_WIDENED = """
    _adaptive_avg_pool3d _adaptive_avg_pool3d_backward
    _segment_reduce_backward _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward
    _upsample_nearest_exact3d_backward col2im segment_reduce
    upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward
"""
_STRUCTURED = ("upsample_", "_upsample_")
for _name in _WIDENED.split():
    override(_name, wide="native", converts=not _name.startswith(_STRUCTURED))(native_of(_name))


_native_pool, _native_pool_gradient = native_of("_adaptive_avg_pool2d"), native_of("_adaptive_avg_pool2d_backward")


@override("_adaptive_avg_pool2d", wide="compute")
def adaptive_avg_pool2d(self: torch.Tensor, output_size: Any) -> torch.Tensor:
    """A sum over the height over the width, as torch divides it for images that lie in rows."""
    return _native_pool(self.contiguous(), output_size).contiguous(memory_format=memory_format(self))


@override("_adaptive_avg_pool2d_backward", wide="compute")
def adaptive_avg_pool2d_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    grad = _native_pool_gradient(grad_output.contiguous(), self.contiguous())
    return grad.contiguous(memory_format=memory_format(self))


@override("adaptive_avg_pool2d.out", "adaptive_avg_pool3d.out", **ANY_DTYPE)
def adaptive_avg_pool_out(self: torch.Tensor, output_size: Any, *, out: torch.Tensor) -> torch.Tensor:
    """Of torch's own kernel the form with `out` is another than the composite: it does not ask the dispatcher."""
    pool = torch.ops.aten.adaptive_avg_pool2d if len(output_size) == 2 else torch.ops.aten.adaptive_avg_pool3d
    return fill(out, pool(self, output_size), converts=False)


def _cumulative(name: str, of_complex: Kernel | None = None) -> None:
    native: Kernel = native_of(name)

    def cumulative(self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
        into = dtype or self.dtype
        if of_complex is not None and into.is_complex:
            return of_complex(self.to(into), dim)
        if not into.is_floating_point:
            return native(self, dim, dtype=dtype)
        checked_dim(self, dim)
        x = self.to(into)
        return ops[name](x.to(torch.float32) if into in LOW_DTYPES else x, dim).to(into)

    def cumulative_into(
        self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None, out: torch.Tensor
    ) -> torch.Tensor:
        """As torch, in the type of the given tensor."""
        return fill(out, cumulative(self, dim, dtype=dtype or out.dtype), converts=False)

    override(name, op=name, **ANY_DTYPE)(cumulative)
    override(f"{name}.out", **ANY_DTYPE)(cumulative_into)


_cumulative("cumsum")
_cumulative("cumprod", running_product)
