# SPDX-License-Identifier: MIT
"""Normalisation over features, groups and batches, and of weights."""

from __future__ import annotations

import torch

from repdl import _core
from repdl._order import get_order
from repdl.interception.aten.reduction import sum_of
from repdl.interception.override import memory_format, override

Tensors3 = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]


@override("native_layer_norm", op="layer_norm", low="first")
def _(
    input: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _core.ops["layer_norm"](input, tuple(normalized_shape), weight, bias, eps, get_order())


@override("native_layer_norm_backward")
def _(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    normalized_shape: list[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    output_mask: list[bool],
) -> Tensors3:
    shape = tuple(normalized_shape)
    grads = _core.ops["layer_norm_grad"](grad_out, input, shape, mean, rstd, weight, get_order())
    return _masked(grads, output_mask)


@override("native_group_norm", low="first")
def _(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    output, mean, rstd = _core.ops["group_norm"](input, group, weight, bias, eps, get_order())
    return _like_input(output, input), mean.reshape(N, group), rstd.reshape(N, group)


@override("native_group_norm_backward")
def _(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: list[bool],
) -> Tensors3:
    grads = _core.ops["group_norm_grad"](grad_out, input, mean, rstd, weight, get_order())
    return _masked((_like_input(grads[0], input), *grads[1:]), output_mask)


def _widened(*tensors: torch.Tensor | None) -> list[torch.Tensor | None]:
    return [None if t is None else t.to(torch.float32) for t in tensors]


@override("native_batch_norm", "_native_batch_norm_legit", low="compute")
def _batch_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The result has the type of the input, whatever that of the parameters."""
    x, scale, shift, last_mean, last_var = _widened(input, weight, bias, running_mean, running_var)
    if not training:
        output = _core.ops["batch_norm_eval"](x, last_mean, last_var, scale, shift, eps)
        return _like_input(output, input), input.new_empty(0), input.new_empty(0)
    output, mean, var = _core.ops["batch_norm"](x, scale, shift, eps, get_order())
    count = input.numel() // max(input.shape[1], 1)
    if running_mean is not None and last_mean is not None:
        _core.ops["batch_norm_update"](last_mean, mean, momentum, 1.0)
        running_mean.copy_(last_mean)
    if running_var is not None and last_var is not None:
        _core.ops["batch_norm_update"](last_var, var, momentum, count / (count - 1) if count > 1 else float("nan"))
        running_var.copy_(last_var)
    return _like_input(output, input), mean, _core.ops["sqrt"](var + eps).reciprocal()


@override("_native_batch_norm_legit.no_stats", low="compute")
def _(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _batch_norm(input, weight, bias, None, None, training, momentum, eps)


@override("_native_batch_norm_legit_no_training", low="compute")
def _(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


@override("native_batch_norm_backward", low="compute")
def _(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    save_mean: torch.Tensor | None,
    save_invstd: torch.Tensor | None,
    train: bool,
    eps: float,
    output_mask: list[bool],
) -> Tensors3:
    g, x, scale, mean, var = _widened(grad_out, input, weight, running_mean, running_var)
    if train:
        # torch saves 1 / std; the gradient is defined by the variance, which is taken again.
        _, mean, var = _core.ops["batch_norm"](x, None, None, eps, get_order())
        grads = _core.ops["batch_norm_grad"](g, x, mean, var, scale, eps, get_order())
    else:
        grads = _core.ops["batch_norm_eval_grad"](g, x, mean, var, scale, eps, get_order())
    return _masked((_like_input(grads[0], input), *grads[1:]), output_mask)


def _masked(grads: tuple[torch.Tensor, ...], output_mask: list[bool]) -> Tensors3:
    grad_input, grad_weight, grad_bias = (g if wanted else None for g, wanted in zip(grads, output_mask, strict=True))
    return grad_input, grad_weight, grad_bias


def _like_input(output: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """In the type of the input, and in channels-last layout if that is."""
    return output.to(input.dtype).contiguous(memory_format=memory_format(input))


@override("_weight_norm_interface")
def _(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """v * (g / norm), the norm over all dimensions but one."""
    others = tuple(d for d in range(v.dim()) if d != dim % v.dim())
    norm = _core.ops["sqrt"](sum_of(v * v, others, True))
    return v * (g / norm), norm


@override("_weight_norm_interface_backward")
def _(
    grad_w: torch.Tensor, saved_v: torch.Tensor, saved_g: torch.Tensor, saved_norms: torch.Tensor, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    others = tuple(d for d in range(saved_v.dim()) if d != dim % saved_v.dim())
    along = sum_of(grad_w * saved_v, others, True)
    grad_v = (saved_g / saved_norms) * (grad_w - saved_v * (along / (saved_norms * saved_norms)))
    return grad_v, along / saved_norms
