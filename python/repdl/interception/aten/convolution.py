# SPDX-License-Identifier: MIT
"""Convolution of one, two and three dimensions, transposed too."""

from __future__ import annotations

from typing import Any

import torch

from repdl._order import get_order
from repdl.interception.aten.integer_convolution import IntegerConvolution
from repdl.interception.aten.reduction import sum_of
from repdl.interception.native import native_of
from repdl.interception.override import memory_format, ops_of, override
from repdl.interception.strict import not_reproducible

_native, _native_backward = native_of("convolution"), native_of("convolution_backward")


def _as_2d(x: torch.Tensor) -> torch.Tensor:
    return x.unsqueeze(2) if x.dim() == 3 else x


def _pair(values: Any, rank: int, first: int) -> tuple[int, ...]:
    """A setting of each dimension, for two or three; `first` for the one that a 1-d convolution lacks."""
    values = tuple(values) * (rank // len(values)) if len(values) != rank else tuple(values)
    return (first, *values) if rank == 1 else values


class _Settings:
    def __init__(self, rank: int, stride: Any, padding: Any, dilation: Any, output_padding: Any, groups: int) -> None:
        self.stride, self.dilation = _pair(stride, rank, 1), _pair(dilation, rank, 1)
        self.padding, self.output_padding = _pair(padding, rank, 0), _pair(output_padding, rank, 0)
        self.groups = groups

    def convolve(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        return ops_of(input)["conv2d"](
            input, weight, self.stride, self.padding, self.groups, self.dilation, bias, get_order()
        )

    def by_input(self, shape: Any, weight: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return ops_of(grad)["conv2d_grad_input"](
            tuple(shape), weight, grad, self.stride, self.padding, self.groups, self.dilation, get_order()
        )

    def by_weight(self, input: torch.Tensor, shape: Any, grad: torch.Tensor) -> torch.Tensor:
        return ops_of(input)["conv2d_grad_kernel"](
            input, tuple(shape), grad, self.stride, self.padding, self.groups, self.dilation, get_order()
        )

    def transposed_shape(self, input: torch.Tensor, weight: torch.Tensor) -> tuple[int, ...]:
        sizes = [
            (input.shape[2 + i] - 1) * self.stride[i]
            - 2 * self.padding[i]
            + self.dilation[i] * (weight.shape[2 + i] - 1)
            + self.output_padding[i]
            + 1
            for i in range(len(self.stride))
        ]
        return (input.shape[0], weight.shape[1] * self.groups, *sizes)


class _Volumes:
    """Convolution of three dimensions, as one of two: a place of the kernel's depth counts as a channel.

    So the terms of an output go by (input channel, kernel depth, row, column). The gradient of an input adds what it
    gets from each depth of the output, in their order.
    """

    def __init__(self, settings: _Settings) -> None:
        stride, padding, dilation, more = (
            settings.stride, settings.padding, settings.dilation, settings.output_padding,
        )  # fmt: skip
        self.stride, self.padding, self.dilation = stride[0], padding[0], dilation[0]
        self.planes = _Settings(2, stride[1:], padding[1:], dilation[1:], more[1:], settings.groups)
        self.transposed_shape = settings.transposed_shape

    def _met(self, depth: int, kernel: int) -> torch.Tensor:
        """By depth of the output and of the kernel, the depth of the padded input."""
        reach = self.dilation * (kernel - 1)
        deep = depth + 2 * self.padding
        if deep <= reach:
            raise RuntimeError(f"[conv3d] the kernel is {reach + 1} deep, and the padded input only {deep}")
        first = torch.arange(0, deep - reach, self.stride)
        return first[:, None] + torch.arange(0, reach + 1, self.dilation)

    def _windows(self, input: torch.Tensor, kernel: int) -> torch.Tensor:
        padded = torch.constant_pad_nd(input, (0, 0, 0, 0, self.padding, self.padding))
        windows = padded[:, :, self._met(input.shape[2], kernel)].transpose(1, 2)
        return windows.flatten(0, 1).flatten(1, 2)

    def convolve(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        output = self.planes.convolve(self._windows(input, weight.shape[2]), weight.flatten(1, 2), bias)
        depth = len(self._met(input.shape[2], weight.shape[2]))
        return output.unflatten(0, (input.shape[0], depth)).transpose(1, 2)

    def by_input(self, shape: Any, weight: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        kernel, (count, channels, depth, *plane) = weight.shape[2], shape
        planes = grad.transpose(1, 2).flatten(0, 1)
        windows = self.planes.by_input((len(planes), channels * kernel, *plane), weight.flatten(1, 2), planes)
        windows = windows.reshape(count, grad.shape[2], channels, kernel, *plane).transpose(1, 2).flatten(2, 3)
        padded = windows.new_zeros(count, channels, depth + 2 * self.padding, *plane)
        return padded.index_add_(2, self._met(depth, kernel).flatten(), windows).narrow(2, self.padding, depth)

    def by_weight(self, input: torch.Tensor, shape: Any, grad: torch.Tensor) -> torch.Tensor:
        rows, columns, kernel, *plane = shape
        planes = grad.transpose(1, 2).flatten(0, 1)
        windows = self._windows(input, kernel)
        return self.planes.by_weight(windows, (rows, columns * kernel, *plane), planes).reshape(shape)


def _laid_out(x: torch.Tensor, format: torch.memory_format) -> torch.Tensor:
    """Volumes are copied, as their dimensions of size 1 may not have the strides of the format."""
    return x.clone(memory_format=format) if x.dim() == 5 else x.contiguous(memory_format=format)


def _of_rank(rank: int, *settings: Any) -> _Settings | _Volumes:
    found = _Settings(rank, *settings)
    return _Volumes(found) if rank == 3 else found


def _beyond(rank: int, stride: Any, padding: Any, dilation: Any, output_padding: Any) -> list[int] | None:
    """What a transposed convolution without padding lacks of the output at both ends of each dimension, the last first.

    None where output_padding is below the stride: then the padding is the op's. Else the output has places for more
    windows than the input has elements.
    """
    stride, padding, dilation, more = (
        _pair(v, rank, i) for v, i in zip((stride, padding, dilation, output_padding), (1, 0, 1, 0), strict=True)
    )
    if all(m < s for m, s in zip(more, stride, strict=True)):
        return None
    for m, s, d in zip(more, stride, dilation, strict=True):
        if m >= max(s, d):
            raise RuntimeError(
                f"[conv_transpose{rank}d] output_padding must be smaller than stride or dilation, got {m} for a stride "
                f"of {s} and a dilation of {d}"
            )
    return [end for p, m in reversed(list(zip(padding, more, strict=True))) for end in (-p, m - p)]


@override("convolution", low="alike", wide="float64", integers="compute")
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
    if rank not in (1, 2, 3):
        return not_reproducible("convolution", args, {}, _native, why="layout")
    if not input.is_floating_point() and input.dtype != torch.bool:
        of_integers = IntegerConvolution(rank, stride, padding, dilation, output_padding, groups)
        output = (of_integers.transposed if transposed else of_integers.convolve)(input, weight, bias)
        return output.contiguous(memory_format=memory_format(input, weight))
    settings = _of_rank(rank, stride, padding, dilation, output_padding, groups)
    x, w = _as_2d(input), _as_2d(weight)
    if transposed:
        ends = _beyond(rank, stride, padding, dilation, output_padding)
        if ends:
            settings = _of_rank(rank, stride, (0,), dilation, (0,), groups)
        output = settings.by_input(settings.transposed_shape(x, w), w, x)
        if ends:
            output = torch.constant_pad_nd(output, ends)
        if bias is not None:
            output = output + bias.reshape(-1, *[1] * (output.dim() - 2))
    else:
        output = settings.convolve(x, w, bias)
    output = _laid_out(output, memory_format(x, w))
    return output.squeeze(2) if rank == 1 else output


@override("_convolution", low="alike", wide="float64", integers="compute")
def _(*args: Any) -> torch.Tensor:
    """What a traced graph calls: as `convolution`, then flags of cuDNN's."""
    return convolution(*args[:-4])


@override("_slow_conv2d_forward", low="alike")
def _(self: torch.Tensor, weight: torch.Tensor, kernel_size: Any, bias: Any, stride: Any, padding: Any) -> torch.Tensor:
    """Reached by integers, of which torch's sums are exact."""
    return convolution(self, weight, bias, stride, padding, (1, 1), False, (0, 0), 1)


@override("convolution_backward", wide="float64")
def _(
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
    rank = input.dim() - 2
    if rank not in (1, 2, 3):
        args = (
            grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
            output_mask,
        )  # fmt: skip
        return not_reproducible("convolution_backward", args, {}, _native_backward, why="layout")
    settings = _of_rank(rank, stride, padding, dilation, output_padding, groups)
    g, x, w = _as_2d(grad_output), _as_2d(input), _as_2d(weight)

    def shaped(grad: torch.Tensor) -> torch.Tensor:
        grad = _laid_out(grad, memory_format(x, w))
        return grad.squeeze(2) if rank == 1 else grad

    grad_input = grad_weight = grad_bias = None
    if output_mask[2]:
        grad_bias = sum_of(g, (0, *range(2, g.dim())), ops=ops_of(g))
    ends = _beyond(rank, stride, padding, dilation, output_padding) if transposed else None
    if ends:
        settings = _of_rank(rank, stride, (0,), dilation, (0,), groups)
        g = torch.constant_pad_nd(g, [-end for end in ends])
    if output_mask[0]:
        by_input = settings.convolve(g, w) if transposed else settings.by_input(x.shape, w, g)
        grad_input = shaped(by_input)
    if output_mask[1]:
        by_weight = settings.by_weight(g, w.shape, x) if transposed else settings.by_weight(x, w.shape, g)
        grad_weight = shaped(by_weight)
    return grad_input, grad_weight, grad_bias
