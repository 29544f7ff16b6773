# SPDX-License-Identifier: MIT
"""Operations that IEEE-754 rounds once, and roots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise._family import binary_samples, takes_numbers, to_shape, unary_samples


@op()
def div(input: Tensor, other: Tensor | float) -> Tensor:
    """input / other, rounded once; the operands are broadcast. Always a true division.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        other: the same, of a shape that broadcasts, or a number, which is rounded to float32, or float64, first.
    """


@op()
def mul(input: Tensor, other: Tensor | float) -> Tensor:
    """input * other, rounded once; the operands are broadcast. Operands as for `div`."""


@op(aten=["sqrt"])
def sqrt(input: Tensor) -> Tensor:
    """Square root of each element, correctly rounded. Any shape."""


@op(aten=["rsqrt"])
def rsqrt(input: Tensor) -> Tensor:
    """1 / sqrt(input), correctly rounded. Any shape."""


@op()
def reciprocal(input: Tensor) -> Tensor:
    """1 / input, correctly rounded. Any shape."""


@op()
def cbrt(input: Tensor) -> Tensor:
    """Cube root of each element, correctly rounded. Any shape."""


@op()
def square(input: Tensor) -> Tensor:
    """input * input, rounded once. Any shape."""


@op()
def cube(input: Tensor) -> Tensor:
    """input * input * input. Any shape.

    Args:
        input: float32 or float64, where each product is rounded; of bfloat16 and float16 the result is rounded once.
    """


@op()
def hypot(input: Tensor, other: Tensor | float) -> Tensor:
    """sqrt(input^2 + other^2), correctly rounded; the operands are broadcast."""


@op()
def fmod(input: Tensor, other: Tensor | float) -> Tensor:
    """What input / other, rounded toward zero to a whole number, leaves of the input, with its sign: exact whatever the
    quotient. NaN where other is 0. Operands as for `div`.
    """


@op()
def remainder(input: Tensor, other: Tensor | float) -> Tensor:
    """What input / other, rounded down to a whole number, leaves of the input: `fmod`, to which other is added, and
    rounded, where its sign differs. Operands as for `div`.
    """


takes_numbers(div)
takes_numbers(mul)
takes_numbers(hypot)
takes_numbers(fmod)
takes_numbers(remainder)


@div.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(div(grad, saved.other), saved.input_shape),
        "other": lambda: to_shape(-div(grad * div(saved.input, saved.other), saved.other), saved.other_shape),
    }


@mul.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(mul(grad, saved.other), saved.input_shape),
        "other": lambda: to_shape(mul(grad, saved.input), saved.other_shape),
    }


@sqrt.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.output * 2.0)}


@rsqrt.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * -0.5 * (saved.output * saved.output * saved.output)}


@reciprocal.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -grad * (saved.output * saved.output)}


@cbrt.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.output * saved.output * 3.0)}


@square.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * (saved.input * 2.0)}


@cube.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * (square(saved.input) * 3.0)}


@hypot.backward(saves=("input", "other", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(grad * div(saved.input, saved.output), saved.input_shape),
        "other": lambda: to_shape(grad * div(saved.other, saved.output), saved.other_shape),
    }


def _gradient_of_remainder(saved: Any, grad: Any) -> dict[str, Any]:
    def whole() -> Any:
        return div(saved.input - saved.output, saved.other).round()

    return {
        "input": lambda: to_shape(grad, saved.input_shape),
        "other": lambda: to_shape(-(grad * whole()), saved.other_shape),
    }


fmod.backward(saves=("input", "other", "output"))(_gradient_of_remainder)
remainder.backward(saves=("input", "other", "output"))(_gradient_of_remainder)

hypot.samples(binary_samples("input", "other"))
sqrt.samples(unary_samples("positive", "normal"))
rsqrt.samples(unary_samples("positive", "normal"))
reciprocal.samples(unary_samples("normal", "positive"))
cbrt.samples(unary_samples("normal", "positive"))
square.samples(unary_samples("normal"))
cube.samples(unary_samples("normal"))


def _hard_pairs() -> Iterator[Sample]:
    yield sample(input="bits[20000]#1", other="bits[20000]#2")
    yield sample(input="special[1000]#1", other="special[1000]#2")
    yield sample(input="normal[5, 7, 9]#1", other="wide[7, 1]#2")
    yield sample(input="normal[9]#1", other="wide[4, 1]#2")
    yield sample(input="normal[600]#1", other="normal[]#2")
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"bits.{dtype}[20000]#1", other=f"bits.{dtype}[20000]#2")
        yield sample(input=f"normal.{dtype}[600]#1", other="normal[]#2")


div.samples(_hard_pairs)
mul.samples(_hard_pairs)


def _remainders() -> Iterator[Sample]:
    yield from _hard_pairs()
    yield sample(input="wide[3000]#1", other="normal[3000]#2")
    yield sample(input="normal[70000]#1", other="normal[70000]#2")


fmod.samples(_remainders)
remainder.samples(_remainders)
fmod.oracle(lambda input, other: np.fmod(input, other))
remainder.oracle(lambda input, other: np.remainder(input, other))
div.oracle(lambda input, other: np.divide(input, other))
mul.oracle(lambda input, other: np.multiply(input, other))
sqrt.oracle(lambda input: np.sqrt(input))
rsqrt.oracle(lambda input: 1 / np.sqrt(input))
reciprocal.oracle(lambda input: 1 / input)
cbrt.oracle(lambda input: np.cbrt(input))
square.oracle(lambda input: np.square(input))
cube.oracle(lambda input: np.power(input, 3))
hypot.oracle(lambda input, other: np.hypot(input, other))
