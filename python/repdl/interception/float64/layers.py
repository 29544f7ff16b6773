# SPDX-License-Identifier: MIT
"""Normalisation and convolution of float64: the formulas of the ops, with sums and products of float64.

Of a convolution, padding is made of zeros, and the gradient of the input takes the product over the output channels for
each place of the kernel; these are added in the order of the places.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.override import float64_ops as ops

_Optional = torch.Tensor | None
_Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _sum(x: torch.Tensor, dims: tuple[int, ...], keepdim: bool = True) -> torch.Tensor:
    return ops["sum"](x, dims, keepdim)


def _mean(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    return ops["mean"](x, dims, True)


def _variance(x: torch.Tensor, dims: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    mean = _mean(x, dims)
    centred = x - mean
    return mean, _mean(centred * centred, dims)


def _by_channel(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1, *[1] * (like.dim() - 2))


def _scaled(x: torch.Tensor, weight: _Optional, bias: _Optional, by_channel: bool = False) -> torch.Tensor:
    if weight is not None:
        x = x * (_by_channel(weight, x) if by_channel else weight)
    return x if bias is None else x + (_by_channel(bias, x) if by_channel else bias)


def _input_grad(u: torch.Tensor, h: torch.Tensor, rstd: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    return rstd * ((u - _mean(u, dims)) - h * _mean(u * h, dims))


def _layer_norm(
    input: torch.Tensor, shape: tuple[int, ...], weight: _Optional, bias: _Optional, eps: float, order: str = ""
) -> _Three:
    dims = tuple(range(input.dim() - len(shape), input.dim()))
    mean, var = _variance(input, dims)
    rstd = 1 / ops["sqrt"](var + eps)
    return _scaled((input - mean) * rstd, weight, bias), mean, rstd


def _layer_norm_grad(
    grad: torch.Tensor,
    input: torch.Tensor,
    shape: tuple[int, ...],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: _Optional,
    order: str = "",
) -> _Three:
    dims = tuple(range(input.dim() - len(shape), input.dim()))
    h = (input - mean) * rstd
    rows = tuple(range(dims[0]))
    by_input = _input_grad(grad if weight is None else grad * weight, h, rstd, dims)
    return by_input, _sum(grad * h, rows, False), _sum(grad, rows, False)


def _others(x: torch.Tensor) -> tuple[int, ...]:
    """All dimensions but that of the channels."""
    return (0, *range(2, x.dim()))


def _grouped(x: torch.Tensor, groups: int) -> torch.Tensor:
    """(sample, group, numbers), of no numbers too."""
    return x.unflatten(1, (groups, x.shape[1] // groups)).flatten(2)


def _group_norm(
    input: torch.Tensor, groups: int, weight: _Optional, bias: _Optional, eps: float, order: str = ""
) -> _Three:
    x = _grouped(input, groups)
    mean, var = _variance(x, (2,))
    rstd = 1 / ops["sqrt"](var + eps)
    normal = ((x - mean) * rstd).reshape(input.shape)
    return _scaled(normal, weight, bias, by_channel=True), mean[..., 0], rstd[..., 0]


def _group_norm_grad(
    grad: torch.Tensor, input: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor, weight: _Optional, order: str = ""
) -> _Three:
    mean, rstd = mean[..., None], rstd[..., None]
    h = (_grouped(input, mean.shape[1]) - mean) * rstd
    u = grad if weight is None else grad * _by_channel(weight, grad)
    by_input = _input_grad(u.reshape(h.shape), h, rstd, (2,)).reshape(input.shape)
    others = _others(input)
    return by_input, _sum(grad * h.reshape(input.shape), others, False), _sum(grad, others, False)


def _batch_norm(input: torch.Tensor, weight: _Optional, bias: _Optional, eps: float, order: str = "") -> _Three:
    mean, var = (t.reshape(-1) for t in _variance(input, _others(input)))
    return _batch_norm_eval(input, mean, var, weight, bias, eps), mean, var


def _batch_norm_eval(
    input: torch.Tensor, mean: torch.Tensor, var: torch.Tensor, weight: _Optional, bias: _Optional, eps: float
) -> torch.Tensor:
    std = ops["sqrt"](var + eps)
    normal = (input - _by_channel(mean, input)) / _by_channel(std, input)
    return _scaled(normal, weight, bias, by_channel=True)


def _batch_norm_update(running: torch.Tensor, value: torch.Tensor, momentum: float, scale: float) -> None:
    running.copy_(running * (1 - momentum) + (value * scale) * momentum)


def _batch_norm_grads(
    grad: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    weight: _Optional,
    eps: float,
    order: str = "",
    trained: bool = True,
) -> _Three:
    dims = _others(input)
    std = ops["sqrt"](var + eps)
    h = (input - _by_channel(mean, input)) / _by_channel(std, input)
    by_weight, by_bias = _sum(grad * h, dims), _sum(grad, dims)
    slope = _by_channel(1 / std if weight is None else weight / std, input)
    inside = grad
    if trained:
        count = input.numel() // max(input.shape[1], 1)
        inside = (grad - by_bias / count) - h * (by_weight / count)
    return slope * inside, by_weight.reshape(-1), by_bias.reshape(-1)


def _batch_norm_eval_grad(
    grad: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    weight: _Optional,
    eps: float,
    order: str = "",
) -> _Three:
    return _batch_norm_grads(grad, input, mean, var, weight, eps, trained=False)


class _Windows:
    """What each place of the kernel meets, for the settings of a convolution of two dimensions."""

    def __init__(self, kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
        self.kernel, self.stride, self.padding, self.dilation = tuple(kernel), stride, padding, dilation

    def places(self, size: int, i: int) -> torch.Tensor:
        """By place of the output and of the kernel, in the padded input."""
        reach = self.dilation[i] * (self.kernel[i] - 1)
        first = torch.arange(0, size + 2 * self.padding[i] - reach, self.stride[i])
        if not first.numel():
            raise RuntimeError(f"[conv2d] the kernel of size {self.kernel} is larger than the padded input")
        return first[:, None] + torch.arange(self.kernel[i]) * self.dilation[i]

    def size(self, x: torch.Tensor) -> tuple[int, int]:
        return len(self.places(x.shape[2], 0)), len(self.places(x.shape[3], 1))

    def padded(self, x: torch.Tensor) -> torch.Tensor:
        above, left = self.padding
        return torch.constant_pad_nd(x, (left, left, above, above))

    def of(self, x: torch.Tensor, groups: int) -> tuple[torch.Tensor, int, int]:
        """(n, group, c' u v, p q), and the size of the output."""
        rows, columns = self.places(x.shape[2], 0), self.places(x.shape[3], 1)
        windows = self.padded(x)[:, :, rows][..., columns].permute(0, 1, 3, 5, 2, 4)
        windows = windows.unflatten(1, (groups, x.shape[1] // groups)).flatten(2, 4).flatten(3)
        return windows, len(rows), len(columns)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ops["mm"](a, b, False, False)


def _conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    stride: Any,
    padding: Any,
    groups: int,
    dilation: Any,
    bias: _Optional = None,
    order: str = "",
) -> torch.Tensor:
    if input.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"[conv2d] weight of shape {list(weight.shape)} in {groups} groups needs an input of "
            f"{weight.shape[1] * groups} channels, but it has {input.shape[1]}"
        )
    windows = _Windows(weight.shape[2:], stride, padding, dilation)
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    samples = []
    for sample in input.split(1) if len(input) else ():  # one at a time, for memory
        columns, rows, width = windows.of(sample, groups)
        samples.append(_product(matrix, columns[0]).reshape(1, weight.shape[0], rows, width))
    output = torch.cat(samples) if samples else input.new_empty(0, weight.shape[0], *windows.size(input))
    return output if bias is None else output + bias.reshape(-1, 1, 1)


def _conv2d_grad_input(
    shape: tuple[int, ...],
    weight: torch.Tensor,
    grad: torch.Tensor,
    stride: Any,
    padding: Any,
    groups: int,
    dilation: Any,
    order: str = "",
) -> torch.Tensor:
    count, channels, height, width = shape
    rows, columns = grad.shape[2:]
    padded = grad.new_zeros(count, channels, height + 2 * padding[0], width + 2 * padding[1])
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1).mT
    for i in range(count):
        windows = _product(matrix, grad[i].reshape(groups, weight.shape[0] // groups, -1))
        windows = windows.reshape(channels, *weight.shape[2:], rows, columns)
        for u in range(weight.shape[2]):
            for v in range(weight.shape[3]):
                top, left = u * dilation[0], v * dilation[1]
                met = padded[i, :, top :: stride[0], left :: stride[1]][:, :rows, :columns]
                met += windows[:, u, v, : met.shape[1], : met.shape[2]]
    return padded[:, :, padding[0] : padding[0] + height, padding[1] : padding[1] + width]


def _conv2d_grad_kernel(
    input: torch.Tensor,
    shape: tuple[int, ...],
    grad: torch.Tensor,
    stride: Any,
    padding: Any,
    groups: int,
    dilation: Any,
    order: str = "",
) -> torch.Tensor:
    columns, _, _ = _Windows(shape[2:], stride, padding, dilation).of(input, groups)
    columns = columns.permute(1, 0, 3, 2).flatten(1, 2)
    rows = grad.flatten(2).unflatten(1, (groups, shape[0] // groups)).permute(1, 2, 0, 3)
    return _product(rows.flatten(2), columns).reshape(shape)


ops.update(
    layer_norm=_layer_norm,
    layer_norm_grad=_layer_norm_grad,
    group_norm=_group_norm,
    group_norm_grad=_group_norm_grad,
    batch_norm=_batch_norm,
    batch_norm_eval=_batch_norm_eval,
    batch_norm_update=_batch_norm_update,
    batch_norm_grad=_batch_norm_grads,
    batch_norm_eval_grad=_batch_norm_eval_grad,
    conv2d=_conv2d,
    conv2d_grad_input=_conv2d_grad_input,
    conv2d_grad_kernel=_conv2d_grad_kernel,
)
