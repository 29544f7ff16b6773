# SPDX-License-Identifier: MIT
"""The gamma function's logarithm and its derivatives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise._family import takes_numbers, to_shape, unary_samples
from repdl.ops.elementwise.exponential import exp
from repdl.ops.elementwise.logarithmic import xlogy


@op(aten=["digamma"])
def digamma(input: Tensor) -> Tensor:
    """Derivative of lgamma at each element, correctly rounded; NaN at the integers below 0. Any shape."""


@op()
def igamma(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Regularised lower incomplete gamma function P(input, other): the share of gamma(input) up to other; broadcast.

    Within 2e-15 of the value in float64, and rounded from that in float32. NaN if one operand is negative, or both are
    0 or infinite.
    """


takes_numbers(igamma)


@op()
def igammac(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Regularised upper incomplete gamma function, Q(input, other) = 1 - P(input, other), as igamma; broadcast."""


takes_numbers(igammac)


@op(aten=["lgamma"])
def lgamma(input: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function of each element, correctly rounded. Any shape."""


@op()
def polygamma(n: Tensor | float, input: Tensor) -> Tensor:
    """Derivative of digamma of order n, an integer from 1 to 170, at each element; the operands are broadcast.

    Correctly rounded; NaN for any other n.
    """


takes_numbers(polygamma)


@op()
def trigamma(input: Tensor) -> Tensor:
    """Derivative of digamma at each element, correctly rounded: torch.polygamma(1, input). Any shape."""


@op()
def zeta(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Hurwitz's zeta function, the sum of (other + k) ** -input over k = 0, 1, …; the operands are broadcast.

    Correctly rounded; NaN for input < 1 and, unless input is an integer, for other < 0.
    """


takes_numbers(zeta)


@digamma.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * trigamma(saved.input)}


@lgamma.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * digamma(saved.input)}


def _shares(sign: float) -> Any:
    """The gradients of P(a, x), or of Q with the other sign: by x the density, by a how a sample moves with it."""

    def formula(saved: Any, grad: Any) -> dict[str, Any]:
        a, x = saved.input, saved.other

        def slope() -> Any:
            return grad * exp(xlogy(a - 1.0, x) - x - lgamma(a)) * sign

        def by_shape() -> Any:
            from repdl.ops.sample_gradient import standard_gamma_grad

            return (-slope() * standard_gamma_grad(a, x)).masked_fill(x == 0, 0.0)

        return {
            "input": lambda: to_shape(by_shape(), saved.input_shape),
            "other": lambda: to_shape(slope(), saved.other_shape),
        }

    return formula


igamma.backward(saves=("input", "other"))(_shares(1.0))
igammac.backward(saves=("input", "other"))(_shares(-1.0))


@trigamma.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * polygamma(2.0, saved.input)}


@zeta.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    """By the second operand alone: there is no formula for the other."""
    s, q = saved.input, saved.other
    return {"other": lambda: to_shape(grad * -s * zeta(s + 1.0, q), saved.other_shape)}


digamma.samples(unary_samples("normal", "positive"))
lgamma.samples(unary_samples("normal", "positive"))
trigamma.samples(unary_samples("normal", "positive"))


@polygamma.samples
def _() -> Iterator[Sample]:
    """Among special numbers are the orders 1 and 3, among those of a sweep all."""
    for kind, size in (("normal", 300), ("special", 300), ("wide", 100)):
        yield sample(n=f"special[{size}]#1", input=f"{kind}[{size}]#2")
    yield sample(n="sweep.bfloat16[17200]#0", input="positive.bfloat16[17200]#1")
    yield sample(n="sweep.bfloat16[17200]#0", input="special.bfloat16[17200]#2")  # of all orders at -1.5
    yield sample(n="special.float16[5, 40]#1", input="normal.float16[40]#2")
    yield sample(n="special[]#1", input="normal[3, 0]#2")


def _gamma_shares() -> Iterator[Sample]:
    """In sweeps a rises by octaves and x stays at about the same share of it: from 0.1 up to 50, and from 30 on."""
    for a, x, size in (("positive", "positive", 200), ("wide", "wide", 100), ("special", "special", 300)):
        yield sample(input=f"{a}[{size}]#1", other=f"{x}[{size}]#2")
    yield sample(input="bits[500]#1", other="bits[500]#2")
    for start, place, size in ((701, 468, 1100), (701, 1311, 1100), (1578, 23470, 1300), (1578, 1201, 300)):
        yield sample(input=f"sweep[{size}]#{start}", other=f"sweep[{size}]#{place}")
    for start, place in ((9385, 3607), (9385, 11969), (9385, 13566), (9385, 36)):
        yield sample(input=f"sweep.float64[140]#{start}", other=f"sweep.float64[140]#{place}")
    for start, place in ((2853, 16383), (2853, 9618), (2853, 49221), (2853, 13799), (2853, 7034)):
        yield sample(input=f"sweep.float64[160]#{start}", other=f"sweep.float64[160]#{place}")
    yield sample(input="sweep.bfloat16[16400]#0", other="positive.bfloat16[16400]#1")
    yield sample(input="positive.float16[5, 40]#1", other="wide.float16[40]#2")
    yield sample(input="positive.bfloat16[9, 1]#1", other="positive[7]#2")
    yield sample(input="positive[]#1", other="positive[3, 0]#2")


igamma.samples(_gamma_shares)
igammac.samples(_gamma_shares)


@zeta.samples
def _() -> Iterator[Sample]:
    for s, q, size in (
        ("special", "special", 300),
        ("special", "normal", 200),
        ("positive", "positive", 100),
        ("wide", "positive", 100),
        ("wide", "wide", 100),
        ("bits", "bits", 500),
    ):
        yield sample(input=f"{s}[{size}]#1", other=f"{q}[{size}]#2")
    yield sample(input="sweep.bfloat16[16400]#0", other="positive.bfloat16[16400]#1")
    yield sample(input="positive.float16[5, 40]#1", other="wide.float16[40]#2")
    yield sample(input="positive.bfloat16[9, 1]#1", other="positive[7]#2")
    yield sample(input="positive[]#1", other="positive[3, 0]#2")


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


def _np_zeta(s: float, q: float) -> float:
    """By Euler's and Maclaurin's formula."""
    if not s > 1 or q != q:
        return math.inf if s == 1 else math.nan
    if q == math.inf or s == math.inf:
        return 0.0 if q > 1 else 1.0 if q == 1 else math.inf
    if q <= 0 and (q == math.floor(q) or s != math.floor(s)):
        return math.inf if q == math.floor(q) else math.nan
    try:
        if q < 0:
            y, sign = math.fmod(q, 1), -1.0 if s % 2 else 1.0
            near = _np_zeta(s, 1 + y) + sign * _np_zeta(s, -y) if s % 2 == 0 or y != -0.5 else 0.0
            return near - sign * _np_zeta(s, 1 - q)
        total = 0.0
        while q < 20 + s:
            term = math.pow(q, -s)
            total, q = total + term, q + 1
            if term <= total * 2.0**-70:
                return total
        rest, term = q / (s - 1) + 0.5, s / q
        for ratio in (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160):
            rest += ratio * term
            term *= (s + 1) * (s + 2) / q / q
            s += 2
        s -= 10
        return total + (math.exp((1 - s) * math.log(q)) * (rest / q) if total == 0 else math.pow(q, -s) * rest)
    except OverflowError:
        return math.inf


def _each(function: Any) -> Any:
    return lambda input: np.vectorize(function, otypes=[np.float64])(input)


digamma.oracle(_each(_np_digamma))
lgamma.oracle(_each(_np_lgamma))
trigamma.oracle(_each(_np_trigamma))
zeta.oracle(lambda input, other: np.vectorize(_np_zeta, otypes=[np.float64])(input, other))
