# SPDX-License-Identifier: MIT
"""The differentiable functions of microsoft/RepDL 0.1."""

from __future__ import annotations

import torch

from repdl import ops


class _Expand(torch.autograd.Function):
    """Repeats along new or unit dimensions; its gradient is a sum, which must be ours."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, input: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        ctx.input_shape = input.shape  # type: ignore[attr-defined]
        return input.expand(shape)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        shape: torch.Size = ctx.input_shape  # type: ignore[attr-defined]
        extra = grad.dim() - len(shape)
        repeated = tuple(d for d in range(grad.dim()) if d < extra or (shape[d - extra] == 1 and grad.shape[d] != 1))
        return (ops.sum(grad, repeated) if repeated else grad).reshape(shape), None


def expand_as(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """`input.expand_as(other)` with a reproducible gradient.

    Args:
        input: float32, a shape that broadcasts to that of other: (n) to (m, n), (c, 1, 1) to (n, c, h, w), ….
        other: the tensor whose shape is taken.

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: if one of them is not a torch tensor.
    """
    for name, value in (("input", input), ("other", other)):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"[expand_as] {name} must be a torch tensor, got {type(value).__name__}")
    fits = all(a in (1, b) for a, b in zip(reversed(input.shape), reversed(other.shape), strict=False))
    if not fits or input.dim() > other.dim():
        raise ValueError(
            f"[expand_as] input of shape {tuple(input.shape)} does not broadcast to {tuple(other.shape)}, that of other"
        )
    return _Expand.apply(input, other.shape)  # type: ignore[no-any-return, no-untyped-call]


def mean1d(input: torch.Tensor) -> torch.Tensor:
    """The mean of a vector (n): the sum times float32(1 / n)."""
    return ops.sum1d(input, average=True)


def mean2d_dim0(input: torch.Tensor) -> torch.Tensor:
    """The mean of each column of a matrix (m, n), shape (n)."""
    return ops.sum2d_dim0(input, average=True)


def mean4d_dim023(input: torch.Tensor) -> torch.Tensor:
    """The mean of each channel of images (n, c, h, w), shape (c)."""
    return ops.sum4d_dim023(input, average=True)
