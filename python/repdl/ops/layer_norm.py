# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample
from repdl.ops.elementwise.arithmetic import reciprocal, sqrt
from repdl.ops.sum import sum as sum_of


@op(outputs=("output", "mean", "rstd"))
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalization over the last dimensions.

    Args:
        input: float32 or float64, (…, *normalized_shape).
        normalized_shape: the last dimensions of input, at least one.
        weight, bias: float32 or float64, normalized_shape, or None.
        eps: added to the variance.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The normalized input, and the mean and the reciprocal of the standard deviation of each row, which carry no
        gradient: the shape of input with 1 for each normalized dimension.

    Raises:
        ValueError: if input does not end in normalized_shape, or a normalized dimension is empty.
    """


@op(outputs=("grad_input", "grad_weight", "grad_bias"))
def layer_norm_grad(
    grad_output: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None = None,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of layer_norm by input, weight and bias; mean and rstd are what layer_norm returned."""


@op(outputs=("grad_input",))
def layer_norm_grad_input(
    grad_output: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """The gradient of layer_norm by input alone, for a weight and a bias that are frozen."""


@op(outputs=("output", "rstd"))
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1.1920928955078125e-07,
    order: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Normalization by the root of the mean square over the last dimensions; arguments as for `layer_norm`.

    Returns:
        The normalized input, and the reciprocal of the root of each row, which carries no gradient: the shape of input
        with 1 for each normalized dimension.

    Raises:
        ValueError: if input does not end in normalized_shape, or a normalized dimension is empty.
    """


@op(outputs=("grad_input", "grad_weight"))
def rms_norm_grad(
    grad_output: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None = None,
    order: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradients of rms_norm by input and weight; rstd is what rms_norm returned."""


@op(outputs=("grad_input",))
def rms_norm_grad_input(
    grad_output: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """The gradient of rms_norm by input alone, for a weight that is frozen."""


rms_norm.shapes(lambda call: [call["input"].shape, _statistics_of(call["input"].shape, len(call["normalized_shape"]))])
rms_norm_grad.shapes(lambda call: [call["input"].shape, call["normalized_shape"]])
rms_norm_grad_input.shapes(lambda call: [call["input"].shape])


def _statistics_of(shape: Sequence[Any], normalized: int) -> list[Any]:
    """The shape of one number for each row."""
    return [*shape[: len(shape) - normalized], *[1] * normalized]


@layer_norm.backward(saves=("input", "mean", "rstd", "weight"), non_differentiable=("mean", "rstd"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    args = (grad, saved.input, saved.normalized_shape, saved.mean, saved.rstd, saved.weight, saved.order)
    if saved.needed <= {"input"}:
        return {"input": layer_norm_grad_input(*args)}
    return dict(zip(("input", "weight", "bias"), layer_norm_grad(*args), strict=True))


@rms_norm.backward(saves=("input", "rstd", "weight"), non_differentiable=("rstd",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    import torch

    if torch.is_grad_enabled():  # somebody differentiates the gradient
        return _differentiable_gradients(saved, grad)
    args = (grad, saved.input, saved.normalized_shape, saved.rstd, saved.weight, saved.order)
    if saved.needed <= {"input"}:
        return {"input": rms_norm_grad_input(*args)}
    return dict(zip(("input", "weight"), rms_norm_grad(*args), strict=True))


def _differentiable_gradients(saved: Any, grad: Any) -> dict[str, Any]:
    """Those of rms_norm, step by step as its contract has them, and with the same bits."""
    count = math.prod(saved.normalized_shape)
    x, g = (t.reshape(-1, count) for t in (saved.input, grad))
    r = float(np.float32(1 / count)) if x.itemsize == 4 else 1 / count
    rstd = reciprocal(sqrt(sum_of(x * x, (1,), True, order=saved.order) * r + saved.eps))
    h, u = x * rstd, g if saved.weight is None else g * saved.weight.reshape(-1)
    b = sum_of(u * h, (1,), True, order=saved.order)
    grad_input = rstd * (u - h * (b * r))
    return {
        "input": grad_input.reshape(saved.input.shape),
        "weight": lambda: sum_of(g * h, (0,), order=saved.order).reshape(saved.weight.shape),
    }


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    if arguments["input"].ndim == len(arguments["normalized_shape"]):
        return None
    return rows_of("grad_output", "input", "mean", "rstd")(arguments, rows)


layer_norm.rows(_rows)
rms_norm.rows(_rows)
layer_norm_grad_input.rows(_rows)
rms_norm_grad_input.rows(_rows)
# The gradients of weight and bias are sums over the batch.
layer_norm_grad.rows(no_rows)
rms_norm_grad.rows(no_rows)


_SHAPES = (((5, 10), 1), ((3, 64), 1), ((2, 5000), 1), ((4, 3, 5, 7), 2), ((131,), 1), ((300, 33), 1))
"""Shapes of inputs, and how many of their dimensions are normalized."""

_LONG_SHAPES = (((8300, 3), 1), ((4100, 1, 2), 2))
"""The same with more rows than a chunk, where the gradients sum over the rows."""


def _forward_samples(*affine: str) -> Iterator[Sample]:
    for shape, normalized in (*_SHAPES, ((0, 4), 1)):
        inner = shape[-normalized:]
        yield sample(input=f"normal{list(shape)}#1", normalized_shape=inner)
        given = {name: f"normal{list(inner)}#{i}" for i, name in enumerate(affine, 2)}
        yield sample(input=f"normal{list(shape)}#1", normalized_shape=inner, **given, eps=0.001)
    # The gradient by one number alone is a difference of equals, nothing to compare with another.
    yield sample(input="wide[4, 1]#1", normalized_shape=(1,))
    for kind in ("wide", "special", "bits", "infinite", "tiny"):
        given = {name: f"{kind}[20]#{i}" for i, name in enumerate(affine, 4)}
        yield sample(input=f"{kind}[6, 20]#3", normalized_shape=(20,), **given)


def _gradient_samples(*statistics: str) -> Iterator[Sample]:
    for shape, normalized in (*_SHAPES, *_LONG_SHAPES, ((4, 1), 1), ((0, 4), 1), ((4, 0), 1)):
        inner, ones = shape[-normalized:], [*shape[:-normalized], *[1] * normalized]
        common = {
            "grad_output": f"normal{list(shape)}#1", "input": f"normal{list(shape)}#2", "normalized_shape": inner,
            **{name: f"{'normal' if name == 'mean' else 'positive'}{ones}#3" for name in statistics},
        }  # fmt: skip
        yield sample(**common)
        yield sample(**common, weight=f"normal{list(inner)}#5")
    for kinds in (("special", "bits"), ("tiny", "wide"), ("wide", "normal")):
        g, x = kinds
        given = {name: f"{g}[6, 1]#{i}" for i, name in enumerate(statistics, 3)}
        yield sample(
            grad_output=f"{g}[6, 20]#1", input=f"{x}[6, 20]#2", normalized_shape=(20,), **given, weight=f"{x}[20]#5"
        )


layer_norm.samples(lambda: _forward_samples("weight", "bias"))
rms_norm.samples(lambda: _forward_samples("weight"))
layer_norm_grad.samples(lambda: _gradient_samples("mean", "rstd"))
rms_norm_grad.samples(lambda: _gradient_samples("rstd"))
layer_norm_grad_input.samples(lambda: _gradient_samples("mean", "rstd"))
rms_norm_grad_input.samples(lambda: _gradient_samples("rstd"))


@layer_norm.oracle
def _(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    axes = tuple(range(-len(normalized_shape), 0))
    mean = input.mean(axis=axes, keepdims=True)
    rstd = 1 / np.sqrt(input.var(axis=axes, keepdims=True) + eps)
    output = (input - mean) * rstd
    output = output if weight is None else output * weight
    return output if bias is None else output + bias, mean, rstd


@rms_norm.oracle
def _(input: Any, normalized_shape: Any, weight: Any = None, eps: float = 1.1920928955078125e-07) -> Any:
    axes = tuple(range(-len(normalized_shape), 0))
    rstd = 1 / np.sqrt((input * input).mean(axis=axes, keepdims=True) + eps)
    output = input * rstd
    return output if weight is None else output * weight, rstd
