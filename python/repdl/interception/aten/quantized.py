# SPDX-License-Identifier: MIT
"""Quantised tensors: made of numbers in written steps, moved and read; products of integers. All else raises.

A step is that of the op quantize, between the ends of its type. Its number is `float32(step - zero_point) * scale`; of
a zero that is a floating-point number, `(step - zero_point) * scale`, each rounded. torch's own may fuse some.
"""

from __future__ import annotations

import torch

from repdl.interception import core
from repdl.interception.aten.fake_quantized import along, chosen
from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, layout, override
from repdl.interception.strict import not_reproducible
from repdl.interception.strides import laid_out

_copy = native_of("copy_", "QuantizedCPU")
_TYPES = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
_mul, _quantize, _sub = (laid_out(core.ops[op]) for op in ("mul", "quantize", "sub"))


@layout("QuantizedCPU", "copy_")
def copied_into_quantized(self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Of a tensor that is not quantised it would be a rounding."""
    if src.is_quantized:
        return _copy(self, src, non_blocking)
    return not_reproducible("copy_", (self, src, non_blocking), {}, _copy, "layout")


def _steps(x: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    of_steps = _TYPES[dtype]
    ends = torch.iinfo(of_steps)
    step = _quantize(x, scale.to(torch.float32), zero.to(torch.float32), ends.min, ends.max)
    if of_steps == torch.int32:  # whose highest step is no float32
        step = step.to(torch.int64).clamp(ends.min, ends.max)
    return step.to(of_steps)


_dequantize = native_of("dequantize.self", "QuantizedCPU")


@layout("QuantizedCPU", "dequantize.self")
def dequantized(self: torch.Tensor) -> torch.Tensor:
    if self.dtype not in _TYPES:
        return not_reproducible("dequantize.self", (self,), {}, _dequantize, "layout")
    step = self.int_repr().to(torch.int64)
    if self.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        scale, zero = torch.tensor(self.q_scale(), dtype=torch.float64), torch.tensor(self.q_zero_point())
    else:
        axis = self.q_per_channel_axis()
        scale = along(self.q_per_channel_scales(), self, axis)
        zero = along(self.q_per_channel_zero_points(), self, axis)
    if zero.is_floating_point():
        away = _sub(step.to(torch.float32), zero.to(torch.float32), 1.0)
    else:
        away = (step - zero).to(torch.float32)  # integers
    return _mul(away, scale.to(torch.float32))


@layout("QuantizedCPU", "dequantize.tensors")
def tensors_dequantized(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x.dequantize() for x in tensors]


def _laid_out(quantized: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    for rank, format in ((4, torch.channels_last), (5, torch.channels_last_3d)):
        if like.dim() == rank and not like.is_contiguous() and like.is_contiguous(memory_format=format):
            return quantized.contiguous(memory_format=format)
    return quantized


def _per_tensor(self: torch.Tensor, scale: float, zero_point: int, dtype: torch.dtype) -> torch.Tensor:
    steps = _steps(self, torch.tensor(scale, dtype=torch.float32), torch.tensor(zero_point), dtype)
    return _laid_out(torch._make_per_tensor_quantized_tensor(steps, scale, zero_point), self)


def _fits(self: torch.Tensor, dtype: torch.dtype) -> bool:
    return self.dtype == torch.float32 and dtype in _TYPES


_native_per_tensor = native_of("quantize_per_tensor")


@override("quantize_per_tensor", **ANY_DTYPE)
def quantize_per_tensor(self: torch.Tensor, scale: float, zero_point: int, dtype: torch.dtype) -> torch.Tensor:
    args = (self, scale, zero_point, dtype)
    if self.dtype != torch.float32:
        return _native_per_tensor(*args)  # which says that it takes float32 alone
    if dtype not in _TYPES:
        return not_reproducible("quantize_per_tensor", args, {}, _native_per_tensor, "dtype")
    ends = torch.iinfo(_TYPES[dtype])
    if not ends.min <= zero_point <= ends.max:
        return _native_per_tensor(*args)  # which says so
    return _per_tensor(*args)


@override("quantize_per_tensor.tensor_qparams", **ANY_DTYPE)
def quantize_per_tensor_of_tensors(
    self: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    return quantize_per_tensor(self, float(scale), int(zero_point), dtype)


@override("quantize_per_tensor.tensors", **ANY_DTYPE)
def quantize_tensors(
    tensors: list[torch.Tensor], scales: torch.Tensor, zero_points: torch.Tensor, dtype: torch.dtype
) -> list[torch.Tensor]:
    settings = zip(tensors, scales.tolist(), zero_points.tolist(), strict=True)
    return [quantize_per_tensor(x, scale, int(zero), dtype) for x, scale, zero in settings]


_native_per_channel = native_of("quantize_per_channel")


@override("quantize_per_channel", **ANY_DTYPE)
def quantize_per_channel(
    self: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor, axis: int, dtype: torch.dtype
) -> torch.Tensor:
    args = (self, scales, zero_points, axis, dtype)
    fits = 0 <= axis < self.dim() and scales.shape == zero_points.shape == self.shape[axis : axis + 1]
    if self.dtype != torch.float32 or not fits:
        return _native_per_channel(*args)  # which says what is wrong
    if dtype not in _TYPES:
        return not_reproducible("quantize_per_channel", args, {}, _native_per_channel, "dtype")
    steps = _steps(self, along(scales, self, axis), along(zero_points, self, axis), dtype)
    quantized = torch._make_per_channel_quantized_tensor(steps, scales, zero_points, axis)
    return quantized if zero_points.is_floating_point() else _laid_out(quantized, self)  # torch does not copy those


_native_dynamic = native_of("quantize_per_tensor_dynamic")


@override("quantize_per_tensor_dynamic", **ANY_DTYPE)
def quantize_per_tensor_dynamic(self: torch.Tensor, dtype: torch.dtype, reduce_range: bool) -> torch.Tensor:
    """The scale and the zero by torch's rule, in double."""
    ends = {torch.qint8: (-128, 127), torch.quint8: (0, 255)}.get(dtype)
    if self.dtype != torch.float32 or ends is None:
        return _native_dynamic(self, dtype, reduce_range)  # which says what is wrong
    low, high = (float(end) for end in self.aminmax())
    first, last = (int(end / 2) for end in ends) if reduce_range else ends
    scale, zero = chosen(low, high, first, last, False)
    return _per_tensor(self, scale, zero, dtype)


_native_int_mm = native_of("_int_mm")


@override("_int_mm", **ANY_DTYPE)
def int_mm(self: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """Of int8, exactly, in int32."""
    fits = self.dim() == 2 == mat2.dim() and self.shape[1] == mat2.shape[0]
    if not fits or self.dtype != torch.int8 or mat2.dtype != torch.int8:
        return _native_int_mm(self, mat2)  # which says what is wrong
    return torch.mm(self.to(torch.int32), mat2.to(torch.int32))
