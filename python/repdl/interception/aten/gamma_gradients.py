# SPDX-License-Identifier: MIT
"""How samples of gamma and beta distributions move with their parameters, at the same probability: in float64.

With F the probability of a value below z, and p its density, that is -(dF / d alpha) / p. It is an integral of
f(t) (E[log t] - log t) below z, or of the opposite above it, f the density over p: of the two that without a change of
sign. Both are taken with t = z e^-v or t = z + v from 0 to infinity, by the trapezoidal rule for v = scale e^(x - e^-x)
(Takahasi and Mori), within 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch

from repdl.interception.core import ops
from repdl.interception.override import ANY_DTYPE, override

_digamma = ops["digamma"]
_STEP = 1 / 8
_PLACES = [i * _STEP for i in range(-28, 193)]
"""Far up, for parameters near 0, whose integrands fall off slowly after a steep beginning."""


@cache
def _nodes() -> list[tuple[float, float]]:
    """v and its weight."""
    x = torch.tensor(_PLACES, dtype=torch.float64)
    inverse = ops["exp"](-x)
    places = ops["exp"](x - inverse)
    return list(zip(places.tolist(), (places * (inverse + 1) * _STEP).tolist(), strict=True))


def _integral(scale: torch.Tensor, f: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    total = torch.zeros_like(scale)
    for place, weight in _nodes():
        total = total + f(scale * place) * weight
    return total * scale


def _gamma_series(a: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """For z < 1: z e^z times the sum of (-z)^n / n! ((digamma(a + 1) - log z) / (a + n) - n / (a (a + n)^2))."""
    shift = _digamma(a + 1) - ops["log"](z)
    power, total = torch.ones_like(z), torch.zeros_like(z)
    for n in range(24):
        total = total + power * (shift / (a + n) - n / (a * (a + n) * (a + n)))
        power = power * -z / (n + 1)
    return z * ops["exp"](z) * total


def _gamma_below(a: torch.Tensor, z: torch.Tensor, gap: torch.Tensor) -> torch.Tensor:
    exp, expm1 = ops["exp"], ops["expm1"]
    scale = 1 / ((a - z).clamp_min(0) + ops["sqrt"](a))
    return z * _integral(scale, lambda v: exp(-a * v - z * expm1(-v)) * (gap + v))


def _gamma_above(a: torch.Tensor, z: torch.Tensor, gap: torch.Tensor) -> torch.Tensor:
    exp, log1p = ops["exp"], ops["log1p"]
    scale = z / ((z - a + 1).clamp_min(0) + ops["sqrt"](a))

    def f(v: torch.Tensor) -> torch.Tensor:
        more = log1p(v / z)
        return exp((a - 1) * more - v) * (more - gap)

    return _integral(scale, f)


def _where_it_holds(
    condition: torch.Tensor, result: torch.Tensor, f: Callable[..., torch.Tensor], *operands: torch.Tensor
) -> None:
    """Writes f of the operands into the places of a condition."""
    if bool(condition.any()):
        result[condition] = f(*(t[condition] for t in operands))


def gamma_gradient(alpha: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    a, z = (t.reshape(-1) for t in torch.broadcast_tensors(alpha, z))
    gap = _digamma(a) - ops["log"](z)  # E[log t] - log z
    result = torch.full_like(a, math.nan)
    small = z < 1
    _where_it_holds(small, result, _gamma_series, a, z)
    _where_it_holds(~small & (gap > 0), result, _gamma_below, a, z, gap)
    _where_it_holds(~small & (gap <= 0), result, _gamma_above, a, z, gap)
    return result


def _beta_below(x: torch.Tensor, y: torch.Tensor, a: torch.Tensor, b: torch.Tensor, gap: torch.Tensor) -> torch.Tensor:
    """Of x = 1 - y, below it."""
    exp, expm1, log1p, sqrt = (ops[name] for name in ("exp", "expm1", "log1p", "sqrt"))
    odds = x / y
    scale = 1 / ((a - (b - 1) * odds).clamp_min(0) + sqrt(a + b * odds))
    return x * _integral(scale, lambda v: exp((b - 1) * log1p(odds * -expm1(-v)) - a * v) * (gap + v))


def _beta_above(x: torch.Tensor, y: torch.Tensor, a: torch.Tensor, b: torch.Tensor, gap: torch.Tensor) -> torch.Tensor:
    exp, expm1, log1p, sqrt = (ops[name] for name in ("exp", "expm1", "log1p", "sqrt"))
    odds = y / x
    scale = 1 / ((b - (a - 1) * odds).clamp_min(0) + sqrt(b + a * odds))

    def f(v: torch.Tensor) -> torch.Tensor:
        more = log1p(odds * -expm1(-v))  # log t - log x
        return exp((a - 1) * more - b * v) * (more - gap)

    return y * _integral(scale, f)


def beta_gradient(x: torch.Tensor, a: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    x, a, total = (t.reshape(-1) for t in torch.broadcast_tensors(x, a, total))
    gap = _digamma(a) - _digamma(total) - ops["log"](x)
    operands = (x, 1 - x, a, total - a, gap)
    result = torch.full_like(x, math.nan)
    _where_it_holds(gap > 0, result, _beta_below, *operands)
    _where_it_holds(gap <= 0, result, _beta_above, *operands)
    return result / (1 - x)


@override("_standard_gamma_grad", **ANY_DTYPE)
def _standard_gamma_grad(self: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    return gamma_gradient(self.double(), output.double()).reshape(output.shape).to(output.dtype)


@override("_dirichlet_grad", **ANY_DTYPE)
def _dirichlet_grad(x: torch.Tensor, alpha: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    return beta_gradient(x.double(), alpha.double(), total.double()).reshape(x.shape).to(x.dtype)
