# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample


@op(outputs=("output", "mean", "rstd"))
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalization of each sample over groups of its channels.

    Args:
        input: float32 or float64, (n, c) or (n, c, …).
        num_groups: a divisor of c.
        weight, bias: float32 or float64, (c), or None.
        eps: added to the variance.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The normalized input, and the mean and the reciprocal of the standard deviation of each group, (n, num_groups),
        which carry no gradient.

    Raises:
        ValueError: if num_groups does not divide c, or a group is empty.
    """


@op(outputs=("grad_input", "grad_weight", "grad_bias"))
def group_norm_grad(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None = None,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of group_norm by input, weight and bias; mean and rstd are what group_norm returned."""


@op(outputs=("grad_input",))
def group_norm_grad_input(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """The gradient of group_norm by input alone, for a weight and a bias that are frozen."""


@group_norm.backward(saves=("input", "mean", "rstd", "weight"), non_differentiable=("mean", "rstd"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    args = (grad, saved.input, saved.mean, saved.rstd, saved.weight, saved.order)
    if saved.needed <= {"input"}:
        return {"input": group_norm_grad_input(*args)}
    return dict(zip(("input", "weight", "bias"), group_norm_grad(*args), strict=True))


group_norm.rows(rows_of("input"))
group_norm_grad_input.rows(rows_of("grad_output", "input", "mean", "rstd"))
# The gradients of weight and bias are sums over the batch.
group_norm_grad.rows(no_rows)


_SHAPES = (
    ((5, 6), 3), ((2, 4, 35), 2), ((3, 70, 9, 2), 7), ((2, 3, 70, 70), 1), ((40, 2, 131), 2), ((70, 64), 1),
    ((3, 1, 2), 1),
)  # fmt: skip
"""Shapes of inputs, and numbers of groups."""


@group_norm.samples
def _() -> Iterator[Sample]:
    for shape, num_groups in (*_SHAPES, ((0, 4, 2), 2)):
        c = shape[1]
        yield sample(input=f"normal{list(shape)}#1", num_groups=num_groups)
        yield sample(
            input=f"wide{list(shape)}#1",
            num_groups=num_groups,
            weight=f"normal[{c}]#2",
            bias=f"normal[{c}]#3",
            eps=0.001,
        )
    for kind in ("wide", "special", "bits", "infinite", "tiny"):
        yield sample(input=f"{kind}[6, 8, 5]#3", num_groups=2, weight=f"{kind}[8]#4", bias=f"{kind}[8]#5")


def _gradient_samples() -> Iterator[Sample]:
    for shape, num_groups in (*_SHAPES, ((0, 4, 2), 2), ((2, 4, 0), 2)):
        n, c = shape[:2]
        common = {
            "grad_output": f"normal{list(shape)}#1", "input": f"normal{list(shape)}#2",
            "mean": f"normal[{n}, {num_groups}]#3", "rstd": f"positive[{n}, {num_groups}]#4",
        }  # fmt: skip
        yield sample(**common)
        yield sample(**common, weight=f"normal[{c}]#5")
    for g, x in (("special", "bits"), ("tiny", "wide"), ("wide", "normal")):
        yield sample(
            grad_output=f"{g}[6, 8, 5]#1", input=f"{x}[6, 8, 5]#2", mean=f"{g}[6, 2]#3", rstd=f"{g}[6, 2]#4",
            weight=f"{x}[8]#5",
        )  # fmt: skip


group_norm_grad.samples(_gradient_samples)
group_norm_grad_input.samples(_gradient_samples)


@group_norm.oracle
def _(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    groups = input.reshape(len(input), num_groups, -1)
    mean = groups.mean(axis=2)
    rstd = 1 / np.sqrt(groups.var(axis=2) + eps)
    output = ((groups - mean[..., None]) * rstd[..., None]).reshape(input.shape)
    by_channel = [-1] + [1] * (input.ndim - 2)
    output = output if weight is None else output * weight.reshape(by_channel)
    return output if bias is None else output + bias.reshape(by_channel), mean, rstd
