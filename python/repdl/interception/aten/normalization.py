# SPDX-License-Identifier: MIT
"""Normalisation over features, groups and batches, and of weights."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from repdl import ops as repdl_ops
from repdl._order import get_order
from repdl._torch import PLAIN, may_have_tangents
from repdl.interception import core as _core
from repdl.interception.dtypes import FLOATING
from repdl.interception.native import is_served, native_of
from repdl.interception.ops_by_dtype import Ops
from repdl.interception.override import composite, op_or, override
from repdl.interception.strides import memory_format
from repdl.interception.unwatched import unwatched

Tensors3 = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]


@override("native_layer_norm", op="layer_norm", low="first", wide="float64", alike=(0, 2, 3), beside_float32=True)
def native_layer_norm(
    input: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
    *,
    ops: Ops = _core.ops,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if not input.numel():  # the op refuses rows without numbers
        rows = [1 if d >= input.dim() - len(normalized_shape) else n for d, n in enumerate(input.shape)]
        return torch.empty_like(input), input.new_full(rows, torch.nan), input.new_full(rows, torch.nan)
    return ops["layer_norm"](input, tuple(normalized_shape), weight, bias, eps, get_order())


@override("native_layer_norm_backward", op="layer_norm_grad", constants={6: ..., 7: [True, True, True]}, wide="float64")
def native_layer_norm_backward(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    normalized_shape: list[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    output_mask: list[bool],
    *,
    ops: Ops = _core.ops,
) -> Tensors3:
    shape = tuple(normalized_shape)
    if not input.numel():
        return _masked((torch.zeros_like(input), *(input.new_zeros(shape) for _ in range(2))), output_mask)
    args = (grad_out, input, shape, mean, rstd, weight, get_order())
    if not any(output_mask[1:]):  # the parameters are frozen
        return ops["layer_norm_grad_input"](*args) if output_mask[0] else None, None, None
    return _masked(ops["layer_norm_grad"](*args), output_mask)


_native_rms_norm = native_of("rms_norm")


@composite("rms_norm")
def rms_norm(
    input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor | None = None, eps: float | None = None
) -> torch.Tensor:
    """The op, whose gradients have gradients. In forward mode and for subclasses that wrap tensors, neither of which it
    takes, the steps that torch makes of it, of other bits."""
    computed = torch.float64 if input.dtype == torch.float64 else torch.float32
    least = torch.finfo(computed).eps if eps is None else eps
    if unwatched(input, weight) and input.is_contiguous() and input.numel() and normalized_shape:
        found = _rms_norm_at_once(input, normalized_shape, weight, least)
        if found is not None:
            return found[0]
    if not _takes_rms_norm(input, tuple(normalized_shape), weight):
        return _native_rms_norm(input, normalized_shape, weight, eps)
    shape, dtype = tuple(normalized_shape), input.dtype
    x, of_row = input.to(computed), None if weight is None else weight.to(computed)
    if input.dim() > 8:  # more than the op takes
        x, shape = x.flatten(-len(shape)).flatten(0, -2), (math.prod(shape),)
        of_row = None if of_row is None else of_row.flatten()
    output = repdl_ops.rms_norm(x, shape, of_row, least)[0].view(input.shape).to(dtype)
    return output.contiguous(memory_format=memory_format(input))


_rms_norm_at_once = op_or("rms_norm")


def _takes_rms_norm(input: torch.Tensor, shape: tuple[int, ...], weight: torch.Tensor | None) -> bool:
    given = (input,) if weight is None else (input, weight)
    if any(t.is_nested or t.layout != torch.strided or t.dtype != input.dtype for t in given):
        return False
    if any(type(t) not in PLAIN and is_traceable_wrapper_subclass(t) for t in given):
        return False
    if may_have_tangents(*given):
        return False
    if input.dtype not in FLOATING or not is_served(input.device) or not input.numel() or not shape:
        return False
    return tuple(input.shape[-len(shape) :]) == shape and (weight is None or tuple(weight.shape) == shape)


def _as_channels(x: torch.Tensor, samples: int, channels: int, places: int) -> torch.Tensor:
    """The tensor as samples of channels of places, unless it has these dimensions."""
    if samples * channels * places != x.numel():
        raise RuntimeError(
            f"[native_group_norm] N = {samples}, C = {channels} and HxW = {places} do not make up the {x.numel()} "
            f"elements of a tensor of shape {tuple(x.shape)}; pass sizes whose product is that number"
        )
    return x if x.shape[:2] == (samples, channels) else x.reshape(samples, channels, places)


@override(
    "native_group_norm",
    op="group_norm",
    constants={3: slice(1), 4: slice(1, 2), 5: slice(2, None)},
    moved={6: "num_groups"},
    contiguous=True,
    low="first",
    wide="float64",
    alike=(0, 1, 2),
    beside_float32=True,
)
def native_group_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    *,
    ops: Ops = _core.ops,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x = _as_channels(input, N, C, HxW)
    if not input.numel():
        unknown = input.new_full((N, group), torch.nan)
        return torch.empty_like(input), unknown, unknown.clone()
    output, mean, rstd = ops["group_norm"](x, group, weight, bias, eps, get_order())
    return _like_input(output.reshape(input.shape), input), mean, rstd


@override(
    "native_group_norm_backward",
    op="group_norm_grad",
    constants={5: slice(1), 6: slice(1, 2), 7: slice(2, None), 8: ..., 9: [True, True, True]},
    contiguous=True,
    wide="float64",
)
def native_group_norm_backward(
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
    *,
    ops: Ops = _core.ops,
) -> Tensors3:
    if not input.numel():
        return _masked((torch.zeros_like(input), *(input.new_zeros(C) for _ in range(2))), output_mask)
    g, x = (_as_channels(t, N, C, HxW) for t in (grad_out, input))
    args = (g, x, mean.reshape(N, group), rstd.reshape(N, group), weight, get_order())
    if not any(output_mask[1:]):
        grad = ops["group_norm_grad_input"](*args).reshape(input.shape) if output_mask[0] else None
        return None if grad is None else _like_input(grad, input), None, None
    grads = ops["group_norm_grad"](*args)
    return _masked((_like_input(grads[0].reshape(input.shape), input), *grads[1:]), output_mask)


def _type_of_parameters(input: torch.Tensor, *parameters: torch.Tensor | None) -> torch.dtype:
    return next((t.dtype for t in parameters if t is not None), input.dtype)


def _widened(first: torch.Tensor, *tensors: torch.Tensor | None) -> list[Any]:
    dtype = torch.float64 if first.dtype == torch.float64 else torch.float32
    return [None if t is None else t.to(dtype) for t in (first, *tensors)]


_batch_norm_eval_at_once = op_or("batch_norm_eval")


@override(
    *("native_batch_norm", "_native_batch_norm_legit"),
    low="compute",
    wide="float64",
    alike=(0, 1, 2, 3, 4),
    beside_float32=True,
)
def _batch_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    ops: Ops = _core.ops,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The ops `batch_norm`, `batch_norm_eval` and `batch_norm_update`, of float32 numbers.

    The result has the type of the input, the statistics that of the parameters, each rounded once. The statistics
    are those of the batch: the mean, and 1 / sqrt(var + eps), two roundings; without training they are empty. A running
    variance of batches of one number becomes NaN.
    """
    given = _type_of_parameters(input, weight, bias, running_mean)
    if not training:
        output = _batch_norm_eval_at_once(input, running_mean, running_var, weight, bias, eps)
        if output is None:
            output = ops["batch_norm_eval"](*_widened(input, running_mean, running_var, weight, bias), eps)
        return _like_input(output, input), input.new_empty(0, dtype=given), input.new_empty(0, dtype=given)
    x, scale, shift, last_mean, last_var = _widened(input, weight, bias, running_mean, running_var)
    output, mean, var = ops["batch_norm"](x, scale, shift, eps, get_order())
    count = input.numel() // max(input.shape[1], 1)
    if running_mean is not None and last_mean is not None:
        ops["batch_norm_update"](last_mean, mean, momentum, 1.0)
        running_mean.copy_(last_mean)
    if running_var is not None and last_var is not None:
        ops["batch_norm_update"](last_var, var, momentum, count / (count - 1) if count > 1 else float("nan"))
        running_var.copy_(last_var)
    rstd = ops["reciprocal"](ops["sqrt"](ops["add"](var, var.new_full((), eps))))
    return _like_input(output, input), mean.to(given), rstd.to(given)


