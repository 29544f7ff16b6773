# SPDX-License-Identifier: MIT
"""The error function, its complements, its inverse and the logarithm of the normal distribution function."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise._family import few_unary_samples, unary_samples
from repdl.ops.elementwise.exponential import exp


@op(aten=["erf"])
def erf(input: Tensor) -> Tensor:
    """Error function of each element, correctly rounded. Any shape."""


@op(aten=["erfc"])
def erfc(input: Tensor) -> Tensor:
    """1 - erf(input), correctly rounded. Any shape."""


@op(aten=["special_erfcx"])
def erfcx(input: Tensor) -> Tensor:
    """exp(input^2) erfc(input), correctly rounded. Any shape."""


@op(aten=["erfinv"])
def erfinv(input: Tensor) -> Tensor:
    """Inverse error function of each element, correctly rounded; NaN outside [-1, 1]. Any shape."""


@op(aten=["special_log_ndtr"])
def log_ndtr(input: Tensor) -> Tensor:
    """Logarithm of the normal distribution function of each element, correctly rounded. Any shape."""


@op(aten=["special_ndtri"])
def ndtri(input: Tensor) -> Tensor:
    """Inverse of the normal distribution function, correctly rounded; NaN outside [0, 1]. Any shape."""


@erf.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(-saved.input * saved.input) * (2 / math.sqrt(math.pi))}


@erfc.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(-saved.input * saved.input) * (-2 / math.sqrt(math.pi))}


@erfcx.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * (2 * saved.input * saved.output - 2 / math.sqrt(math.pi))}


@log_ndtr.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad / erfcx(saved.input * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)}


@ndtri.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(saved.output * saved.output * 0.5) * math.sqrt(2 * math.pi)}


@erfinv.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(saved.output * saved.output) * (math.sqrt(math.pi) / 2)}


erf.samples(unary_samples("normal", "positive"))
erfc.samples(unary_samples("normal", "positive"))
erfcx.samples(few_unary_samples("normal", "positive"))
log_ndtr.samples(few_unary_samples("normal", "positive"))


@ndtri.samples
def _() -> Iterator[Sample]:
    """Few tiny ones, whose exact values take long to find."""
    for kind in (
        "uniform[1000]#1",
        "wide[100]#1",
        "special[200]#1",
        "bits[200]#2",
        "uniform[3, 5, 7]#3",
        "normal[20000]#4",
    ):
        yield sample(input=kind)
    for kind in ("uniform[0]#3", "uniform[]#3", "bits.bfloat16[200]#2", "bits.float16[200]#2"):
        yield sample(input=kind)


erfinv.samples(unary_samples("uniform", "normal"))


def _each(function: Any) -> Any:
    return lambda input: np.vectorize(function, otypes=[np.float64])(input)


def _np_erfcx(x: float) -> float:
    if x > 20:
        z = 1 / (x * x)
        return (1 - z / 2 * (1 - 1.5 * z * (1 - 2.5 * z * (1 - 3.5 * z)))) / x / math.sqrt(math.pi)
    return math.exp(x * x) * math.erfc(x) if x > -26 else math.inf


def _np_log_ndtr(x: float) -> float:
    y = -x * math.sqrt(0.5)
    return math.log(_np_erfcx(y) / 2) - y * y if x < -1 else math.log1p(-math.erfc(-y) / 2)


erf.oracle(_each(math.erf))
erfc.oracle(_each(math.erfc))
erfinv.oracle(_each(lambda x: NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)))
erfcx.oracle(_each(_np_erfcx))
log_ndtr.oracle(_each(_np_log_ndtr))


def _np_ndtri(p: float) -> float:
    if not 0 < p < 1:
        return -math.inf if p == 0 else math.inf if p == 1 else math.nan
    return NormalDist().inv_cdf(p)


ndtri.oracle(_each(_np_ndtri))
