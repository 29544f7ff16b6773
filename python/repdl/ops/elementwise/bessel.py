# SPDX-License-Identifier: MIT
"""The modified Bessel functions of the first kind, of orders 0 and 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import unary_samples


@op(aten=["i0", "special_modified_bessel_i0"])
def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of order 0 of each element, correctly rounded. Any shape."""


@op(aten=["special_i0e"])
def i0e(input: Tensor) -> Tensor:
    """exp(-|x|) i0(x) for each element, correctly rounded. Any shape."""


@op(aten=["special_i1", "special_modified_bessel_i1"])
def i1(input: Tensor) -> Tensor:
    """Modified Bessel function of order 1 of each element, correctly rounded. Any shape."""


@op(aten=["special_i1e"])
def i1e(input: Tensor) -> Tensor:
    """exp(-|x|) i1(x) for each element, correctly rounded. Any shape."""


@i0.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * i1(saved.input)}


for _op in (i0, i0e, i1, i1e):
    _op.samples(unary_samples("normal", "positive"))


def _oracle(order: int, is_scaled: bool) -> Any:
    """By the trapezoidal rule for the integral of exp(|x| cos t) cos(order t), which is exact but for rounding."""

    def of_one(x: float) -> float:
        size = abs(x)
        if size > 1e4:
            first = -(4 * order - 1) / (8 * size)
            second = -first * (4 * order - 9) / (16 * size)
            scaled = (1 + first + second) / math.sqrt(2 * math.pi * size)
        else:
            t = np.arange(2000) * (math.pi / 1000)
            scaled = float(np.mean(np.exp(size * (np.cos(t) - 1)) * np.cos(order * t)))
        if order == 1 and size < 1e-3:
            scaled = size / 2 * (1 + size * size / 8) * math.exp(-size)
        result = scaled if is_scaled else scaled * math.exp(size) if size < 709 else math.inf
        return -result if order == 1 and x < 0 else result

    return lambda input: np.vectorize(of_one, otypes=[np.float64])(input)


i0.oracle(_oracle(0, is_scaled=False))
i0e.oracle(_oracle(0, is_scaled=True))
i1.oracle(_oracle(1, is_scaled=False))
i1e.oracle(_oracle(1, is_scaled=True))
