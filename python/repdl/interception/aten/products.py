# SPDX-License-Identifier: MIT
"""Gradients of products of many numbers, by one formula wherever they are taken.

torch divides the product by each number where none of the whole tensor is 0, and multiplies the other numbers where one
is, or where a transform or a mode is there: a zero in one row would change the bits of the others.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of, overload, wide
from repdl.interception.override import composite, with_gradient
from repdl.interception.unwatched import is_followed


@with_gradient("prod.dim_int")
def prod_along(
    self: torch.Tensor, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    return Prod.apply(self, dim, keepdim, dtype)  # type: ignore[no-untyped-call]


@with_gradient("prod")
def prod(self: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    return Prod.apply(self, None, False, dtype)  # type: ignore[no-untyped-call]


class Prod(torch.autograd.Function):
    """Gradients and tangents are computed in the type of the result, or in float32, and rounded once."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, dim: int | None, keepdim: bool, dtype: torch.dtype | None) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.dim, ctx.keepdim, ctx.dtype = dim, keepdim, dtype or x.dtype
        with torch._C._AutoDispatchBelowAutograd():
            if dim is None:
                return overload("prod")(x, dtype=dtype)
            return overload("prod.dim_int")(x, dim, keepdim, dtype=dtype)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        if ctx.dim is not None and not ctx.keepdim and x.dim():
            grad = grad.unsqueeze(ctx.dim)
        found = grad * _others(x.to(wide(ctx.dtype)), ctx.dim).conj()
        return (found if x.is_complex() else torch.real(found)).to(x.dtype), None, None, None

    @staticmethod
    def jvp(ctx: Any, dx: torch.Tensor, *_: Any) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        dtype = wide(ctx.dtype)
        terms = _others(x.to(dtype), ctx.dim) * dx.to(dtype)
        along = () if ctx.dim is None or not x.dim() else (ctx.dim, ctx.keepdim)
        return terms.sum(*along).to(ctx.dtype)


def _others(x: torch.Tensor, dim: int | None) -> torch.Tensor:
    """In each place the product of the numbers before it times that of those behind it."""
    if dim is None or not x.dim():
        return _others(x.reshape(-1), 0).view(x.shape)
    if not x.shape[dim]:
        return x
    one = torch.ones_like(x.narrow(dim, 0, 1))
    length = x.shape[dim] - 1
    before = torch.cat((one, x.narrow(dim, 0, length)), dim).cumprod(dim)
    behind = torch.cat((one, x.narrow(dim, 1, length).flip(dim)), dim).cumprod(dim).flip(dim)
    return before * behind


_native_cumprod_backward = native_of("cumprod_backward")


@composite("cumprod_backward")
def cumprod_backward(grad: torch.Tensor, input: torch.Tensor, dim: int, output: torch.Tensor) -> torch.Tensor:
    """Where the gradient is recorded, torch divides if no number of the tensor is 0, and else multiplies in all rows.

    So rows with a zero and those without are given to it apart.
    """
    if not torch.is_grad_enabled() or is_followed(grad, input, output):  # no row has other steps for a zero elsewhere
        return _native_cumprod_backward(grad, input, dim, output)
    with_zero = (input.detach() == 0).any(dim, keepdim=True)
    if with_zero.all() or not with_zero.any():
        return _native_cumprod_backward(grad, input, dim, output)
    found = [
        _native_cumprod_backward(grad, input.where(where, number), dim, output.where(where, number))
        for where, number in ((with_zero, 0), (~with_zero, 1))
    ]
    return found[0].where(with_zero, found[1])
