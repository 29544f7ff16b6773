# SPDX-License-Identifier: MIT
"""Activation functions, each one correctly rounded function of its input, and their gradients.

A gradient from the input is `grad_output` times the correctly rounded derivative, rounded once more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from repdl._op import GRADIENT, SAME_TYPE, Op, Tensor, op
from repdl.ops.elementwise._family import binary_samples, to_shape, unary_samples
from repdl.ops.elementwise.arithmetic import div
from repdl.ops.elementwise.exponential import exp
from repdl.ops.elementwise.hyperbolic import tanh


@op(aten=["relu"], promotion=SAME_TYPE)
def relu(input: Tensor) -> Tensor:
    """Each element, or +0 if it is negative; -0 and NaN stay. Any shape."""


@op(outputs=("grad_input",))
def relu_grad(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of relu: grad_output where the output (or the input) is greater than 0, else +0."""


@op(aten=["sigmoid"])
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)), correctly rounded. Any shape."""


@op(outputs=("grad_input",), aten=["sigmoid_backward"], promotion=GRADIENT)
def sigmoid_grad(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of sigmoid from its output: grad_output * (1 - output) * output."""


@op()
def logsigmoid(input: Tensor) -> Tensor:
    """log(1 / (1 + exp(-input))), correctly rounded. Any shape."""


@op(outputs=("grad_input",))
def logsigmoid_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of logsigmoid: grad_output * sigmoid(-input)."""


@op(name="softplus")
def _softplus(input: Tensor) -> Tensor:
    """log(1 + exp(input)), correctly rounded; the input itself where it is greater than 20. Any shape."""


@op(outputs=("grad_input",))
def softplus_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of softplus: grad_output * sigmoid(input); grad_output where the input is greater than 20."""


@op(aten=["silu"])
def silu(input: Tensor) -> Tensor:
    """input * sigmoid(input), correctly rounded as one function. Any shape."""


@op(outputs=("grad_input",), aten=["silu_backward"], promotion=GRADIENT)
def silu_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of silu: grad_output times the derivative, which is correctly rounded."""


@op(name="gelu")
def _gelu_erf(input: Tensor) -> Tensor:
    """input * (1 + erf(input / sqrt(2))) / 2, correctly rounded as one function. Any shape."""


@op(outputs=("grad_input",))
def gelu_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of gelu: grad_output times the derivative, which is correctly rounded."""


@op()
def gelu_tanh(input: Tensor) -> Tensor:
    """input * (1 + tanh(sqrt(2 / pi) * (input + 0.044715 * input^3))) / 2, correctly rounded as one function."""


@op(outputs=("grad_input",))
def gelu_tanh_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of gelu_tanh: grad_output times the derivative, which is correctly rounded."""


@op(aten=["mish"])
def mish(input: Tensor) -> Tensor:
    """input * tanh(log(1 + exp(input))), correctly rounded as one function. Any shape."""


@op(outputs=("grad_input",), aten=["mish_backward"], promotion=GRADIENT)
def mish_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of mish: grad_output times the derivative, which is correctly rounded."""


@op(name="elu")
def _elu(input: Tensor) -> Tensor:
    """input where it is positive, else exp(input) - 1, correctly rounded. Any shape."""


@op(outputs=("grad_input",))
def elu_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of elu: grad_output times 1 or, where the input is not positive, exp(input)."""


@op()
def selu(input: Tensor) -> Tensor:
    """scale * (input where it is positive, else alpha * (exp(input) - 1)), correctly rounded as one function.

    alpha = 1.6732632423543772848170429916717 and scale = 1.0507009873554804934193349852946 (Klambauer et al., 2017).
    """


@op(outputs=("grad_input",))
def selu_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of selu: grad_output times the derivative, which is correctly rounded."""


