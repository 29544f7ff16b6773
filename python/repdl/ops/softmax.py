# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample
from repdl.ops.elementwise.exponential import exp
from repdl.ops.sum import sum as sum_of


@op()
def softmax(input: Tensor, dim: int = -1, order: str | None = None) -> Tensor:
    """Softmax along one dimension.

    Args:
        input: float32 or float64, any shape.
        dim: the dimension, from the end if negative.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32 or float64, the shape of input.
    """


@op(outputs=("grad_input",))
def softmax_grad(grad_output: Tensor, output: Tensor, dim: int = -1, order: str | None = None) -> Tensor:
    """The gradient of softmax by its input; `output` is what softmax returned."""


@op()
def log_softmax(input: Tensor, dim: int = -1, order: str | None = None) -> Tensor:
    """Logarithm of softmax along one dimension. Arguments as for `softmax`."""


@op(outputs=("grad_input",))
def log_softmax_grad(grad_output: Tensor, output: Tensor, dim: int = -1, order: str | None = None) -> Tensor:
    """The gradient of log_softmax by its input; `output` is what log_softmax returned."""


@softmax.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def in_steps() -> Any:
        output, dims = saved.output, _dims(saved.output, saved.dim)
        return (grad - sum_of(grad * output, dims, True, order=saved.order)) * output

    def at_once() -> Any:
        return softmax_grad(grad, saved.output, saved.dim, saved.order)

    return {"input": in_steps if _is_differentiated() else at_once}


@log_softmax.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def in_steps() -> Any:
        return grad - exp(saved.output) * sum_of(grad, _dims(grad, saved.dim), True, order=saved.order)

    def at_once() -> Any:
        return log_softmax_grad(grad, saved.output, saved.dim, saved.order)

    return {"input": in_steps if _is_differentiated() else at_once}


def _is_differentiated() -> bool:
    """Whether a gradient is being computed that will be differentiated itself: then in ops that have gradients."""
    import torch

    return torch.is_grad_enabled()


def _dims(tensor: Any, dim: int) -> tuple[int, ...]:
    return (dim,) if tensor.dim() > 0 else ()


def _forward_samples() -> Iterator[Sample]:
    for shape in ("[5, 10]", "[3, 64]", "[2, 131]", "[2, 5000]", "[7]", "[4, 1]", "[3, 0]", "[]"):
        yield sample(input=f"normal{shape}#1")
    yield sample(input="normal[3, 70, 5]#2", dim=1)
    yield sample(input="normal[70, 9]#2", dim=0)
    yield sample(input="normal[2, 70, 37]#2", dim=1)
    yield sample(input="normal[4200, 3]#2", dim=0)
    yield sample(input="special[9, 21]#3", dim=0)
    for kind in ("wide", "special", "bits", "infinite"):
        yield sample(input=f"{kind}[6, 20]#3")


def _gradient_samples() -> Iterator[Sample]:
    for shape in ("[5, 10]", "[3, 64]", "[2, 131]", "[2, 5000]", "[7]", "[3, 0]", "[]"):
        yield sample(grad_output=f"normal{shape}#1", output=f"uniform{shape}#2")
    yield sample(grad_output="normal[3, 70, 5]#1", output="uniform[3, 70, 5]#2", dim=1)
    yield sample(grad_output="special[4, 20]#1", output="bits[4, 20]#2")
    yield sample(grad_output="normal[2, 70, 37]#1", output="uniform[2, 70, 37]#2", dim=1)
    yield sample(grad_output="normal[4200, 3]#1", output="uniform[4200, 3]#2", dim=0)
    yield sample(grad_output="special[9, 21]#1", output="bits[9, 21]#2", dim=0)


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    names = [name for name in ("input", "grad_output", "output") if name in arguments]
    rank = arguments[names[0]].ndim
    return None if rank == 0 or arguments["dim"] % rank == 0 else rows_of(*names)(arguments, rows)


for _op in (softmax, softmax_grad, log_softmax, log_softmax_grad):
    _op.rows(_rows)

softmax.samples(_forward_samples)
log_softmax.samples(_forward_samples)
softmax_grad.samples(_gradient_samples)
log_softmax_grad.samples(_gradient_samples)


@softmax.oracle
def _(input: Any, dim: int = -1) -> Any:
    e = np.exp(input - input.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


@log_softmax.oracle
def _(input: Any, dim: int = -1) -> Any:
    d = input - input.max(axis=dim, keepdims=True)
    return d - np.log(np.exp(d).sum(axis=dim, keepdims=True))