@override("_native_batch_norm_legit.no_stats", low="compute", wide="float64", alike=(0, 1, 2), beside_float32=True)
def _native_batch_norm_legit_no_stats(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    ops: Ops = _core.ops,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _batch_norm(input, weight, bias, None, None, training, momentum, eps, ops=ops)


@override("_native_batch_norm_legit_no_training", low="compute", wide="float64")
def _native_batch_norm_legit_no_training(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    momentum: float,
    eps: float,
    *,
    ops: Ops = _core.ops,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, ops=ops)


_Four = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def _declare_with_reserve(name: str, training: bool) -> None:
    @override(name, low="compute", wide="float64")
    def batch_norm_with_reserve(
        input: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        running_mean: torch.Tensor | None,
        running_var: torch.Tensor | None,
        momentum: float,
        eps: float,
        *,
        ops: Ops = _core.ops,
    ) -> _Four:
        """The last result is what cuDNN keeps for the gradient: here nothing."""
        results = _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, ops=ops)
        return *results, input.new_empty(0, dtype=torch.uint8)


_declare_with_reserve("_batch_norm_with_update", True)
_declare_with_reserve("_batch_norm_no_update", False)


@override("batch_norm_backward", low="compute", wide="float64")
def batch_norm_backward(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    save_mean: torch.Tensor | None,
    save_var: torch.Tensor | None,
    update: bool,
    eps: float,
    output_mask: list[bool],
    reserve: torch.Tensor,
    *,
    ops: Ops = _core.ops,
) -> Tensors3:
    args = (grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask)
    return native_batch_norm_backward(*args, ops=ops)


