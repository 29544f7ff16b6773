# SPDX-License-Identifier: MIT
"""The Bessel functions of orders 0 and 1."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import few_unary_samples, unary_samples


@op(aten=["special_bessel_j0"])
def bessel_j0(input: Tensor) -> Tensor:
    """Bessel function of the first kind of order 0 of each element, correctly rounded. Any shape."""


@op(aten=["special_bessel_j1"])
def bessel_j1(input: Tensor) -> Tensor:
    """Bessel function of the first kind of order 1 of each element, correctly rounded. Any shape."""


@op(aten=["special_bessel_y0"])
def bessel_y0(input: Tensor) -> Tensor:
    """Bessel function of the second kind of order 0 of each element, correctly rounded. NaN below 0. Any shape."""


@op(aten=["special_bessel_y1"])
def bessel_y1(input: Tensor) -> Tensor:
    """Bessel function of the second kind of order 1 of each element, correctly rounded. NaN below 0. Any shape."""


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


@op(aten=["special_modified_bessel_k0"])
def modified_bessel_k0(input: Tensor) -> Tensor:
    """Modified Bessel function K of order 0 of each element, correctly rounded. NaN below 0. Any shape."""


@op(aten=["special_modified_bessel_k1"])
def modified_bessel_k1(input: Tensor) -> Tensor:
    """Modified Bessel function K of order 1 of each element, correctly rounded. NaN below 0. Any shape."""


@op(aten=["special_scaled_modified_bessel_k0"])
def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """exp(x) modified_bessel_k0(x) for each element, correctly rounded. NaN below 0. Any shape."""


@op(aten=["special_scaled_modified_bessel_k1"])
def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """exp(x) modified_bessel_k1(x) for each element, correctly rounded. NaN below 0. Any shape."""


@op(aten=["special_spherical_bessel_j0"])
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(x) / x of each element, correctly rounded; 1 at 0. Any shape."""


@bessel_j0.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -grad * bessel_j1(saved.input)}


@bessel_y0.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -grad * bessel_y1(saved.input)}


@i0.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * i1(saved.input)}


@modified_bessel_k0.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -grad * modified_bessel_k1(saved.input)}


for _op in (i0, i0e, i1, i1e):
    _op.samples(unary_samples("normal", "positive"))
bessel_j0.samples(few_unary_samples("normal", "positive"))
bessel_j1.samples(few_unary_samples("normal", "positive"))
bessel_y0.samples(few_unary_samples("positive"))
bessel_y1.samples(few_unary_samples("positive"))
modified_bessel_k0.samples(few_unary_samples("positive"))
modified_bessel_k1.samples(few_unary_samples("positive"))
scaled_modified_bessel_k0.samples(few_unary_samples("positive"))
scaled_modified_bessel_k1.samples(few_unary_samples("positive"))
spherical_bessel_j0.samples(few_unary_samples("normal", "positive"))


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


def _hankel(order: int, x: float) -> tuple[complex, float]:
    """J + i Y without its factor exp(i (x - (2 order + 1) pi / 4)), for large x, and that angle."""
    a = 4 * order * order
    term = total = 1.0 + 0j
    for k in range(1, 16):
        term *= 1j * (a - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total * math.sqrt(2 / (math.pi * x)), x - (2 * order + 1) * math.pi / 4


def _np_j(order: int, x: float) -> float:
    """By the trapezoidal rule for the mean of cos(order t - x sin t), and for large x by Hankel's series."""
    size = abs(x)
    if math.isnan(x) or math.isinf(x):
        return x if math.isnan(x) else 0.0
    if size > 100:
        wave, angle = _hankel(order, size)
        result = wave.real * math.cos(angle) - wave.imag * math.sin(angle)
    else:
        t = (np.arange(400) + 0.5) * (math.pi / 400)
        result = float(np.mean(np.cos(order * t - size * np.sin(t))))
        if order == 1 and size < 1e-3:
            result = size / 2 * (1 - size * size / 8)
    return -result if order == 1 and x < 0 else result


def _np_y(order: int, x: float) -> float:
    """By Neumann's series of J, from Miller's recurrence, and for large x by Hankel's series."""
    if not x > 0 or math.isinf(x):
        return 0.0 if x > 0 else -math.inf if x == 0 else math.nan
    if x > 30:
        wave, angle = _hankel(order, x)
        return wave.real * math.sin(angle) + wave.imag * math.cos(angle)
    if order == 1 and x < 1e-5:
        return -2 / (math.pi * x)
    count = 2 * int(x / 2 + 30)
    j = [0.0] * (count + 2)
    j[count] = 1e-250
    for k in range(count, 0, -1):
        j[k - 1] = min(2 * k / x * j[k], 1e300) - j[k + 1] if x > 1e-3 else 0.0
    if x > 1e-3:
        total = j[0] + 2 * sum(j[2::2])
        j = [v / total for v in j]
    else:
        j[0], j[1], j[2] = 1 - x * x / 4, x / 2, x * x / 8
    log = math.log(x / 2) + 0.5772156649015329
    y0: float = 2 / math.pi * (log * j[0] - 2 * sum((-1) ** k * j[2 * k] / k for k in range(1, count // 2)))
    return y0 if order == 0 else float((j[1] * y0 - 2 / (math.pi * x)) / j[0])


def _np_k(order: int, is_scaled: bool, x: float) -> float:
    """By the trapezoidal rule for the integral of exp(-x cosh t) cosh(order t)."""
    if not x > 0 or math.isinf(x):
        return 0.0 if x > 0 else math.inf if x == 0 else math.nan
    if x < 1e-20:
        return 0.1159315156584124 - math.log(x) if order == 0 else 1 / x
    width = math.acosh(1 + 50 / x)
    t = np.linspace(0, width, 2001)
    terms = np.exp(-2 * x * np.sinh(t / 2) ** 2) * np.cosh(order * t)
    terms[0] /= 2
    scaled = float(np.sum(terms)) * width / 2000
    return scaled if is_scaled else scaled * math.exp(-x)


def _each(function: Any, *settings: Any) -> Any:
    return lambda input: np.vectorize(partial(function, *settings), otypes=[np.float64])(input)


bessel_j0.oracle(_each(_np_j, 0))
bessel_j1.oracle(_each(_np_j, 1))
bessel_y0.oracle(_each(_np_y, 0))
bessel_y1.oracle(_each(_np_y, 1))
modified_bessel_k0.oracle(_each(_np_k, 0, False))
modified_bessel_k1.oracle(_each(_np_k, 1, False))
scaled_modified_bessel_k0.oracle(_each(_np_k, 0, True))
scaled_modified_bessel_k1.oracle(_each(_np_k, 1, True))
spherical_bessel_j0.oracle(lambda input: np.where(np.isinf(input), 0.0, np.sinc(input / math.pi)))
