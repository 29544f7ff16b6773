# SPDX-License-Identifier: MIT
"""Activations in pieces whose bounds and scales are numbers, and gradients of such ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import GRADIENT, SAME_TYPE, Op, Sample, Tensor, op, sample
from repdl.ops.elementwise._family import to_shape
from repdl.ops.elementwise.activation import sigmoid


@op(aten=["softshrink"], promotion=SAME_TYPE)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input moved by lambd towards 0; +0 where it is within lambd.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        lambd: 0 or more; rounded to float32, or float64.
    """


@op(outputs=("grad_input",), aten=["softshrink_backward", "hardshrink_backward"], promotion=GRADIENT)
def shrink_grad(grad_output: Tensor, input: Tensor, lambd: float = 0.5) -> Tensor:
    """The gradient of softshrink and of hardshrink: grad_output, or +0 where the input is within lambd."""


@op(outputs=("grad_input",), aten=["hardtanh_backward"], promotion=GRADIENT)
def hardtanh_grad(grad_output: Tensor, input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """The gradient of hardtanh: grad_output, or +0 where the input is at a bound or beyond."""


@op()
def hardsigmoid(input: Tensor) -> Tensor:
    """input / 6 + 1 / 2, held within 0 and 1: clamp(input + 3, 0, 6) / 6.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
    """


@op(outputs=("grad_input",))
def hardsigmoid_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of hardsigmoid: grad_output / 6, by the float32 of 1 / 6, between -3 and 3, else +0."""


@op()
def hardswish(input: Tensor) -> Tensor:
    """The input times its hardsigmoid: input * clamp(input + 3, 0, 6) / 6.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
    """


@op(outputs=("grad_input",), aten=["hardswish_backward"], promotion=GRADIENT)
def hardswish_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of hardswish: grad_output times 0 up to -3, input / 3 + 1 / 2 up to 3, and 1 from there on."""


@op(aten=["elu"], promotion=SAME_TYPE)
def scaled_elu(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """scale * input where it is positive, else alpha * scale * (exp(input_scale * input) - 1).

    elu has the first number, celu the first and the last, and selu the first two.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        alpha, scale, input_scale: numbers; scale, input_scale and the product of alpha and scale are rounded to
            float32, or float64.
    """


@op(outputs=("grad_input",), aten=["elu_backward"], promotion=GRADIENT)
def scaled_elu_grad(
    grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """The gradient of scaled_elu, from its input or, if is_result, from its output."""


@op(outputs=("grad_input",), aten=["logit_backward"], promotion=GRADIENT)
def logit_grad(grad_output: Tensor, input: Tensor, eps: float | None = None) -> Tensor:
    """The gradient of logit: grad_output / (input * (1 - input)).

    Args:
        grad_output: float32, float64, bfloat16 or float16, any shape.
        input: the same, of a shape that broadcasts.
        eps: what lies outside of [eps, 1 - eps] has the gradient +0; without it, what lies outside of [0, 1] has NaN.
    """


@op()
def scaled_softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input is greater than the threshold.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        beta, threshold: numbers; rounded to float32, or float64.
    """


@op(outputs=("grad_input",))
def scaled_softplus_grad(grad_output: Tensor, input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """The gradient of scaled_softplus: grad_output times the sigmoid of beta * input, or grad_output.

    It is grad_output itself where beta * input is greater than the threshold.
    """


@softshrink.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: shrink_grad(grad, saved.input, saved.lambd)}


@shrink_grad.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "grad_output": lambda: to_shape(shrink_grad(grad, saved.input, saved.lambd), saved.grad_output_shape),
        "input": None,
    }


@hardtanh_grad.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "grad_output": lambda: to_shape(
            hardtanh_grad(grad, saved.input, saved.min_val, saved.max_val), saved.grad_output_shape
        ),
        "input": None,
    }


@hardsigmoid.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: hardsigmoid_grad(grad, saved.input)}


@hardsigmoid_grad.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "grad_output": lambda: to_shape(hardsigmoid_grad(grad, saved.input), saved.grad_output_shape),
        "input": None,
    }


@hardswish.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: hardswish_grad(grad, saved.input)}


@hardswish_grad.backward(saves=("grad_output", "input"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x = saved.input

    def second() -> Any:
        return (grad * saved.grad_output * (1 / 3)).masked_fill((x <= -3) | ~(x < 3), 0.0)

    return {
        "grad_output": lambda: to_shape(hardswish_grad(grad, x), saved.grad_output_shape),
        "input": lambda: to_shape(second(), saved.input_shape),
    }


@scaled_elu.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    numbers = saved.alpha, saved.scale, saved.input_scale
    return {"input": lambda: scaled_elu_grad(grad, *numbers, False, saved.input)}


@scaled_elu_grad.backward(saves=("grad_output", "self_or_result"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    arguments = saved.alpha, saved.scale, saved.input_scale, saved.is_result, saved.self_or_result

    def second() -> Any:
        slope = grad * saved.grad_output
        if not saved.is_result:
            slope = scaled_elu_grad(slope, *arguments)
        return (slope * saved.input_scale).masked_fill(~(saved.self_or_result <= 0), 0.0)

    return {
        "grad_output": lambda: to_shape(scaled_elu_grad(grad, *arguments), saved.grad_output_shape),
        "self_or_result": lambda: to_shape(second(), saved.self_or_result_shape),
    }


@logit_grad.backward(saves=("grad_output", "input"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x = saved.input

    def second() -> Any:
        return logit_grad(logit_grad(grad * saved.grad_output, x, saved.eps), x, saved.eps) * (x + x - 1.0)

    return {
        "grad_output": lambda: to_shape(logit_grad(grad, x, saved.eps), saved.grad_output_shape),
        "input": lambda: to_shape(second(), saved.input_shape),
    }


@scaled_softplus.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: scaled_softplus_grad(grad, saved.input, saved.beta, saved.threshold)}


@scaled_softplus_grad.backward(saves=("grad_output", "input"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x, beta, threshold = saved.input, saved.beta, saved.threshold

    def second() -> Any:
        scaled = x * beta
        slope = grad * saved.grad_output * (sigmoid(scaled) * sigmoid(-scaled)) * beta
        return slope.masked_fill(scaled > threshold, 0.0)

    return {
        "grad_output": lambda: to_shape(scaled_softplus_grad(grad, x, beta, threshold), saved.grad_output_shape),
        "input": lambda: to_shape(second(), saved.input_shape),
    }


def _samples_of_one(function: Op[..., Any], *settings: dict[str, Any]) -> None:
    """Calls of a function of one tensor: all kinds of numbers with the first settings, hard ones with the others."""

    @function.samples
    def _() -> Iterator[Sample]:
        for kind, size in (("normal", "1000"), ("wide", "1000"), ("bits", "20000")):
            yield sample(input=f"{kind}[{size}]#1", **settings[0])
        for numbers in settings:
            yield sample(input="special[203]#1", **numbers)
            yield sample(input="zeros[67]#1", **numbers)
            yield sample(input="normal[301]#4", **numbers)
        for shape in ("3, 5, 7", "0", ""):
            yield sample(input=f"normal[{shape}]#3", **settings[0])
        for dtype in ("bfloat16", "float16"):
            yield sample(input=f"sweep.{dtype}[65536]#0", **settings[-1])


def _samples_of_slope(
    gradient: Op[..., Any], *settings: dict[str, Any], input: str = "input", ordinary: str = "normal"
) -> None:
    """The same of a gradient, beside the gradient of the output."""

    @gradient.samples
    def _() -> Iterator[Sample]:
        for kind, size in ((ordinary, "1000"), ("wide", "1000"), ("bits", "20000")):
            yield sample(**{"grad_output": f"normal[{size}]#1", **settings[0], input: f"{kind}[{size}]#2"})
        for numbers in settings:
            yield sample(**{"grad_output": "special[203]#1", **numbers, input: "special[203]#2"})
            yield sample(**{"grad_output": "zeros[67]#1", **numbers, input: "zeros[67]#2"})
            yield sample(**{"grad_output": "normal[301]#1", **numbers, input: f"{ordinary}[301]#4"})
        for a, b in (("5, 7, 9", "7, 1"), ("600", ""), ("", "3, 0"), ("", "")):
            yield sample(**{"grad_output": f"normal[{a}]#1", **settings[0], input: f"{ordinary}[{b}]#2"})
        for dtype in ("bfloat16", "float16"):
            yield sample(**{"grad_output": f"normal.{dtype}[2000]#1", **settings[-1], input: f"bits.{dtype}[2000]#2"})
        yield sample(**{"grad_output": "normal.bfloat16[99]#1", **settings[0], input: f"{ordinary}[99]#2"})


_ELU_NUMBERS: tuple[dict[str, Any], ...] = (
    {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    {"alpha": 0.3, "scale": 1.7, "input_scale": 0.9},
    {"alpha": -2.0, "scale": 0.1, "input_scale": -0.7},
)
_samples_of_one(softshrink, {"lambd": 0.5}, {"lambd": 0.0}, {"lambd": 0.1})
_samples_of_one(scaled_elu, *_ELU_NUMBERS)
_samples_of_slope(shrink_grad, {"lambd": 0.5}, {"lambd": 0.0}, {"lambd": -1.0})
_samples_of_slope(hardtanh_grad, {"min_val": -1.0, "max_val": 1.0}, {"min_val": 0.0, "max_val": 0.1})
_samples_of_one(hardsigmoid, {})
_samples_of_one(hardswish, {})
_samples_of_slope(hardsigmoid_grad, {})
_samples_of_slope(hardswish_grad, {})
_samples_of_slope(
    scaled_elu_grad,
    *({**numbers, "is_result": is_result} for numbers in _ELU_NUMBERS for is_result in (False, True)),
    input="self_or_result",
)
_SOFTPLUS_NUMBERS: tuple[dict[str, Any], ...] = (
    {"beta": 0.7, "threshold": 3.0},
    {"beta": 1.0, "threshold": 20.0},
    {"beta": -2.0, "threshold": 0.1},
    {"beta": 0.0, "threshold": -1.0},
    {"beta": 1.0, "threshold": 1e9},
)
_samples_of_one(scaled_softplus, *_SOFTPLUS_NUMBERS)
_samples_of_slope(scaled_softplus_grad, *_SOFTPLUS_NUMBERS)
_samples_of_slope(logit_grad, {}, {"eps": 0.1}, {"eps": 0.0}, ordinary="unit")


def _np_expm1(x: Any) -> Any:
    return np.expm1(np.minimum(x, 50))


def _np_scaled_elu_grad(
    grad_output: Any, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Any
) -> Any:
    x = self_or_result
    slope = x + alpha * scale if is_result else alpha * scale * np.exp(np.minimum(x * input_scale, 50))
    return grad_output * np.where(x <= 0, input_scale * slope, scale)


softshrink.oracle(lambda input, lambd: np.sign(input) * np.maximum(np.abs(input) - lambd, 0))
shrink_grad.oracle(lambda grad_output, input, lambd: np.where(np.abs(input) <= lambd, 0, grad_output))
hardtanh_grad.oracle(
    lambda grad_output, input, min_val, max_val: np.where((input > min_val) & (input < max_val), grad_output, 0)
)
hardsigmoid.oracle(lambda input: np.clip(input + 3, 0, 6) / 6)
hardsigmoid_grad.oracle(
    lambda grad_output, input: np.where(np.abs(input) < 3, grad_output * float(np.float32(1 / 6)), 0)
)
hardswish.oracle(lambda input: input * (np.clip(input + 3, 0, 6) / 6))
hardswish_grad.oracle(
    lambda grad_output, input: grad_output * np.where(input < 3, np.where(input <= -3, 0, input / 3 + 0.5), 1)
)
scaled_elu.oracle(
    lambda input, alpha, scale, input_scale: np.where(
        input > 0, scale * input, alpha * scale * _np_expm1(input * input_scale)
    )
)
scaled_elu_grad.oracle(_np_scaled_elu_grad)


def _np_scaled_softplus(input: Any, beta: float, threshold: float) -> Any:
    scaled = input * beta
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scaled > threshold, input, np.logaddexp(0, scaled) / np.float64(beta))


scaled_softplus.oracle(_np_scaled_softplus)
scaled_softplus_grad.oracle(
    lambda grad_output, input, beta, threshold: (
        grad_output * np.where(input * beta > threshold, 1.0, 1 / (1 + np.exp(-input * beta)))
    )
)
