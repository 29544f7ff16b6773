# SPDX-License-Identifier: MIT
"""Rounding to the steps that a quantised number would have, as training for it does, and what observes their range.

Steps and gradients are those of the ops fake_quantize and fake_quantize_grad. torch's own may fuse some operations.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten.reduction import sum_of
from repdl.interception.native import native_of
from repdl.interception.override import override
from repdl.interception.strides import laid_out

_Two = tuple[torch.Tensor, torch.Tensor]
_Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

_PER_CHANNEL = "fake_quantize_per_channel_affine_cachemask"
_native_per_channel = native_of(_PER_CHANNEL)
_TOO_SMALL = 6.1e-5
"""Scales below it are raised to it, as torch does."""


def along(t: torch.Tensor, x: torch.Tensor, axis: int) -> torch.Tensor:
    """A number for each channel, as it meets the tensor."""
    return t.reshape([-1 if d == axis else 1 for d in range(x.dim())])


_add, _sub = core.ops["add"], core.ops["sub"]
_fake_quantize, _fake_quantize_grad = laid_out(core.ops["fake_quantize"]), laid_out(core.ops["fake_quantize_grad"])


def _faked(x: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, low: int, high: int) -> _Two:
    """A zero that is no integer is added before a step is chosen, as torch does."""
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    return _fake_quantize(x, scale.to(dtype), zero.to(dtype), low, high, zero.is_floating_point())


@override(_PER_CHANNEL, low="compute")
def fake_quantize_per_channel(
    self: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, axis: int, quant_min: int, quant_max: int
) -> _Two:
    fits = 0 <= axis < self.dim() and scale.shape == zero_point.shape == self.shape[axis : axis + 1]
    typed = scale.dtype == torch.float32 and zero_point.dtype in (torch.int32, torch.float32, torch.float16)
    held = zero_point.is_floating_point() or bool(((zero_point >= quant_min) & (zero_point <= quant_max)).all())
    if not (fits and typed and held and quant_min <= quant_max):
        return _native_per_channel(self, scale, zero_point, axis, quant_min, quant_max)  # which says what is wrong
    return _faked(self, along(scale, self, axis), along(zero_point, self, axis), quant_min, quant_max)


_PER_TENSOR = "fake_quantize_per_tensor_affine_cachemask"
_native_per_tensor = native_of(_PER_TENSOR)


@override(_PER_TENSOR, low="compute", wide="compute")
def fake_quantize(self: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> _Two:
    """NaN stays, infinities are held at the ends. torch's kernel casts them to integers, which C++ leaves undefined."""
    if not (self.is_floating_point() and quant_min <= zero_point <= quant_max):
        return _native_per_tensor(self, scale, zero_point, quant_min, quant_max)  # which says what is wrong
    width, zero = torch.full((), scale, dtype=torch.float32), torch.full((), zero_point, dtype=torch.int64)
    return _faked(self, width, zero, quant_min, quant_max)


@override("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", low="compute")
def _with_tensors(
    self: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    fake_quant_enabled: torch.Tensor,
    quant_min: int,
    quant_max: int,
) -> _Two:
    if int(fake_quant_enabled) == 0:
        return self.clone(), torch.ones_like(self, dtype=torch.bool)
    return _faked(self, scale.reshape(()), zero_point.reshape(()).to(torch.int64), quant_min, quant_max)


