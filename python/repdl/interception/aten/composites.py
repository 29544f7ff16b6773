# SPDX-License-Identifier: MIT
"""Composites that torch makes of other steps for other strides or ranks. Here the steps depend on nothing of it.

They are registered above autograd, and are made of differentiable calls of torch.
"""

from __future__ import annotations

import torch

from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.override import ANY_DTYPE, composite, op_or, override
from repdl.interception.unwatched import unwatched
from repdl.interception.variants import fill

_native_linear = native_of("linear")


@composite("linear")
def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """The product plus the bias, rounded once to a low precision: `addmm` of all rows."""
    return (_linear_at_once if unwatched(input, weight, bias) else _linear)(input, weight, bias)


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    rank = input.dim()
    if rank == 0 or weight.dim() == 0 or input.is_mkldnn:
        return _native_linear(input, weight, bias)  # which says what is wrong
    if rank == 2 and bias is not None:
        return torch.addmm(bias, input, weight.t())  # which refuses weights that are no matrix, as torch does
    if bias is None or weight.dim() > 2:
        return torch.matmul(input, weight.t())
    if weight.dim() == 1:
        column = linear(input, weight[None], bias.expand(input.shape[:-1])[..., None])
        return column.squeeze(-1)
    if rank == 1:
        return _linear(input[None], weight, bias)[0]
    shape = *input.shape[:-1], weight.shape[0]
    if bias.dim() > 1 and not (rank == 3 and bias.dim() == 2 and bias.shape[0] == shape[0] * shape[1]):
        bias = bias.expand(shape).flatten(0, -2)
    return torch.addmm(bias, input.flatten(0, -2), weight.t()).view(shape)


_linear_at_once = op_or("linear", _linear)


@override("linear.out", **ANY_DTYPE)
def linear_out(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *, out: torch.Tensor
) -> torch.Tensor:
    return fill(out, linear(input, weight, bias), converts=False)


@composite("dropout", on_devices=True)
def dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """In the steps that torch takes on the CPU; on other devices it has a single one."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype, device=input.device)
    return input * torch.empty_like(input).bernoulli_(1 - p).div_(1 - p)


def _casts(x: torch.Tensor) -> bool:
    """Whether autocast is in force where the tensor is."""
    device = x.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


_native_bilinear = native_of("bilinear")


@composite("bilinear")
def bilinear(
    input1: torch.Tensor, input2: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Of each output k the product of weight[k] and input2, then that of input1 and these, plus the bias.

    A low precision is rounded to at the end alone. Autocast leaves the op alone, and so its steps.
    """
    if _casts(input1):
        with torch.autocast(input1.device.type, enabled=False):
            return bilinear(input1, input2, weight, bias)
    fits = weight.dim() == 3 and min(input1.dim(), input2.dim()) > 0 and input1.shape[:-1] == input2.shape[:-1]
    fits = fits and (input1.shape[-1], input2.shape[-1]) == weight.shape[1:] and input1.dtype == input2.dtype
    if not fits or (bias is not None and bias.shape != weight.shape[:1]):
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
    """One product over the dimensions that are named, in their order, whatever is left of the operands.

    If nothing is left, autocast leaves it alone, as it does torch's step for these.
    """
    if self.dim() == other.dim() == len(dims_self) and _casts(self):
        with torch.autocast(self.device.type, enabled=False):
            return tensordot(self, other, dims_self, dims_other)
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
    a, b = x.permute((*kept, *named)), y.permute((*named_too, *kept_too))
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
