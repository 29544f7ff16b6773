# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from repdl import library, ops
from repdl.library import Sample, Tensor, op, rows_of, sample

library.load(Path(__file__).parent / "_ops.so")


@op(outputs=("output", "sum", "rstd"))
def add_rms_norm(
    input: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-06, order: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[empty-body]
    """Adds two tensors, and normalizes the sum by the root of the mean square over the last dimension.

    Args:
        input, residual: float32 or float64, (…, n).
        weight: float32 or float64, (n).
        eps: added to the mean square.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The normalized sum, the sum, and the reciprocal of the root of each row, which carries no gradient: (…, 1).

    Raises:
        ValueError: if shapes do not fit, or rows are empty.
    """


@add_rms_norm.backward(saves=("sum", "rstd", "weight"), non_differentiable=("rstd",))
def gradient(saved: Any, grad_output: Any, grad_sum: Any) -> dict[str, Any]:
    # Written in ops, so that it is as reproducible as they are. Of an output that nobody used the gradient is None.
    grad_weight = None
    if grad_output is not None:
        shape = saved.weight.shape
        of_sum, grad_weight = ops.rms_norm_grad(grad_output, saved.sum, shape, saved.rstd, saved.weight, saved.order)
        grad_sum = of_sum if grad_sum is None else ops.add(of_sum, grad_sum)
    return {"input": grad_sum, "residual": grad_sum, "weight": grad_weight}


@add_rms_norm.samples
def samples() -> Iterator[Sample]:
    # The calls of the golden file and of all tests: usual shapes, odd sizes, nothing, one that is worth a fork, hard
    # numbers. Each stands for float64 too.
    for shape in ([5, 7], [3, 64], [131], [2, 3, 65], [40, 600], [2, 8200], [0, 4]):
        yield sample(input=f"normal{shape}#1", residual=f"normal{shape}#2", weight=f"normal[{shape[-1]}]#3")
    for kind in ("wide", "tiny", "bits", "special", "infinite"):
        yield sample(input=f"{kind}[6, 20]#1", residual=f"{kind}[6, 20]#2", weight=f"{kind}[20]#3", eps=0.5)


@add_rms_norm.rows
def rows(arguments: Mapping[str, Any], chosen: slice) -> Mapping[str, Any] | None:
    return None if arguments["input"].ndim == 1 else rows_of("input", "residual")(arguments, chosen)


@add_rms_norm.oracle
def oracle(input: Any, residual: Any, weight: Any, eps: float = 1e-06) -> Any:
    # float64 NumPy, for accuracy alone.
    total = input + residual
    rstd = 1 / np.sqrt(np.square(total).mean(axis=-1, keepdims=True) + eps)
    return total * rstd * weight, total, rstd