@override("_fake_quantize_learnable_per_tensor_affine_backward")
def _fake_quantize_learnable_per_tensor_affine_backward(
    grad: torch.Tensor,
    self: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> _Three:
    half = torch.full((), 0.5, dtype=torch.float32)
    zero = _add(zero_point.reshape(()), half, 1.0).clamp(quant_min, quant_max).trunc()  # as torch, whose forward rounds
    by_x, *others = _fake_quantize_grad(grad, self, scale.reshape(()), zero, quant_min, quant_max, grad_factor)
    by_scale, by_zero = (sum_of(t).reshape(1) for t in others)
    return by_x, by_scale, by_zero


@override("_fake_quantize_learnable_per_channel_affine_backward")
def _fake_quantize_learnable_per_channel_affine_backward(
    grad: torch.Tensor,
    self: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> _Three:
    zero = along(zero_point.round().clamp(quant_min, quant_max), self, axis)
    width = along(scale, self, axis)
    by_x, *others = _fake_quantize_grad(grad, self, width, zero, quant_min, quant_max, grad_factor)
    dims = [d for d in range(self.dim()) if d != axis]
    by_scale, by_zero = (sum_of(t, dims) if dims else t for t in others)
    return by_x, by_scale, by_zero


def chosen(low: float, high: float, first: int, last: int, symmetric: bool) -> tuple[float, int]:
    """The scale and the zero with which the steps from first to last cover a range, by torch's rule."""
    through_zero = low < 0 < high
    if through_zero and symmetric:
        half = (last - first) // 2
        widest = max(abs(low / -(half + 1)), abs(high / half))
        low, high = _single(widest * -(half + 1)), _single(widest * half)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (last - first)
    if _single(scale) == 0 or _single(1 / _single(scale)) == math.inf:
        scale = 0.1
    if scale < _TOO_SMALL:
        given, scale = _single(scale), _single(_TOO_SMALL)
        if low == 0:
            high = _single(scale * (last - first))
        elif high == 0:
            low = -_single(scale * (last - first))
        else:
            low, high = (_single(end * _single(scale / given)) for end in (low, high))
    from_low, from_high = first - low / scale, last - high / scale
    low_error, high_error = abs(first) + abs(low / scale), abs(last) + abs(high / scale)
    zero = from_low if low_error < high_error else from_high
    if through_zero and symmetric:
        zero = (first + last) / 2
    return scale, round(min(max(zero, first), last))


def _single(number: float) -> float:
    return torch.tensor(number, dtype=torch.float32).item()


@override("_fused_moving_avg_obs_fq_helper", low="native")
def _fused_moving_avg_obs_fq_helper(
    self: torch.Tensor,
    observer_on: torch.Tensor,
    fake_quant_on: torch.Tensor,
    running_min: torch.Tensor,
    running_max: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> _Two:
    """The ends move by (now - running) * c, or become those of now where they are infinite; then `chosen` says."""
    if per_row_fake_quant and ch_axis != 0:
        raise RuntimeError("[fused_moving_avg_obs_fake_quant] of channels, ch_axis must be 0")
    if int(observer_on):
        if per_row_fake_quant:
            ends: Any = self.reshape(self.shape[0], -1).aminmax(dim=1)
            if running_min.numel() == 0:
                for t, start in ((running_min, math.inf), (running_max, -math.inf), (scale, 1), (zero_point, 0)):
                    t.resize_(self.shape[0]).fill_(start)
        else:
            ends = self.aminmax()
        for running, now in zip((running_min, running_max), ends, strict=True):
            moved = _add(running, _sub(now, running, 1.0), averaging_const)
            running.copy_(torch.where(running.isinf(), now, moved).reshape(running.shape))
    if not int(fake_quant_on):
        return self.clone(), torch.ones_like(self, dtype=torch.bool)
    ranges = zip(running_min.reshape(-1).tolist(), running_max.reshape(-1).tolist(), strict=True)
    found = [chosen(low, high, quant_min, quant_max, symmetric_quant) for low, high in ranges]
    for given, values in zip((scale, zero_point), zip(*found, strict=True), strict=True):
        given.copy_(torch.tensor(values, dtype=given.dtype).reshape(given.shape))
    if per_row_fake_quant:
        return torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
            self, scale, zero_point, 0, quant_min, quant_max
        )
    return _with_tensors(self, scale, zero_point, fake_quant_on, quant_min, quant_max)
