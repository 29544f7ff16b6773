# SPDX-License-Identifier: MIT
"""Composites that torch makes of other steps for other strides or ranks. Here the steps depend on nothing of it.

They are registered above autograd, and are made of differentiable calls of torch.
"""

from __future__ import annotations

import math

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from repdl import ops
from repdl._torch import PLAIN, has_tangent
from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.override import ANY_DTYPE, composite, op_or, override
from repdl.interception.unwatched import unwatched
from repdl.interception.variants import fill

_FLOATING = (torch.float64, torch.float32, torch.bfloat16, torch.float16)

_native_linear = native_of("linear")


@composite("linear")
def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """The product plus the bias, rounded once to a low precision: `addmm` of all rows."""
    return (_linear_at_once if unwatched(input, weight, bias) else _linear)(input, weight, bias)


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    rank = input.dim()
    if rank == 2 and bias is not None and weight.dim() == 2:
        return torch.addmm(bias, input, weight.t())
    if rank == 0 or weight.dim() == 0 or input.is_mkldnn:
        return _native_linear(input, weight, bias)  # which says what is wrong
    if bias is None or weight.dim() > 2:
        return torch.matmul(input, weight.t())
    if weight.dim() == 1:
        column = linear(input, weight[None], bias[..., None] if bias.dim() else bias)
        return column.squeeze(-1)
    shape = *input.shape[:-1], weight.shape[0]
    if bias.dim() > 1 and not (rank == 3 and bias.dim() == 2 and bias.shape[0] == shape[0] * shape[1]):
        bias = bias.expand(shape).flatten(0, -2)
    rows = input[None] if rank == 1 else input.flatten(0, -2)
    return torch.addmm(bias, rows, weight.t()).view(shape)


_linear_at_once = op_or("linear", _linear)


@override("linear.out", **ANY_DTYPE)
def linear_out(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *, out: torch.Tensor
) -> torch.Tensor:
    return fill(out, linear(input, weight, bias), converts=False)


_native_rms_norm = native_of("rms_norm")


@composite("rms_norm")
def rms_norm(
    input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor | None = None, eps: float | None = None
) -> torch.Tensor:
    """The op, whose gradients have gradients. In forward mode and for subclasses that wrap tensors, neither of which it
    takes, the steps that torch makes of it, of other bits."""
    if not _takes_rms_norm(input, tuple(normalized_shape), weight):
        return _native_rms_norm(input, normalized_shape, weight, eps)
    shape, dtype = tuple(normalized_shape), input.dtype
    computed = torch.float64 if dtype == torch.float64 else torch.float32
    eps = torch.finfo(computed).eps if eps is None else eps
    x, of_row = input.to(computed), None if weight is None else weight.to(computed)
    if input.dim() > 8:  # more than the op takes
        x, shape = x.flatten(-len(shape)).flatten(0, -2), (math.prod(shape),)
        of_row = None if of_row is None else of_row.flatten()
    output = ops.rms_norm(x, shape, of_row, eps)[0].view(input.shape).to(dtype)
    if input.is_contiguous():
        return output
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}  # which torch keeps
    kept = formats.get(input.dim())
    return output.contiguous(memory_format=kept) if kept and input.is_contiguous(memory_format=kept) else output


def _takes_rms_norm(input: torch.Tensor, shape: tuple[int, ...], weight: torch.Tensor | None) -> bool:
    given = (input,) if weight is None else (input, weight)
    if any(t.is_nested or t.layout != torch.strided or t.dtype != input.dtype for t in given):
        return False
    if any(type(t) not in PLAIN and is_traceable_wrapper_subclass(t) for t in given):
        return False
    # A transform of torch.func may hide the tangents of one outside of it.
    if forward_ad._current_level >= 0 and (peek_interpreter_stack() is not None or has_tangent(*given)):
        return False
    if input.dtype not in _FLOATING or input.device.type not in ("cpu", "meta") or not input.numel() or not shape:
        return False
    return tuple(input.shape[-len(shape) :]) == shape and (weight is None or tuple(weight.shape) == shape)


