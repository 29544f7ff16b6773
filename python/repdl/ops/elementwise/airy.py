# SPDX-License-Identifier: MIT
"""The Airy function."""

from __future__ import annotations

import math

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import few_unary_samples


@op(aten=["special_airy_ai"])
def airy_ai(input: Tensor) -> Tensor:
    """Airy function Ai of each element, correctly rounded. Any shape."""


airy_ai.samples(few_unary_samples("normal", "positive"))


def _np_airy(x: float) -> float:
    """By the power series, above by the trapezoidal rule for a Bessel function K, below by Hankel's series."""
    if math.isnan(x) or math.isinf(x):
        return x if math.isnan(x) else 0.0
    if x > 200:
        return 0.0
    zeta = 2 / 3 * abs(x) * math.sqrt(abs(x))
    if x > 1:
        t = np.linspace(0, math.acosh(1 + 50 / zeta), 2001)
        terms = np.exp(-2 * zeta * np.sinh(t / 2) ** 2) * np.cosh(t / 3)
        integral = (float(np.sum(terms)) - 0.5) * float(t[1])
        return math.sqrt(x / 3) / math.pi * integral * math.exp(-zeta)
    if x > -6:
        value, slope = 0.3550280538878172, -0.2588194037928068 * x
        total = value + slope
        for k in range(3, 120, 3):
            value *= x**3 / (k * (k - 1))
            slope *= x**3 / (k * (k + 1))
            total += value + slope
        return total
    wave = term = 1.0 + 0j
    for k in range(1, 20):
        term *= 1j * (4 / 9 - (2 * k - 1) ** 2) / (8 * k * zeta)
        wave += term
    angle = zeta - math.pi / 4
    return (wave.real * math.cos(angle) - wave.imag * math.sin(angle)) / math.sqrt(math.pi * math.sqrt(-x))


airy_ai.oracle(lambda input: np.vectorize(_np_airy, otypes=[np.float64])(input))
