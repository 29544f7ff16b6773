# SPDX-License-Identifier: MIT
"""Composites of torch that use an operand twice in one expression of C++, whose order is the compiler's choice.

Autograd adds the gradients of an operand in that order, and with those of its other uses. Behind a view of its own the
two gradients of a composite are added first, and a sum of two has no order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import composite


def _apart(x: torch.Tensor) -> torch.Tensor:
    """The tensor, as an operand whose gradients are added before those of its other uses."""
    return x.view_as(x)


@composite("poisson_nll_loss")
def poisson_nll_loss(
    input: torch.Tensor, target: torch.Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> torch.Tensor:
    """The product before the exponential: in torch the compiler chooses, and gradients are added in that order."""
    if log_input:
        product = target * input
        loss = input.exp() - product
    else:
        loss = input - target * (input + eps).log()
    if full:
        logarithm = 0.5 * (2 * math.pi * target).log()
        loss += (target * target.log() - target + logarithm).masked_fill(target <= 1, 0)
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


_cosine_similarity = native_of("cosine_similarity")
_diff = native_of("diff")
_trapezoid, _trapezoid_of_points = native_of("trapezoid.dx"), native_of("trapezoid.x")


@composite("cosine_similarity")
def cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, dim: int = 1, eps: float = 1e-8) -> torch.Tensor:
    return _cosine_similarity(_apart(x1), _apart(x2), dim, eps)


@composite("diff")
def diff(
    self: torch.Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: torch.Tensor | None = None,
    append: torch.Tensor | None = None,
) -> torch.Tensor:
    return _diff(_apart(self), n, dim, prepend, append)


@composite("trapezoid.dx")
def trapezoid(y: torch.Tensor, *, dx: float = 1, dim: int = -1) -> torch.Tensor:
    """Of its three gradients no two but at the ends have a number at one place."""
    return _trapezoid(_apart(y), dx=dx, dim=dim)


@composite("trapezoid.x")
def trapezoid_of_points(y: torch.Tensor, x: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    return _trapezoid_of_points(_apart(y), _apart(x), dim=dim)


_along = {False: native_of("gradient.scalararray"), True: native_of("gradient.tensorarray")}
"""Gradients along one dimension, by whether the spacing is that of points."""


def _between_points(self: torch.Tensor, points: torch.Tensor, dim: int) -> torch.Tensor:
    """torch's formula of second order, whose three terms C++ adds in any order."""
    shape = [-1 if d == dim else 1 for d in range(self.dim())]
    steps = torch.diff(points)
    before, after = steps[:-1], steps[1:]
    both = before + after
    factors = -after / (before * both), (after - before) / (before * after), before / (after * both)
    length = self.shape[dim] - 2
    first, second, third = (f.view(shape) * self.narrow(dim, i, length) for i, f in enumerate(factors))
    return first + second + third


def _gradient_along(self: torch.Tensor, spacing: Any, dim: int, edge_order: int) -> torch.Tensor:
    """The ends apart from what lies between, where three gradients would meet at one place."""
    dim %= self.dim()
    of_points = isinstance(spacing, torch.Tensor)

    def along(order: int) -> torch.Tensor:
        given = [_apart(spacing)] if of_points else spacing
        (result,) = _along[of_points](_apart(self), spacing=given, dim=[dim], edge_order=order)
        return result

    whole = along(edge_order)
    if edge_order == 1 and not of_points:
        return whole
    length = self.shape[dim]
    between = _between_points(self, spacing, dim) if of_points else along(1).narrow(dim, 1, length - 2)
    return torch.cat([whole.narrow(dim, 0, 1), between, whole.narrow(dim, length - 1, 1)], dim)


def _declare_gradient(overload: str) -> None:
    native: Callable[..., list[torch.Tensor]] = native_of(f"gradient.{overload}")

    @composite(f"gradient.{overload}")
    def gradient(
        self: torch.Tensor,
        *,
        spacing: Any = None,
        dim: int | Sequence[int] | None = None,
        edge_order: int = 1,
    ) -> list[torch.Tensor]:
        dims = range(self.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
        spacings = spacing if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(dims)
        known = {d % self.dim() for d in dims if -self.dim() <= d < self.dim()}
        sizes = [self.shape[d] for d in known]
        if (
            not known
            or not len(known) == len(dims) == len(spacings)
            or edge_order not in (1, 2)
            or min(sizes) <= edge_order
        ):
            given = {"spacing": spacing} if overload != "array" else {}
            return native(self, **given, dim=dim, edge_order=edge_order)  # which says what is wrong
        return [_gradient_along(self, s, d, edge_order) for s, d in zip(spacings, dims, strict=True)]


for _overload in (
    "scalarint", "scalararray", "array", "scalarrayint", "scalarrayarray", "tensorarrayint", "tensorarray",
):  # fmt: skip
    _declare_gradient(_overload)
