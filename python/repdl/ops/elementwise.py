# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.sum import sum as sum_of


@op()
def exp(input: Tensor) -> Tensor:
    """e to the power of each element, correctly rounded. float32, any shape."""


@op()
def log(input: Tensor) -> Tensor:
    """Natural logarithm of each element, correctly rounded. float32, any shape."""


@op()
def sqrt(input: Tensor) -> Tensor:
    """Square root of each element, correctly rounded. float32, any shape."""


@op()
def relu(input: Tensor) -> Tensor:
    """Each element, or +0 if it is negative; -0 and NaN stay. float32, any shape."""


@op(outputs=("grad_input",))
def relu_grad(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of relu: grad_output where the output (or the input) is greater than 0, else +0."""


@op()
def div(input: Tensor, other: Tensor | float) -> Tensor:
    """input / other, rounded once; the operands are broadcast.

    Args:
        input: float32, any shape.
        other: float32 of a shape that broadcasts, or a number, which is rounded to float32 first.
    """


@div.prepare
def _(*args: Any) -> tuple[Any, ...]:
    if len(args) != 2 or not isinstance(args[1], (int, float)):
        return args
    input, number = args
    # Always a true division: some frameworks multiply by the reciprocal of a number.
    if isinstance(input, np.ndarray):
        return input, np.array(number, np.float32)
    return input, input.new_full((), number)


@exp.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * saved.output}


@log.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.input)}


@sqrt.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.output * 2.0)}


@relu.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: relu_grad(grad, saved.output)}


@relu_grad.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"grad_output": lambda: relu_grad(grad, saved.output), "output": None}


def _to_shape(grad: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of an operand that was broadcast: summed over what it was repeated along."""
    extra = grad.dim() - len(shape)
    repeated = tuple(d for d in range(grad.dim()) if d < extra or (shape[d - extra] == 1 and grad.shape[d] != 1))
    return (sum_of(grad, repeated) if repeated else grad).reshape(shape)


@div.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: _to_shape(div(grad, saved.other), saved.input_shape),
        "other": lambda: _to_shape(-div(grad * div(saved.input, saved.other), saved.other), saved.other_shape),
    }


def _unary_samples() -> Iterator[Sample]:
    for kind in ("normal", "wide", "positive", "special"):
        yield sample(input=f"{kind}[1000]#1")
    yield sample(input="bits[40000]#2")
    yield sample(input="normal[3, 5, 7]#3")
    yield sample(input="normal[0]#3")
    yield sample(input="normal[]#3")


for _function in (exp, log, sqrt, relu):
    _function.samples(_unary_samples)


@relu_grad.samples
def _() -> Iterator[Sample]:
    yield sample(grad_output="normal[999]#1", output="normal[999]#2")
    yield sample(grad_output="special[999]#1", output="special[999]#2")


@div.samples
def _() -> Iterator[Sample]:
    yield sample(input="bits[20000]#1", other="bits[20000]#2")
    yield sample(input="special[1000]#1", other="special[1000]#2")
    yield sample(input="normal[5, 7, 9]#1", other="wide[7, 1]#2")
    yield sample(input="normal[9]#1", other="wide[4, 1]#2")
    yield sample(input="normal[600]#1", other="normal[]#2")


exp.oracle(lambda input: np.exp(input))
log.oracle(lambda input: np.log(input))
sqrt.oracle(lambda input: np.sqrt(input))
relu.oracle(lambda input: np.maximum(input, 0))
div.oracle(lambda input, other: np.divide(input, other))
