# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample
from repdl._order import get_order
from repdl.ops.elementwise.arithmetic import div, sqrt


@op(outputs=("output", "mean", "var"))
def batch_norm(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalization by the statistics of the batch.

    Args:
        input: float32 or float64, (n, c) or (n, c, …).
        weight, bias: float32 or float64, (c), or None.
        eps: added to the variance.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The normalized input, and the mean and (biased) variance of each channel, which carry no gradient.
    """


@op(outputs=("mean", "var"))
def batch_norm_stats(input: Tensor, order: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean and (biased) variance of each channel, which carry no gradient."""


@op()
def batch_norm_eval(
    input: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Batch normalization by given statistics, (c) each; the other arguments as for `batch_norm`."""


@op(outputs=("grad_input", "grad_weight", "grad_bias"))
def batch_norm_grad(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None = None,
    eps: float = 1e-05,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch_norm by input, weight and bias; mean and var are what batch_norm returned."""


@op(outputs=("grad_input", "grad_weight", "grad_bias"))
def batch_norm_eval_grad(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None = None,
    eps: float = 1e-05,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch_norm_eval by input, weight and bias."""


@op(outputs=())
def batch_norm_update(running: Tensor, value: Tensor, momentum: float, scale: float) -> None:
    """Moves a running statistic, in place, a share `momentum` of the way to `value * scale`."""


@batch_norm.backward(saves=("input", "mean", "var", "weight"), non_differentiable=("mean", "var"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    grads = batch_norm_grad(grad, saved.input, saved.mean, saved.var, saved.weight, saved.eps, saved.order)
    return dict(zip(("input", "weight", "bias"), grads, strict=True))


@batch_norm_eval.backward(saves=("input", "mean", "var", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    # The forward pass has no sum, so it took no order.
    grads = batch_norm_eval_grad(grad, saved.input, saved.mean, saved.var, saved.weight, saved.eps, get_order())
    grad_input, grad_weight, grad_bias = grads

    def grad_mean() -> Any:
        scale = saved.mean.new_ones(()) if saved.weight is None else saved.weight
        return -(div(scale, sqrt(saved.var + saved.eps)) * grad_bias)

    def grad_var() -> Any:
        by_scale = grad_weight if saved.weight is None else grad_weight * saved.weight
        return div(by_scale, (saved.var + saved.eps) * -2.0)

    return {"input": grad_input, "weight": grad_weight, "bias": grad_bias, "mean": grad_mean, "var": grad_var}


batch_norm.rows(no_rows)
batch_norm_stats.rows(no_rows)
batch_norm_grad.rows(no_rows)
batch_norm_eval.rows(rows_of("input"))
# The gradients of weight and bias are sums over the batch.
batch_norm_eval_grad.rows(no_rows)


_SHAPES = (
    (20, 5),
    (33, 19),
    (4, 3, 6, 7),
    (2, 70, 3),
    (1, 2, 70, 70),
    (3, 1, 5, 1, 2),
    (2, 9, 32, 32),
    (9000, 3),
    (200, 300),
)


@batch_norm.samples
def _() -> Iterator[Sample]:
    for shape in _SHAPES:
        yield sample(input=f"normal{list(shape)}#1")
        yield sample(
            input=f"wide{list(shape)}#1", weight=f"normal[{shape[1]}]#2", bias=f"normal[{shape[1]}]#3", eps=0.001
        )
    yield sample(input="special[40, 3]#1", weight="normal[3]#2")


@batch_norm_stats.samples
def _() -> Iterator[Sample]:
    for shape in _SHAPES:
        yield sample(input=f"normal{list(shape)}#1")
    yield sample(input="special[40, 3]#1")
    yield sample(input="wide[70, 33]#1")


@batch_norm_eval.samples
def _() -> Iterator[Sample]:
    for shape in _SHAPES:
        c = shape[1]
        yield sample(input=f"normal{list(shape)}#1", mean=f"normal[{c}]#2", var=f"positive[{c}]#3")
        yield sample(
            input=f"wide{list(shape)}#1", mean=f"normal[{c}]#2", var=f"positive[{c}]#3", weight=f"normal[{c}]#4",
            bias=f"normal[{c}]#5",
        )  # fmt: skip
    yield sample(input="special[40, 3]#1", mean="special[3]#2", var="positive[3]#3", weight="bits[3]#4")


def _gradient_samples() -> Iterator[Sample]:
    for shape in _SHAPES:
        c = shape[1]
        common = {
            "grad_output": f"normal{list(shape)}#1", "input": f"normal{list(shape)}#2", "mean": f"normal[{c}]#3",
            "var": f"positive[{c}]#4",
        }  # fmt: skip
        yield sample(**common)
        yield sample(**common, weight=f"normal[{c}]#5", eps=0.01)
    yield sample(
        grad_output="special[40, 3]#1",
        input="bits[40, 3]#2",
        mean="normal[3]#3",
        var="special[3]#4",
        weight="bits[3]#5",
    )


batch_norm_grad.samples(_gradient_samples)
batch_norm_eval_grad.samples(_gradient_samples)


@batch_norm_update.samples
def _() -> Iterator[Sample]:
    yield sample(running="normal[50]#1", value="normal[50]#2", momentum=0.1, scale=1.0)
    yield sample(running="normal[50]#1", value="positive[50]#2", momentum=0.3, scale=1.0009775171065494)
    yield sample(running="special[60]#1", value="bits[60]#2", momentum=0.1, scale=1.5)


def _by_channel(values: Any, ndim: int) -> Any:
    return values.reshape([-1] + [1] * (ndim - 2))


def _normalize(input: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    n = input.ndim
    y = (input - _by_channel(mean, n)) / np.sqrt(_by_channel(var, n) + eps)
    y = y if weight is None else y * _by_channel(weight, n)
    return y if bias is None else y + _by_channel(bias, n)


batch_norm_eval.oracle(_normalize)


def _stats(input: Any) -> Any:
    axes = tuple(d for d in range(input.ndim) if d != 1)
    return input.mean(axis=axes), input.var(axis=axes)


batch_norm_stats.oracle(_stats)


@batch_norm.oracle
def _(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    mean, var = _stats(input)
    return _normalize(input, mean, var, weight, bias, eps), mean, var
