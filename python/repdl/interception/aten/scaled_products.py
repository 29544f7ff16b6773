# SPDX-License-Identifier: MIT
"""Products of numbers of 8 bits with scales, as inference has them: the product rule in float32, then the scale.

Products of two such numbers, and of one of int8 with one of 16 bits, are exact in float32. What follows the sums is
done in float32 as well, and rounded once to the dtype of the result.
"""

from __future__ import annotations

import torch

from repdl._order import get_order
from repdl.interception import core
from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, override

_add, _div, _mul = (core.ops[op] for op in ("add", "div", "mul"))
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
_TENSOR_WISE, _ROW_WISE = [0], [1]
"""Of torch.nn.functional.ScalingType."""

_native_int8pack = native_of("_weight_int8pack_mm")


@override("_weight_int8pack_mm", **ANY_DTYPE)
def weight_int8pack_mm(self: torch.Tensor, mat2: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """`(self @ mat2.T) * scales`, a scale for each row of mat2."""
    fits = self.dim() == 2 == mat2.dim() and self.shape[1] == mat2.shape[1] and scales.shape == mat2.shape[:1]
    types = self.dtype == scales.dtype in (torch.float32, torch.bfloat16, torch.float16) and mat2.dtype == torch.int8
    if not fits or not types:
        return _native_int8pack(self, mat2, scales)  # which says what is wrong
    product = core.ops["linear"](self.to(torch.float32), mat2.to(torch.float32), None, get_order())
    return _mul(product, scales.to(torch.float32)).to(self.dtype)


_native = native_of("_scaled_mm")


@override("_scaled_mm", **ANY_DTYPE)
def scaled_mm(
    self: torch.Tensor,
    mat2: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """`(self @ mat2) * (scale_a * scale_b) + bias`, and divided by scale_result if the result is of float8."""
    fits = _fit(self, mat2, bias) and (_is_tensor_wise(scale_a, scale_b) or _is_row_wise(self, mat2, scale_a, scale_b))
    if not fits:
        return _native(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)
    dtype = out_dtype or self.dtype
    if scale_a.numel() == scale_b.numel() == 1:
        scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
    product = core.ops["mm"](self.to(torch.float32), mat2.to(torch.float32), False, False, get_order())
    result = _mul(product, _mul(scale_a, scale_b))
    if bias is not None:
        result = _add(result, bias.reshape(-1).to(torch.float32), 1.0)
    if scale_result is not None and dtype in _FLOAT8:
        result = _div(result, scale_result.reshape(()).to(torch.float32))
    return result.to(dtype)


_native_v2 = native_of("_scaled_mm_v2")


@override("_scaled_mm_v2", **ANY_DTYPE)
def scaled_mm_v2(
    self: torch.Tensor,
    mat2: torch.Tensor,
    scale_a: list[torch.Tensor],
    recipe_a: list[int],
    swizzle_a: list[int],
    scale_b: list[torch.Tensor],
    recipe_b: list[int],
    swizzle_b: list[int],
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    contraction_dim: list[int] | tuple[()] = (),
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """That of torch.nn.functional.scaled_mm, with a scale for each operand or for each row and column."""
    recipes, swizzles = (list(recipe_a), list(recipe_b)), [*swizzle_a, *swizzle_b]
    fits = len(scale_a) == len(scale_b) == 1 and not any(swizzles) and not contraction_dim and _fit(self, mat2, bias)
    if fits and recipes == (_TENSOR_WISE, _TENSOR_WISE):
        fits = _is_tensor_wise(scale_a[0], scale_b[0])
    else:
        fits = fits and recipes == (_ROW_WISE, _ROW_WISE) and _is_row_wise(self, mat2, scale_a[0], scale_b[0])
    if fits:
        return scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, None, out_dtype)
    recipe = scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b
    return _native_v2(self, mat2, *recipe, bias, out_dtype, contraction_dim, use_fast_accum)


def _fit(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> bool:
    if a.dtype not in _FLOAT8 or b.dtype not in _FLOAT8 or a.dim() != 2 or b.dim() != 2:
        return False
    return a.shape[1] == b.shape[0] and (bias is None or bias.numel() == b.shape[1])


def _is_tensor_wise(scale_a: torch.Tensor, scale_b: torch.Tensor) -> bool:
    return scale_a.dtype == scale_b.dtype == torch.float32 and scale_a.numel() == scale_b.numel() == 1


def _is_row_wise(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> bool:
    shapes = scale_a.shape == (a.shape[0], 1) and scale_b.shape == (1, b.shape[1])
    return shapes and scale_a.dtype == scale_b.dtype == torch.float32
