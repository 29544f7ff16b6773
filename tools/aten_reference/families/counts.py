# SPDX-License-Identifier: MIT
"""Poisson's and the binomial distribution, as the ops philox_poisson and philox_binomial: in steps of float64.

Its functions are within a few ulp of the exact ones here, and what is drawn is a multiple of 2^-53: a count is another
one only with a probability of about 10^-15.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath

from ..numbers import float32
from ..philox import integers, keys
from ..registry import reference
from ..tensors import Tensor, broadcast_shape, expand, rounded, size_of
from .samplers import filled

_ATTEMPTS = 16


def _double(function: Callable[[mpmath.mpf], mpmath.mpf], x: float) -> float:
    with mpmath.workprec(120):
        return float(function(mpmath.mpf(x)))


def _log(x: float) -> float:
    return _double(mpmath.log, x)


def _log_factorial(x: float) -> float:
    return _double(mpmath.loggamma, x + 1)


def _searched(u: float, first: float, ratio: Callable[[int], float]) -> float:
    """The first k for which u is below the sum of the probabilities of 0 to k."""
    total = probability = first
    for k in range(1, 100):
        if u < total:
            return float(k - 1)
        probability *= ratio(k)
        total += probability
    return 99.0


def _accepted(u: list[float], attempt: Callable[[float, float], float | None], otherwise: float) -> float:
    for i in range(0, 2 * _ATTEMPTS, 2):
        found = attempt(u[i] - 0.5, 1 - u[i + 1])
        if found is not None:
            return found
    return otherwise


def _poisson(mean: float, u: list[float]) -> float:
    if mean < 10:
        return _searched(u[0], _double(mpmath.exp, -mean), lambda k: mean / k)
    b = math.sqrt(mean) * 2.53 + 0.931
    a = b * 0.02483 - 0.059
    inverse_alpha = 1.1328 / (b - 3.4) + 1.1239
    sure = 0.9277 - 3.6224 / (b - 2)
    log_mean = _log(mean)

    def attempt(x: float, v: float) -> float | None:
        edge = 0.5 - abs(x)
        k = float(math.floor((a * 2 / edge + b) * x + mean + 0.43)) if edge else -math.inf
        held = max(k, 0.0)
        if edge >= 0.07 and v <= sure:
            return held
        if k < 0 or (edge < 0.013 and v > edge):
            return None
        height = _log(v * inverse_alpha / (a / (edge * edge) + b))
        return held if height <= held * log_mean - mean - _log_factorial(held) else None

    return _accepted(u, attempt, float(math.floor(mean)))


def _binomial(n: float, p: float, u: list[float]) -> float:
    mean = n * p
    if mean < 10:
        odds = p / (1 - p)
        first = _double(mpmath.exp, n * _double(mpmath.log1p, -p))
        return _searched(u[0], first, lambda k: max(n - (k - 1), 0.0) / k * odds)
    deviation = math.sqrt(n * p * (1 - p))
    b = deviation * 2.53 + 1.15
    a = b * 0.0248 - 0.0873 + p * 0.01
    sure = 0.92 - 4.2 / b
    alpha = (5.1 / b + 2.83) * deviation
    mode = float(math.floor((n + 1) * p))
    log_odds = _log(p / (1 - p))
    highest = _log_factorial(mode) + _log_factorial(n - mode)

    def attempt(x: float, v: float) -> float | None:
        edge = 0.5 - abs(x)
        k = float(math.floor((a * 2 / edge + b) * x + (n * p + 0.5))) if edge else -math.inf
        if not 0 <= k <= n:
            return None
        if edge >= 0.07 and v <= sure:
            return k
        height = _log(v * alpha / (a / (edge * edge) + b))
        lower = _log_factorial(k) + _log_factorial(n - k)
        return k if height <= highest - lower + (k - mode) * log_odds else None

    return _accepted(u, attempt, mode)


def _uniform_rows(seed: int, count: int) -> list[list[float]]:
    width = 2 * _ATTEMPTS
    drawn = [n * 2.0**-53 for n in integers(next(keys(seed)), count * width, 0, 2**53 - 1)]
    return [drawn[i : i + width] for i in range(0, len(drawn), width)]


@reference(
    "poisson",
    cases=[
        f"self={x}[7, 29]#1, seed=3" for x in ("positive", "positive.bfloat16", "positive.float16", "classes2.float32")
    ]
    + [f"self={x}[203]#1, seed=4" for x in ("classes99.float32", "rising", "rising.bfloat16", "rising.float16")]
    + ["self=classes10000.float32[203]#1, seed=5", "self=normal[0]#1, seed=5", "self=positive[5003]#1, seed=6"],
)
def poisson(self: Tensor, seed: int) -> Tensor:
    rows = _uniform_rows(seed, len(self.data))
    return filled(self, [float32(_poisson(mean, u)) for mean, u in zip(self.data, rows, strict=True)])


@reference(
    "binomial",
    cases=[
        f"count={n}[7, 1]#1, prob={p}[29]#2, seed=3"
        for n in ("classes9.float32", "classes99.float32", "classes10000.float32", "positive")
        for p in ("unit", "classes2.float32")
    ]
    + [
        f"count={n}{t}[203]#1, prob=unit{t}[203]#2, seed={seed}"
        for t in (".bfloat16", ".float16")
        for n, seed in (("rising", 3), ("positive", 4))
    ]
    + ["count=rising[2003]#1, prob=unit[2003]#2, seed=7"],
)
def binomial(count: Tensor, prob: Tensor, seed: int) -> Tensor:
    shape = broadcast_shape(count.shape, prob.shape)
    found = []
    rows = _uniform_rows(seed, size_of(shape))
    for n, p, u in zip(expand(count, shape), expand(prob, shape), rows, strict=True):
        trials = float(math.floor(n))
        k = _binomial(trials, 1 - p if p > 0.5 else p, u)
        found.append(float32(trials - k if p > 0.5 else k))
    return Tensor(count.dtype, shape, [rounded(x, count.dtype) for x in found])
