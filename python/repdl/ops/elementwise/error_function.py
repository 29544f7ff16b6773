# SPDX-License-Identifier: MIT
"""The error function, its complement and its inverse."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import unary_samples
from repdl.ops.elementwise.exponential import exp


@op(aten=["erf"])
def erf(input: Tensor) -> Tensor:
    """Error function of each element, correctly rounded. Any shape."""


@op(aten=["erfc"])
def erfc(input: Tensor) -> Tensor:
    """1 - erf(input), correctly rounded. Any shape."""


@op(aten=["erfinv"])
def erfinv(input: Tensor) -> Tensor:
    """Inverse error function of each element, correctly rounded; NaN outside [-1, 1]. Any shape."""


@erf.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(-saved.input * saved.input) * (2 / math.sqrt(math.pi))}


@erfc.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(-saved.input * saved.input) * (-2 / math.sqrt(math.pi))}


@erfinv.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * exp(saved.output * saved.output) * (math.sqrt(math.pi) / 2)}


erf.samples(unary_samples("normal", "positive"))
erfc.samples(unary_samples("normal", "positive"))
erfinv.samples(unary_samples("uniform", "normal"))


def _each(function: Any) -> Any:
    return lambda input: np.vectorize(function, otypes=[np.float64])(input)


erf.oracle(_each(math.erf))
erfc.oracle(_each(math.erfc))
erfinv.oracle(_each(lambda x: NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)))
