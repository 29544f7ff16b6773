# SPDX-License-Identifier: MIT
"""Samplers of counts, on numbers from a counter as in philox.py: Poisson's and the binomial distribution.

All in float64, in steps that round once. An element takes uniform numbers n / 2^53 with n from `philox_randint`, at its
place among those of the call: the first one for small means, where the sum of probabilities is searched; else pairs of
them, for Hörmann's transformed rejection (PTRS and BTRS, 1993), of 16 attempts, and the mode if none is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from repdl import ops
from repdl.random.philox import _check_floating, _integers, philox_key

_ATTEMPTS = 16  # of which up to one in five fails
_SMALL = 10.0
"""Below this mean, probabilities are summed."""

Tensors = tuple[torch.Tensor, ...]


def poisson(rate: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Numbers of Poisson's distribution, of the dtype of the rates, as `torch.poisson`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a rate that is negative or not finite.
    """
    _check_floating("poisson", rate)
    if not bool(((rate >= 0) & (rate < math.inf)).all()):
        raise ValueError("[poisson] rate must be finite and not negative, all of it")
    mean = rate.detach().double().reshape(-1)
    u = _uniform(mean.numel(), generator)
    result = torch.zeros_like(mean)
    small, large = (mean < _SMALL).nonzero()[:, 0], (mean >= _SMALL).nonzero()[:, 0]
    first = ops.exp(-mean[small])
    result[small] = _searched(u[small, 0], first, lambda k: mean[small] / k, 100)
    result[large] = _poisson_by_rejection(mean[large], u[large])
    return result.reshape(rate.shape).to(rate.dtype)


def binomial(count: torch.Tensor, prob: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """How many of `count` trials of probability `prob` succeed, both broadcast, as `torch.binomial`.

    A probability above 1/2 counts the failures of the other.

    Raises:
        TypeError: for tensors that are not floating.
        ValueError: for a count that is negative or not finite, or a probability outside of [0, 1].
    """
    _check_floating("binomial", count)
    _check_floating("binomial", prob)
    if not bool(((count >= 0) & (count < math.inf)).all()):
        raise ValueError("[binomial] count must be finite and not negative, all of it")
    if not bool(((prob >= 0) & (prob <= 1)).all()):
        raise ValueError("[binomial] prob must be between 0 and 1, all of it")
    shape = torch.broadcast_shapes(count.shape, prob.shape)
    n = count.detach().double().floor().expand(shape).reshape(-1)
    p = prob.detach().double().expand(shape).reshape(-1)
    u = _uniform(n.numel(), generator)
    swapped = p > 0.5
    p = torch.where(swapped, 1 - p, p)
    result = torch.zeros_like(n)
    mean = n * p
    small, large = (mean < _SMALL).nonzero()[:, 0], (mean >= _SMALL).nonzero()[:, 0]
    few, odds = n[small], (p / (1 - p))[small]
    first = ops.exp(few * ops.log1p(-p[small]))
    result[small] = _searched(u[small, 0], first, lambda k: (few - (k - 1)).clamp_min(0) / k * odds, 100)
    result[large] = _binomial_by_rejection(n[large], p[large], u[large])
    return torch.where(swapped, n - result, result).reshape(shape).to(count.dtype)


def _uniform(count: int, generator: Any) -> torch.Tensor:
    return _integers((count, 2 * _ATTEMPTS), philox_key(generator), 0, 2**53 - 1).double() * 2.0**-53


def _searched(u: torch.Tensor, first: torch.Tensor, ratio: Callable[[int], torch.Tensor], most: int) -> torch.Tensor:
    """The first k for which u is below the sum of the probabilities of 0 to k."""
    result, total, probability = torch.zeros_like(u), first.clone(), first
    for k in range(1, most):
        above = u >= total
        if not bool(above.any()):
            break
        result += above
        probability = probability * ratio(k)
        total += probability
    return result


def _first_accepted(
    u: torch.Tensor, otherwise: torch.Tensor, attempt: Callable[[torch.Tensor, Tensors], Tensors]
) -> torch.Tensor:
    """What the first accepted attempt gave, each with two uniform numbers."""
    result, left = otherwise.clone(), torch.arange(u.shape[0])
    for i in range(_ATTEMPTS):
        if not left.numel():
            break
        k, accepted = attempt(left, (u[left, 2 * i] - 0.5, 1 - u[left, 2 * i + 1]))
        result[left[accepted]] = k[accepted]
        left = left[~accepted]
    return result


def _poisson_by_rejection(mean: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    b = ops.sqrt(mean) * 2.53 + 0.931
    a = b * 0.02483 - 0.059
    inverse_alpha = 1.1328 / (b - 3.4) + 1.1239
    sure = 0.9277 - 3.6224 / (b - 2)
    log_mean = ops.log(mean)

    def attempt(at: torch.Tensor, numbers: Tensors) -> Tensors:
        x, v = numbers
        edge = 0.5 - x.abs()
        rate, scale, width = mean[at], b[at], a[at]
        k = ((width * 2 / edge + scale) * x + rate + 0.43).floor()
        near = (edge >= 0.07) & (v <= sure[at])
        possible = (k >= 0) & ~((edge < 0.013) & (v > edge))
        held = k.clamp_min(0)
        height = ops.log(v * inverse_alpha[at] / (width / (edge * edge) + scale))
        below = height <= held * log_mean[at] - rate - ops.lgamma(held + 1)
        return held, near | (possible & below)

    return _first_accepted(u, mean.floor(), attempt)


def _binomial_by_rejection(n: torch.Tensor, p: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    deviation = ops.sqrt(n * p * (1 - p))
    b = deviation * 2.53 + 1.15
    a = b * 0.0248 - 0.0873 + p * 0.01
    sure = 0.92 - 4.2 / b
    alpha = (5.1 / b + 2.83) * deviation
    mode = ((n + 1) * p).floor()
    log_odds = ops.log(p / (1 - p))
    highest = ops.lgamma(mode + 1) + ops.lgamma(n - mode + 1)

    def attempt(at: torch.Tensor, numbers: Tensors) -> Tensors:
        x, v = numbers
        edge = 0.5 - x.abs()
        trials, scale, width = n[at], b[at], a[at]
        k = ((width * 2 / edge + scale) * x + (trials * p[at] + 0.5)).floor()
        possible = (k >= 0) & (k <= trials)
        near = possible & (edge >= 0.07) & (v <= sure[at])
        held = torch.where(possible, k, mode[at])
        height = ops.log(v * alpha[at] / (width / (edge * edge) + scale))
        lower = ops.lgamma(held + 1) + ops.lgamma(trials - held + 1)
        below = height <= highest[at] - lower + (held - mode[at]) * log_odds[at]
        return held, near | (possible & below)

    return _first_accepted(u, mode, attempt)
