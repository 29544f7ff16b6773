# SPDX-License-Identifier: MIT
"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from repdl._op import GRADIENT, Tensor, op
from repdl.ops.elementwise._family import binary_samples, to_shape, unary_samples
from repdl.ops.elementwise.arithmetic import div, rsqrt


@op(aten=["sinh"])
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine of each element, correctly rounded. Any shape."""


@op(aten=["cosh"])
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine of each element, correctly rounded. Any shape."""


@op(aten=["tanh"])
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent of each element, correctly rounded. Any shape."""


@op(outputs=("grad_input",), aten=["tanh_backward"], promotion=GRADIENT)
def tanh_grad(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of tanh from its output: grad_output * (1 - output^2)."""


@op(aten=["asinh"])
def asinh(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine of each element, correctly rounded. Any shape."""


@op(aten=["acosh"])
def acosh(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine of each element, correctly rounded; NaN below 1. Any shape."""


@op(aten=["atanh"])
def atanh(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent of each element, correctly rounded; NaN outside [-1, 1]. Any shape."""


@sinh.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * cosh(saved.input)}


@cosh.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * sinh(saved.input)}


@tanh.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: tanh_grad(grad, saved.output)}


@tanh_grad.backward(saves=("grad_output", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "grad_output": lambda: to_shape(tanh_grad(grad, saved.output), saved.grad_output_shape),
        "output": lambda: to_shape(grad * saved.grad_output * (saved.output * -2.0), saved.output_shape),
    }


@asinh.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * rsqrt(saved.input * saved.input + 1.0)}


@acosh.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * rsqrt((saved.input - 1.0) * (saved.input + 1.0))}


@atanh.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, (1.0 - saved.input) * (1.0 + saved.input))}


sinh.samples(unary_samples("normal", "positive"))
cosh.samples(unary_samples("normal", "positive"))
tanh.samples(unary_samples("normal", "positive"))
asinh.samples(unary_samples("normal", "positive"))
acosh.samples(unary_samples("normal", "positive"))
atanh.samples(unary_samples("uniform", "normal"))
tanh_grad.samples(binary_samples("grad_output", "output", "uniform"))

sinh.oracle(lambda input: np.sinh(input))
cosh.oracle(lambda input: np.cosh(input))
tanh.oracle(lambda input: np.tanh(input))
tanh_grad.oracle(lambda grad_output, output: grad_output * (1 - output**2))
asinh.oracle(lambda input: np.arcsinh(input))
acosh.oracle(lambda input: np.arccosh(input))
atanh.oracle(lambda input: np.arctanh(input))