_native_bilinear = native_of("bilinear")


@composite("bilinear")
def bilinear(
    input1: torch.Tensor, input2: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Of each output k the product of weight[k] and input2, then that of input1 and these, plus the bias.

    A low precision is rounded to at the end alone.
    """
    fits = weight.dim() == 3 and min(input1.dim(), input2.dim()) > 0 and input1.shape[:-1] == input2.shape[:-1]
    if not fits or (input1.shape[-1], input2.shape[-1]) != weight.shape[1:] or input1.dtype != input2.dtype:
        return _native_bilinear(input1, input2, weight, bias)  # which says what is wrong
    dtype = input1.dtype
    if weight.dtype == dtype and dtype in LOW_DTYPES:
        first, second, kernel = (x.to(torch.float32) for x in (input1, input2, weight))
        shift = None if bias is None else bias.to(torch.float32)
        return bilinear(first, second, kernel, shift).to(dtype)
    rows = input2.reshape(-1, input2.shape[-1])
    inner = torch.mm(rows, weight.flatten(0, 1).t()).unflatten(1, weight.shape[:2])
    outer = torch.bmm(inner, input1.reshape(-1, input1.shape[-1], 1)).view(*input1.shape[:-1], weight.shape[0])
    return outer if bias is None else outer + bias


def _summed(x: torch.Tensor, y: torch.Tensor, dims: list[int], of: list[int]) -> torch.Tensor:
    """The first of two tensors, summed where only the other has size 1."""
    for d, e in zip(dims, of, strict=True):
        if y.shape[e] == 1 and x.shape[d] != 1:
            x = x.sum(d, keepdim=True, dtype=x.dtype)  # of integers int64 otherwise
    return x


@composite("tensordot")
def tensordot(self: torch.Tensor, other: torch.Tensor, dims_self: list[int], dims_other: list[int]) -> torch.Tensor:
    """One product over the dimensions that are named, in their order, whatever is left of the operands."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for d, e in zip(dims_self, dims_other, strict=True):
        if self.shape[d] != other.shape[e] and self.shape[d] != 1 and other.shape[e] != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.shape[d]} in dim {d} and second has "
                f"size {other.shape[e]} in dim {e}"
            )
    x, y = _summed(self, other, dims_self, dims_other), _summed(other, self, dims_other, dims_self)
    named, named_too = [d % x.dim() for d in dims_self], [d % y.dim() for d in dims_other]
    kept = [d for d in range(x.dim()) if d not in named]
    kept_too = [d for d in range(y.dim()) if d not in named_too]
    a, b = x.permute(*kept, *named), y.permute(*named_too, *kept_too)
    shape = a.shape[: len(kept)] + b.shape[len(named) :]
    length = a.shape[len(kept) :].numel()
    rows, columns = a.shape[: len(kept)].numel(), b.shape[len(named) :].numel()
    return torch.mm(a.reshape(rows, length), b.reshape(length, columns)).reshape(shape)


@composite("tensordot.out")
def tensordot_out(
    self: torch.Tensor, other: torch.Tensor, dims_self: list[int], dims_other: list[int], *, out: torch.Tensor
) -> torch.Tensor:
    result = tensordot(self, other, dims_self, dims_other)
    if out.dtype != result.dtype:
        raise RuntimeError(f"result of type {result.dtype} needs an out tensor of it, but got {out.dtype}")
    return fill(out, result)


def _in_rows(A: torch.Tensor) -> torch.Tensor:
    """torch factors the transpose of a matrix that lies in rows, the matrix of any other; so let all lie in rows."""
    return A.contiguous()


@composite("linalg_det")
def det(A: torch.Tensor) -> torch.Tensor:
    return torch._linalg_det(_in_rows(A))[0]


@composite("linalg_slogdet")
def slogdet(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    sign, logarithm, *_ = torch._linalg_slogdet(_in_rows(A))
    return sign, logarithm
