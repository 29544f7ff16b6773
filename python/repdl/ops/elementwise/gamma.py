# SPDX-License-Identifier: MIT
"""The gamma function's logarithm and its derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import unary_samples


@op(aten=["digamma"])
def digamma(input: Tensor) -> Tensor:
    """Derivative of lgamma at each element, correctly rounded; NaN at the integers below 0. Any shape."""


@op(aten=["lgamma"])
def lgamma(input: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function of each element, correctly rounded. Any shape."""


@op()
def trigamma(input: Tensor) -> Tensor:
    """Derivative of digamma at each element, correctly rounded: torch.polygamma(1, input). Any shape."""


@digamma.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * trigamma(saved.input)}


@lgamma.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * digamma(saved.input)}


digamma.samples(unary_samples("normal", "positive"))
lgamma.samples(unary_samples("normal", "positive"))
trigamma.samples(unary_samples("normal", "positive"))


def _np_lgamma(x: float) -> float:
    is_pole = x <= 0 and x == math.floor(x)
    return math.inf if is_pole or math.isinf(x) else math.lgamma(x)


def _np_digamma(x: float) -> float:
    """By its reflection, and from 12 on by the first terms of its series."""
    if x < 0:
        if x == math.floor(x):
            return math.nan
        part = math.fmod(x, 1)
        return _np_digamma(-x) - 1 / x - math.pi / math.tan(math.pi * part)
    if x == 0 or math.isinf(x):
        return x if x else -math.copysign(math.inf, x)
    before = 0.0
    while x < 12:
        before, x = before + 1 / x, x + 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return math.log(x) - 0.5 / x - series - before


def _np_trigamma(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return math.inf if x > -math.inf else math.nan
    if x < 0:
        sine = math.sin(math.pi * math.fmod(x, 1))
        return (math.pi / sine) ** 2 + x**-2 - _np_trigamma(-x) if x < -1e-100 else math.inf
    if x < 1e-100 or math.isinf(x):
        return math.inf if x < 1 else 0.0
    before = 0.0
    while x < 12:
        before, x = before + 1 / (x * x), x + 1
    r = 1 / x
    z = r * r
    return before + r * (1 + r / 2 + z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * 5 / 66)))))


def _each(function: Any) -> Any:
    return lambda input: np.vectorize(function, otypes=[np.float64])(input)


digamma.oracle(_each(_np_digamma))
lgamma.oracle(_each(_np_lgamma))
trigamma.oracle(_each(_np_trigamma))
