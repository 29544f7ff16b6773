# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op(outputs=("output", "norm"))
def weight_norm(v: Tensor, g: Tensor, dim: int = 0, order: str | None = None) -> tuple[Tensor, Tensor]:
    """Weight normalization: v scaled so that what it has at each place along a dimension has the norm g.

    Args:
        v: float32 or float64, (n, …) or (…, n).
        g: float32 or float64, the shape of v with 1 for each dimension but dim.
        dim: the first or the last dimension of v.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        v * (g / norm), and the norms over all dimensions of v but dim, of the shape of g, which carry no gradient.

    Raises:
        ValueError: for a dimension of v between the first and the last.
    """


@op(outputs=("grad_v", "grad_g"))
def weight_norm_grad(
    grad_output: Tensor, v: Tensor, g: Tensor, norm: Tensor, dim: int = 0, order: str | None = None
) -> tuple[Tensor, Tensor]:
    """The gradients of weight_norm by v and g; norm is what weight_norm returned."""


@weight_norm.backward(saves=("v", "g", "norm"), non_differentiable=("norm",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    grads = weight_norm_grad(grad, saved.v, saved.g, saved.norm, saved.dim, saved.order)
    return dict(zip(("v", "g"), grads, strict=True))


def _rows(*names: str) -> Callable[[Mapping[str, Any], slice], Mapping[str, Any] | None]:
    def take(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        return rows_of(*names)(arguments, rows) if arguments.get("dim", 0) == 0 else None

    return take


weight_norm.rows(_rows("v", "g"))
weight_norm_grad.rows(_rows("grad_output", "v", "g", "norm"))


_SHAPES: tuple[tuple[tuple[int, ...], int], ...] = (
    ((5, 7, 3), 0),
    ((4, 64), 0),
    ((70, 9), -1),
    ((3, 2, 37), 2),
    ((131,), 0),
    ((3, 5000), 0),
    ((5000, 3), 1),
    ((300, 33), 0),
    ((130, 150), 1),
    # A row for all threads.
    ((1, 40000), 0),
    ((9, 4100, 1), -1),
    ((0, 4), 0),
    ((4, 0), 0),
    ((0, 4), 1),
)
"""Shapes of v, and the dimension that keeps its norms."""

_SMALL: tuple[tuple[tuple[int, ...], int], ...] = (((6, 20), 0), ((20, 6), 1))
"""The same for hard numbers."""


def _of_norms(shape: tuple[int, ...], dim: int) -> list[int]:
    return [n if d == dim % len(shape) else 1 for d, n in enumerate(shape)]


@weight_norm.samples
def _() -> Iterator[Sample]:
    for shape, dim in _SHAPES:
        yield sample(v=f"normal{list(shape)}#1", g=f"normal{_of_norms(shape, dim)}#2", dim=dim)
    for kind in ("wide", "special", "bits", "infinite", "tiny", "zeros"):
        for shape, dim in _SMALL:
            g = "normal" if kind == "zeros" else kind
            yield sample(v=f"{kind}{list(shape)}#1", g=f"{g}{_of_norms(shape, dim)}#2", dim=dim)


@weight_norm_grad.samples
def _() -> Iterator[Sample]:
    kinds = [("normal", "normal", shape, dim) for shape, dim in _SHAPES]
    for shape, dim in _SMALL:
        kinds += [(*pair, shape, dim) for pair in (("special", "bits"), ("tiny", "wide"), ("wide", "normal"))]
        kinds += [("normal", "zeros", shape, dim)]
    for grad, v, shape, dim in kinds:
        small = _of_norms(shape, dim)
        norm = "positive" if grad == "normal" and v != "zeros" else v
        operands = {"grad_output": f"{grad}{list(shape)}#1", "v": f"{v}{list(shape)}#2"}
        yield sample(**operands, g=f"normal{small}#3", norm=f"{norm}{small}#4", dim=dim)


@weight_norm.oracle
def _(v: Any, g: Any, dim: int = 0) -> Any:
    norm = np.sqrt((v * v).sum(axis=tuple(d for d in range(v.ndim) if d != dim % v.ndim), keepdims=True))
    return v * (g / norm), norm