@override("native_batch_norm_backward", low="compute", wide="float64")
def native_batch_norm_backward(
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
    *,
    ops: Ops = _core.ops,
) -> Tensors3:
    """The ops `batch_norm_grad`, whose statistics are taken from the input again, and `batch_norm_eval_grad`.

    Each result is rounded once: the gradients of the parameters have the type of the parameters.
    """
    g, x, scale, mean, var = _widened(grad_out, input, weight, running_mean, running_var)
    given = _type_of_parameters(input, weight, running_mean, save_mean)
    if train:
        # torch saves 1 / std; the gradient is defined by the variance, which is taken again.
        mean, var = ops["batch_norm_stats"](x, get_order())
        grads = ops["batch_norm_grad"](g, x, mean, var, scale, eps, get_order())
    elif not any(output_mask[1:]):
        std = ops["sqrt"](ops["add"](var, var.new_full((), eps)))
        by_channel = [1, -1, *[1] * (x.dim() - 2)]
        factor = ops["div"](torch.ones_like(std) if scale is None else scale, std).reshape(by_channel)
        return _like_input(ops["mul"](factor, g), input) if output_mask[0] else None, None, None
    else:
        grads = ops["batch_norm_eval_grad"](g, x, mean, var, scale, eps, get_order())
    return _masked((_like_input(grads[0], input), *(t.to(given) for t in grads[1:])), output_mask)


def _masked(grads: tuple[torch.Tensor, ...], output_mask: list[bool]) -> Tensors3:
    grad_input, grad_weight, grad_bias = (g if wanted else None for g, wanted in zip(grads, output_mask, strict=True))
    return grad_input, grad_weight, grad_bias


def _like_input(output: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """In the type of the input, and in channels-last layout if that is."""
    return output.to(input.dtype).contiguous(memory_format=memory_format(input))


@override("_weight_norm_interface", op="weight_norm", wide="float64", alike=(0, 1))
def _weight_norm_interface(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return _core.ops["weight_norm"](v, g, dim, get_order())


@override("_weight_norm_interface_backward", op="weight_norm_grad", wide="float64")
def _weight_norm_interface_backward(
    grad_w: torch.Tensor, saved_v: torch.Tensor, saved_g: torch.Tensor, saved_norms: torch.Tensor, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    return _core.ops["weight_norm_grad"](grad_w, saved_v, saved_g, saved_norms, dim, get_order())
