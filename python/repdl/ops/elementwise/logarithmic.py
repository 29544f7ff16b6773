# SPDX-License-Identifier: MIT
"""Logarithms, and sums of exponentials in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import binary_samples, takes_numbers, to_shape, unary_samples
from repdl.ops.elementwise.arithmetic import div


@op(aten=["log"])
def log(input: Tensor) -> Tensor:
    """Natural logarithm of each element, correctly rounded. Any shape."""


@op(aten=["log2"])
def log2(input: Tensor) -> Tensor:
    """Logarithm of each element to base 2, correctly rounded. Any shape."""


@op(aten=["log10"])
def log10(input: Tensor) -> Tensor:
    """Logarithm of each element to base 10, correctly rounded. Any shape."""


@op(aten=["log1p"])
def log1p(input: Tensor) -> Tensor:
    """log(1 + input), correctly rounded. Any shape."""


@op()
def logit(input: Tensor) -> Tensor:
    """log(input / (1 - input)), correctly rounded as one function. Any shape."""


@op(aten=["special_entr"])
def entr(input: Tensor) -> Tensor:
    """-input * log(input), correctly rounded; +0 where input is 0, -inf below. Any shape."""


@op()
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)), rounded as if exact; the operands are broadcast."""


@op()
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2^input + 2^other), rounded as if exact; the operands are broadcast."""


@op()
def xlog1py(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * log(1 + other), rounded as if exact; +0 where input is 0, NaN where other is.

    One operand may be a number.
    """


@op()
def xlogy(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * log(other), rounded as if exact; +0 where input is 0, NaN where other is. One operand may be a number."""


takes_numbers(xlog1py)
takes_numbers(xlogy)


@log.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.input)}


@log2.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.input * math.log(2))}


@log10.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.input * math.log(10))}


@log1p.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.input + 1.0)}


@logit.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    from repdl.ops.piecewise_activation import logit_grad

    return {"input": lambda: logit_grad(grad, saved.input)}


@entr.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * -(log(saved.input) + 1.0)}


@logaddexp.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    from repdl.ops.elementwise.activation import sigmoid

    return {
        "input": lambda: to_shape(grad * sigmoid(saved.input - saved.other), saved.input_shape),
        "other": lambda: to_shape(grad * sigmoid(saved.other - saved.input), saved.other_shape),
    }


@logaddexp2.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    from repdl.ops.elementwise.activation import sigmoid

    def share(one: Any, other: Any) -> Any:
        return sigmoid((one - other) * math.log(2))

    return {
        "input": lambda: to_shape(grad * share(saved.input, saved.other), saved.input_shape),
        "other": lambda: to_shape(grad * share(saved.other, saved.input), saved.other_shape),
    }


@xlog1py.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def by_input() -> Any:
        slope = xlog1py(grad, saved.other)
        return to_shape(slope.masked_fill((saved.input == 0) & (saved.other <= -1), 0.0), saved.input_shape)

    return {
        "input": by_input,
        "other": lambda: to_shape(grad * div(saved.input, saved.other + 1.0), saved.other_shape),
    }


@xlogy.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def by_input() -> Any:
        slope = xlogy(grad, saved.other)
        return to_shape(slope.masked_fill((saved.input == 0) & (saved.other <= 0), 0.0), saved.input_shape)

    return {
        "input": by_input,
        "other": lambda: to_shape(grad * div(saved.input, saved.other), saved.other_shape),
    }


log.samples(unary_samples("positive", "normal"))
log2.samples(unary_samples("positive", "normal"))
log10.samples(unary_samples("positive", "normal"))
log1p.samples(unary_samples("positive", "normal"))
logit.samples(unary_samples("unit", "normal"))
entr.samples(unary_samples("positive", "normal"))
logaddexp.samples(binary_samples("input", "other"))
logaddexp2.samples(binary_samples("input", "other"))
xlog1py.samples(binary_samples("input", "other", "positive"))
xlogy.samples(binary_samples("input", "other", "positive"))

log.oracle(lambda input: np.log(input))
log2.oracle(lambda input: np.log2(input))
log10.oracle(lambda input: np.log10(input))
log1p.oracle(lambda input: np.log1p(input))
logit.oracle(lambda input: np.log(input) - np.log1p(-input))
entr.oracle(lambda input: -input * np.log(input))
logaddexp.oracle(lambda input, other: np.logaddexp(input, other))
logaddexp2.oracle(lambda input, other: np.logaddexp2(input, other))
xlog1py.oracle(lambda input, other: input * np.log1p(other))
xlogy.oracle(lambda input, other: input * np.log(other))
