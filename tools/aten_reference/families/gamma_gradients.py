# SPDX-License-Identifier: MIT
"""How samples of gamma and beta distributions move with their parameters: the integrals of gamma_gradients.py.

In binary64, with exact functions, each rounded; the library's are so near to those that the float32 is the same, but
for ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath

from ..numbers import float32
from ..registry import reference
from ..tensors import Tensor, rounded

_LOW = ("", ".bfloat16", ".float16")


def _function(function: Callable[[Any], Any]) -> Callable[[float], float]:
    def of_float(x: float) -> float:
        with mpmath.workprec(80):
            return float(function(mpmath.mpf(x)))

    return of_float


_exp, _expm1, _log, _log1p = (_function(f) for f in (mpmath.exp, mpmath.expm1, mpmath.log, mpmath.log1p))
_digamma = _function(mpmath.digamma)


@cache
def _nodes() -> list[tuple[float, float]]:
    """v = exp(x - exp(-x)) and its weight, x in steps of 1 / 8 from -3.5 to 24."""
    found = []
    for i in range(-28, 193):
        inverse = _exp(-i / 8)
        place = _exp(i / 8 - inverse)
        found.append((place, place * (inverse + 1) / 8))
    return found


def _integral(scale: float, f: Callable[[float], float]) -> float:
    total = 0.0
    for place, weight in _nodes():
        total += f(scale * place) * weight
    return total * scale


def _gamma_series(a: float, z: float) -> float:
    shift = _digamma(a + 1) - _log(z)
    power, total = 1.0, 0.0
    for n in range(24):
        total += power * (shift / (a + n) - n / (a * (a + n) * (a + n)))
        power = power * -z / (n + 1)
    return z * _exp(z) * total


def _gamma(a: float, z: float) -> float:
    gap = _digamma(a) - _log(z)
    if z < 1:
        return _gamma_series(a, z)
    if gap > 0:
        scale = 1 / (max(a - z, 0.0) + math.sqrt(a))
        return z * _integral(scale, lambda v: _exp(-a * v - z * _expm1(-v)) * (gap + v))
    scale = z / (max(z - a + 1, 0.0) + math.sqrt(a))

    def above(v: float) -> float:
        more = _log1p(v / z)
        return _exp((a - 1) * more - v) * (more - gap)

    return _integral(scale, above)


@reference(
    "_standard_gamma_grad",
    cases=[
        *(f"self=positive{t}[33]#1, output=positive{t}[33]#2" for t in _LOW),
        "self=positive[33]#1, output=unit[33]#2",
        "self=classes30.float32[7, 5]#3, output=classes40.float32[7, 5]#1",
        "self=positive[33]#1, output=classes9.float32[33]#130",
        "self=normal[0]#1, output=normal[0]#2",
    ],
)
def standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    found = [float32(_gamma(a, z)) for a, z in zip(self.data, output.data, strict=True)]
    return Tensor(output.dtype, output.shape, [rounded(x, output.dtype) for x in found])


def _beta(x: float, a: float, total: float) -> float:
    gap = _digamma(a) - _digamma(total) - _log(x)
    y, b = 1 - x, total - a
    if gap > 0:
        odds = x / y
        scale = 1 / (max(a - (b - 1) * odds, 0.0) + math.sqrt(a + b * odds))
        value = x * _integral(scale, lambda v: _exp((b - 1) * _log1p(odds * -_expm1(-v)) - a * v) * (gap + v))
    else:
        odds = y / x
        scale = 1 / (max(b - (a - 1) * odds, 0.0) + math.sqrt(b + a * odds))

        def above(v: float) -> float:
            more = _log1p(odds * -_expm1(-v))
            return _exp((a - 1) * more - b * v) * (more - gap)

        value = y * _integral(scale, above)
    return value / (1 - x)


@reference(
    "_dirichlet_grad",
    cases=[
        *(f"x=unit{t}[33]#1, alpha=unit{t}[33]#2, total=classes9{t or '.float32'}[33]#130" for t in _LOW),
        "x=unit[33]#5, alpha=classes9.float32[33]#130, total=classes200.float32[33]#8",
        "x=normal[0]#1, alpha=normal[0]#2, total=normal[0]#3",
    ],
)
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    operands = zip(x.data, alpha.data, total.data, strict=True)
    found = [float32(_beta(*numbers)) for numbers in operands]
    return Tensor(x.dtype, x.shape, [rounded(value, x.dtype) for value in found])
