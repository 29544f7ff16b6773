# SPDX-License-Identifier: MIT
"""Functions as in torch.nn.functional, computed by repdl.ops."""

from __future__ import annotations

from typing import Any

import torch

from repdl import _torch, ops  # noqa: F401 (registers the ops with torch)
from repdl._op import Pair, PerAxis

Tensor = torch.Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input (…, k) times weight (n, k) transposed, plus bias (n)."""
    return ops.linear(input, weight, bias)


def _check_tensor(op: str, input: object) -> None:
    if not isinstance(input, torch.Tensor):
        raise TypeError(f"[{op}] input must be a torch tensor, got {type(input).__name__}")


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: str | PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """One-dimensional convolution of input (n, c, w) or (c, w) with weight (o, c / groups, kw).

    Args:
        padding: a number, one for each dimension, "valid" (none) or "same" (the output has the size of the
            input; stride 1 only).
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: str | PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Two-dimensional convolution of input (n, c, h, w) or (c, h, w) with weight (o, c / groups, kh, kw).

    Args:
        padding: a number, a pair, "valid" (none) or "same" (the output has the size of the
            input; stride 1 only).
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: str | PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Three-dimensional convolution of input (n, c, d, h, w) or (c, d, h, w) with weight (o, c / groups, kd, kh, kw).

    Args:
        padding: a number, one for each dimension, "valid" (none) or "same" (the output has the size of the
            input; stride 1 only).
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Tensor:
    """Transposed convolution of input (n, c, w) or (c, w) with weight (c, o / groups, kw)."""
    settings = (stride, padding, dilation, True, output_padding, groups)
    return _of_batch("conv_transpose1d", 1, input, weight, bias, settings)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Tensor:
    """Transposed convolution of input (n, c, h, w) or (c, h, w) with weight (c, o / groups, kh, kw)."""
    settings = (stride, padding, dilation, True, output_padding, groups)
    return _of_batch("conv_transpose2d", 2, input, weight, bias, settings)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Tensor:
    """Transposed convolution of input (n, c, d, h, w) or (c, d, h, w) with weight (c, o / groups, kd, kh, kw)."""
    settings = (stride, padding, dilation, True, output_padding, groups)
    return _of_batch("conv_transpose3d", 3, input, weight, bias, settings)


def _convolve(
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: PerAxis,
    padding: str | PerAxis,
    dilation: PerAxis,
    groups: int,
) -> Tensor:
    name = f"conv{rank}d"
    _check_tensor(name, input)
    if isinstance(padding, str):
        input, padding = _pad_by_name(name, input, weight, stride, padding, dilation)
    return _of_batch(name, rank, input, weight, bias, (stride, padding, dilation, False, 0, groups))


def _of_batch(
    name: str, rank: int, input: Tensor, weight: Tensor, bias: Tensor | None, settings: tuple[Any, ...]
) -> Tensor:
    """Of a single sample without a batch, too."""
    _check_tensor(name, input)
    if input.dim() not in (rank + 1, rank + 2):
        raise ValueError(
            f"[{name}] input must have {rank + 1} or {rank + 2} dimensions, got the shape {tuple(input.shape)}"
        )
    if input.dim() == rank + 1:
        return ops.convolution(input.unsqueeze(0), weight, bias, *settings).squeeze(0)
    return ops.convolution(input, weight, bias, *settings)


def _pad_by_name(
    name: str, input: Tensor, weight: Tensor, stride: PerAxis, padding: str, dilation: PerAxis
) -> tuple[Tensor, PerAxis]:
    """The input with what cannot be given as symmetric padding, and the rest of the padding."""
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise ValueError(
            f"[{name}] padding must be a number, one for each dimension, 'same' or 'valid', got {padding!r}"
        )
    if any(s != 1 for s in ([stride] if isinstance(stride, int) else stride)):
        raise ValueError(f"[{name}] padding='same' needs stride 1, got {stride}")
    kernel = weight.shape[2:]
    steps = [dilation] * len(kernel) if isinstance(dilation, int) else list(dilation) * (len(kernel) // len(dilation))
    total = [d * (k - 1) for d, k in zip(steps, kernel, strict=True)]
    # An odd total has one more place of zeros at the end, as in torch.
    if any(n % 2 for n in total):
        ends = [end for n in reversed(total) for end in (0, n % 2)]
        input = torch.nn.functional.pad(input, ends)
    return input, [n // 2 for n in total]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    batch_statistics: bool | None = None,
) -> Tensor:
    """Batch normalization of input (n, c) or (n, c, …).

    Args:
        training: normalize by the statistics of the batch and move the running ones (if given), in place; else
            normalize by the running ones.
        batch_statistics: the name of `training` in microsoft/RepDL 0.1.

    Raises:
        ValueError: without running statistics outside training, or for a batch of one value a channel in training.
    """
    _check_tensor("batch_norm", input)
    if batch_statistics is not None:
        training = batch_statistics
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("[batch_norm] running_mean and running_var are needed when training is False")
        return ops.batch_norm_eval(input, running_mean, running_var, weight, bias, eps)
    if input.dim() < 2:
        raise ValueError(f"[batch_norm] input must have the shape (n, c) or (n, c, …), got {tuple(input.shape)}")
    count = input.numel() // max(input.shape[1], 1)
    if count <= 1:
        raise ValueError(
            f"[batch_norm] needs more than one value a channel in training, got the shape {tuple(input.shape)}"
        )
    output, mean, var = ops.batch_norm(input, weight, bias, eps)
    with torch.no_grad():
        for running, value, scale in ((running_mean, mean, 1.0), (running_var, var, count / (count - 1))):
            if running is not None:
                ops.batch_norm_update(running, value, momentum, scale)
                torch.autograd.graph.increment_version(running)
    return output


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between scores (n, c), (n, c, …) or (c) and target classes or probabilities.

    Args:
        size_average, reduce: the old names of what `reduction` says; they win if given, as in torch.
    """
    if size_average is not None or reduce is not None:
        sums = reduce is None or reduce
        reduction = "none" if not sums else "mean" if size_average is None or size_average else "sum"
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The elements of input, or +0 for negative ones. With inplace the result is put into input."""
    output = ops.relu(input)
    return input.copy_(output) if inplace else output


def softmax(input: Tensor, dim: int | None = None) -> Tensor:
    """Softmax along `dim`; None chooses as torch does: 0 for 0, 1 or 3 dimensions, else 1."""
    _check_tensor("softmax", input)
    return ops.softmax(input, _softmax_dim(input) if dim is None else dim)


def log_softmax(input: Tensor, dim: int | None = None) -> Tensor:
    """Logarithm of softmax along `dim`, chosen as for `softmax`."""
    _check_tensor("log_softmax", input)
    return ops.log_softmax(input, _softmax_dim(input) if dim is None else dim)


def _softmax_dim(input: Tensor) -> int:
    return 0 if input.dim() in (0, 1, 3) else 1


def max_pool2d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window of input (n, c, h, w) or (c, h, w), with return_indices also its place."""
    # An empty stride is torch's way to say: the kernel size.
    output, indices = ops.max_pool2d(
        input, kernel_size, kernel_size if stride is None or stride == [] else stride, padding, dilation, ceil_mode
    )
    return (output, indices) if return_indices else output