@op()
def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|), correctly rounded. Any shape."""


@op(outputs=("grad_input",))
def softsign_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of softsign: grad_output times the derivative, which is correctly rounded."""


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit, as torch.nn.functional.gelu, correctly rounded as one function.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        approximate: 'none' for input * Phi(input), 'tanh' for the form with tanh.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"[gelu] approximate must be 'none' or 'tanh', got {approximate!r}")
    if approximate == "tanh":
        return gelu_tanh(input)
    return _gelu_erf(input)


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1).

    With alpha = 1 it is correctly rounded; else it is the product of alpha, rounded to the type of the input, and the
    correctly rounded exp(input) - 1. float32, float64, bfloat16 or float16, any shape.
    """
    return _elu(input) if alpha == 1.0 else _where_positive(input, input, _elu(input) * alpha)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1), in this order of steps, each rounded once.

    With alpha = 1 it is correctly rounded. float32, float64, bfloat16 or float16, any shape.
    """
    if alpha == 0:
        raise ValueError("[celu] alpha must not be 0")
    return _elu(input) if alpha == 1.0 else _where_positive(input, input, _elu(div(input, alpha)) * alpha)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input is greater than the threshold.

    With beta = 1 it is correctly rounded; else the product, the logarithm and the quotient are, one after the other.
    float32, float64, bfloat16 or float16, any shape.
    """
    if beta == 1.0 and threshold == 20.0:
        return _softplus(input)
    from repdl.ops.piecewise_activation import scaled_softplus

    return scaled_softplus(input, beta, threshold)


def _where_positive(condition: Any, yes: Tensor, no: Any) -> Tensor:
    chosen: Tensor
    if isinstance(yes, np.ndarray):
        chosen = np.where(condition > 0, yes, no).astype(yes.dtype)
    else:
        chosen = yes.where(condition > 0, no)
    return chosen


@relu.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: relu_grad(grad, saved.output)}


@relu_grad.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"grad_output": lambda: to_shape(relu_grad(grad, saved.output), saved.grad_output_shape), "output": None}


@sigmoid.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: sigmoid_grad(grad, saved.output)}


@sigmoid_grad.backward(saves=("grad_output", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "grad_output": lambda: to_shape(sigmoid_grad(grad, saved.output), saved.grad_output_shape),
        "output": lambda: to_shape(grad * saved.grad_output * (1.0 - 2.0 * saved.output), saved.output_shape),
    }


def _gradient_from_input(function: Op[..., Any], gradient: Op[..., Any], second: Any) -> None:
    """The gradient of a function is another op of its input; `second(input)` is the second derivative."""

    @function.backward(saves=("input",))
    def _(saved: Any, grad: Any) -> dict[str, Any]:
        return {"input": lambda: gradient(grad, saved.input)}

    @gradient.backward(saves=("grad_output", "input"))
    def _(saved: Any, grad: Any) -> dict[str, Any]:
        return {
            "grad_output": lambda: to_shape(gradient(grad, saved.input), saved.grad_output_shape),
            "input": lambda: to_shape(grad * saved.grad_output * second(saved.input), saved.input_shape),
        }


def _logistic_density(x: Any) -> Any:
    return sigmoid(x) * sigmoid(-x)


def _silu_second(x: Any) -> Any:
    return _logistic_density(x) * (2.0 + x * (sigmoid(-x) - sigmoid(x)))


def _gelu_second(x: Any) -> Any:
    return exp(x * x * -0.5) * (2.0 - x * x) * (1 / math.sqrt(2 * math.pi))


def _gelu_tanh_second(x: Any) -> Any:
    c = 2 * math.sqrt(2 / math.pi)
    s = sigmoid((x + x * x * x * 0.044715) * c)
    s1 = s * (1.0 - s)
    u1, u2 = (x * x * (3 * 0.044715) + 1.0) * c, x * (6 * 0.044715 * c)
    return s1 * (2.0 * u1 + x * ((1.0 - 2.0 * s) * u1 * u1 + u2))


def _mish_second(x: Any) -> Any:
    t, s = tanh(_softplus(x)), sigmoid(x)
    return (1.0 - t * t) * s * (2.0 + x * (1.0 - s - 2.0 * t * s))


def _selu_second(x: Any) -> Any:
    return exp(x) * (x <= 0.0) * (_SELU_ALPHA * _SELU_SCALE)


def _softsign_second(x: Any) -> Any:
    scale = 1.0 + x.abs()
    return div(x.sign() * -2.0, scale * scale * scale)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

_FROM_INPUT: tuple[tuple[Op[..., Any], Op[..., Any], Any], ...] = (
    (logsigmoid, logsigmoid_grad, lambda x: -_logistic_density(x)),
    (_softplus, softplus_grad, lambda x: _logistic_density(x) * (x <= 20.0)),
    (silu, silu_grad, _silu_second),
    (_gelu_erf, gelu_grad, _gelu_second),
    (gelu_tanh, gelu_tanh_grad, _gelu_tanh_second),
    (mish, mish_grad, _mish_second),
    (_elu, elu_grad, lambda x: exp(x) * (x <= 0.0)),
    (selu, selu_grad, _selu_second),
    (softsign, softsign_grad, _softsign_second),
)

for _function in (relu, sigmoid):
    _function.samples(unary_samples("normal", "positive"))
for _gradient in (relu_grad, sigmoid_grad):
    _gradient.samples(binary_samples("grad_output", "output"))
for _function, _gradient, _second in _FROM_INPUT:
    _gradient_from_input(_function, _gradient, _second)
    _function.samples(unary_samples("normal", "positive"))
    _gradient.samples(binary_samples("grad_output", "input"))


def _np_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _np_phi(x: Any) -> Any:
    return np.vectorize(lambda t: math.erfc(-t / math.sqrt(2)) / 2, otypes=[np.float64])(x)


def _np_gelu_tanh(x: Any) -> Any:
    return x * _np_sigmoid(_np_tanh_argument(x))


def _np_tanh_argument(x: Any) -> Any:
    """Twice the argument of tanh in gelu_tanh."""
    return 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def _np_gelu_tanh_slope(x: Any) -> Any:
    a = _np_tanh_argument(x)
    inner = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return _np_sigmoid(a) * (1 + x * inner * _np_sigmoid(-a))


def _np_mish(x: Any) -> Any:
    return x * np.tanh(np.logaddexp(0, x))


def _np_mish_slope(x: Any) -> Any:
    t = np.tanh(np.logaddexp(0, x))
    return t + x * _np_sigmoid(x) * (1 - t) * (1 + t)


def _np_selu(x: Any) -> Any:
    return _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0)))


relu.oracle(lambda input: np.maximum(input, 0))
sigmoid.oracle(lambda input: _np_sigmoid(input))
sigmoid_grad.oracle(lambda grad_output, output: grad_output * (1 - output) * output)
logsigmoid.oracle(lambda input: -np.logaddexp(0, -input))
logsigmoid_grad.oracle(lambda grad_output, input: grad_output * _np_sigmoid(-input))
_softplus.oracle(lambda input: np.logaddexp(0, input))
softplus_grad.oracle(lambda grad_output, input: grad_output * _np_sigmoid(input))
silu.oracle(lambda input: input * _np_sigmoid(input))
silu_grad.oracle(
    lambda grad_output, input: grad_output * _np_sigmoid(input) * (1 + input * _np_sigmoid(-input)),
)
_gelu_erf.oracle(lambda input: input * _np_phi(input))
gelu_grad.oracle(
    lambda grad_output, input: grad_output * (_np_phi(input) + input * np.exp(-(input**2) / 2) / math.sqrt(2 * math.pi))
)
gelu_tanh.oracle(lambda input: _np_gelu_tanh(input))
gelu_tanh_grad.oracle(lambda grad_output, input: grad_output * _np_gelu_tanh_slope(input))
mish.oracle(lambda input: _np_mish(input))
mish_grad.oracle(lambda grad_output, input: grad_output * _np_mish_slope(input))
_elu.oracle(lambda input: np.where(input > 0, input, np.expm1(np.minimum(input, 0))))
elu_grad.oracle(lambda grad_output, input: grad_output * np.exp(np.minimum(input, 0)))
selu.oracle(lambda input: _np_selu(input))
selu_grad.oracle(
    lambda grad_output, input: (
        grad_output * _SELU_SCALE * np.where(input > 0, 1, _SELU_ALPHA * np.exp(np.minimum(input, 0)))
    )
)
softsign.oracle(lambda input: input / (1 + np.abs(input)))
softsign_grad.oracle(lambda grad_output, input: grad_output / (1 + np.abs(input)) ** 2)
