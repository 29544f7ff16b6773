# SPDX-License-Identifier: MIT
"""Exponential functions and powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import binary_samples, takes_numbers, to_shape, unary_samples


@op(aten=["exp"])
def exp(input: Tensor) -> Tensor:
    """e to the power of each element, correctly rounded. Any shape."""


@op(aten=["exp2"])
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element, correctly rounded. Any shape."""


@op()
def exp10(input: Tensor) -> Tensor:
    """10 to the power of each element, correctly rounded. Any shape."""


@op(aten=["expm1"])
def expm1(input: Tensor) -> Tensor:
    """exp(input) - 1, correctly rounded. Any shape."""


@op()
def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """input to the power of exponent, rounded as if exact; the operands are broadcast, and one may be a number."""


takes_numbers(pow)


@exp.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * saved.output}


@exp2.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * saved.output * math.log(2)}


@exp10.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * saved.output * math.log(10)}


@expm1.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * (saved.output + 1.0)}


@pow.backward(saves=("input", "exponent", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    from repdl.ops.elementwise.logarithmic import log

    base, exponent, output = saved.input, saved.exponent, saved.output

    def by_base() -> Any:
        slope = grad * (exponent * pow(base, exponent - 1.0))
        return to_shape(slope.masked_fill(exponent == 0, 0.0), saved.input_shape)

    def by_exponent() -> Any:
        slope = grad * (output * log(base))
        return to_shape(slope.masked_fill((base == 0) & (exponent >= 0), 0.0), saved.exponent_shape)

    return {"input": by_base, "exponent": by_exponent}


exp.samples(unary_samples("normal", "positive"))
exp2.samples(unary_samples("normal", "positive"))
exp10.samples(unary_samples("normal", "positive"))
expm1.samples(unary_samples("normal", "positive"))
pow.samples(binary_samples("input", "exponent", "positive"))

exp.oracle(lambda input: np.exp(input))
exp2.oracle(lambda input: np.exp2(input))
exp10.oracle(lambda input: np.power(10.0, input))
expm1.oracle(lambda input: np.expm1(input))
pow.oracle(lambda input, exponent: np.power(input, exponent))
