# SPDX-License-Identifier: MIT
"""Convolution of one, two and three dimensions, transposed too: the core's ops, and how their results lie in memory."""

from __future__ import annotations

from typing import Any

import torch

from repdl import _core
from repdl._order import get_order
from repdl.interception import core
from repdl.interception.aten.reduction import sum_of
from repdl.interception.native import native_of
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import override
from repdl.interception.rounding import check_one_type
from repdl.interception.strict import not_reproducible
from repdl.interception.strides import memory_format

_native, _native_backward = native_of("convolution"), native_of("convolution_backward")

_RANKS = (1, 2, 3)
_OPS = ("convolution", "convolution_grad_input", "convolution_grad_kernel")


def _as_plane(x: torch.Tensor) -> torch.Tensor:
    """A line as an image of one row, which torch makes of it: so its layout may be channels last too."""
    return x.unsqueeze(2) if x.dim() == 3 else x


def _format_of(input: torch.Tensor, weight: torch.Tensor) -> torch.memory_format:
    """The layout of a result; torch makes lines row-major first, and then goes by the weight alone.

    It has no kernel that leaves the channels of float64 volumes last.
    """
    if input.dim() == 5 and input.dtype == torch.float64:
        return torch.contiguous_format
    return memory_format(_as_plane(weight)) if input.dim() == 3 else memory_format(input, weight)


_LAST = {name: _core.channels_last(name) for name in _OPS}
"""The ops of real numbers, with results that have their channels last."""


def _call(name: str, operands: tuple[torch.Tensor, torch.Tensor], *args: Any) -> torch.Tensor:
    """An op, whose result is laid out as torch's is for input and weight."""
    x = operands[0]
    format = _format_of(*operands)
    if format == torch.contiguous_format:
        return ops_of(x)[name](*args)
    if not x.is_complex():
        return _LAST[name](*args)
    turned = _as_plane(ops_of(x)[name](*args)).clone(memory_format=format)
    return turned.squeeze(2) if x.dim() == 3 else turned


_QUICK = {"op": "convolution", "contiguous": True, "unless": torch._C._is_tracing}


@override("convolution", low="alike", wide="float64", integers="compute", **_QUICK)
def convolution(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> torch.Tensor:
    args = (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if torch._C._is_tracing():  # which does not see this op, but the next one
        return torch.ops.aten._convolution(*args, False, False, False, False)
    rank = input.dim() - 2
    if rank not in _RANKS:
        return not_reproducible("convolution", args, {}, _native, why="layout")
    if not input.is_floating_point() and input.dtype != torch.bool:
        check_one_type((input, weight, bias))
        if input.dtype in (torch.uint16, torch.uint32, torch.uint64):
            raise NotImplementedError(f"[convolution] there is no kernel for {input.dtype}; convert it to torch.int64")
        return core.ops["integer_convolution"](*args).contiguous(memory_format=memory_format(input, weight))
    return _call("convolution", (input, weight), *args, get_order())


@override("_convolution", low="alike", wide="float64", integers="compute")
def _convolution(*args: Any) -> torch.Tensor:
    """What a traced graph calls: as `convolution`, then flags of cuDNN's."""
    return convolution(*args[:-4])


@override("_slow_conv2d_forward", low="alike")
def _slow_conv2d_forward(
    self: torch.Tensor, weight: torch.Tensor, kernel_size: Any, bias: Any, stride: Any, padding: Any
) -> torch.Tensor:
    """Reached by integers, of which torch's sums are exact."""
    return convolution(self, weight, bias, stride, padding, (1, 1), False, (0, 0), 1)


@override("convolution_backward", wide="float64")
def convolution_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: list[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    if input.dim() - 2 not in _RANKS:
        args = (grad_output, input, weight, bias_sizes, *settings, output_mask)
        return not_reproducible("convolution_backward", args, {}, _native_backward, why="layout")
    ops, order = ops_of(grad_output), get_order()
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        of_input = tuple(input.shape), weight, grad_output
        grad_input = _call("convolution_grad_input", (input, weight), *of_input, *settings, order)
    if output_mask[1]:
        of_weight = input, tuple(weight.shape), grad_output
        grad_weight = _call("convolution_grad_kernel", (input, weight), *of_weight, *settings, order)
    if output_mask[2]:
        grad_bias = sum_of(grad_output, (0, *range(2, grad_output.dim())), ops=ops)
    return grad_input, grad_weight, grad_bias
