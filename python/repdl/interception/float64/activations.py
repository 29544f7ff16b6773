# SPDX-License-Identifier: MIT
"""Activations of float64 and their gradients, in steps."""

from __future__ import annotations

import math

from repdl.interception.float64.erf import erfc
from repdl.interception.float64.functions import exp, exp_pair, log1p, log1p_pair, parts, tanh, zeros
from repdl.interception.float64.steps import (
    INF,
    NAN,
    Pair,
    Steps,
    declare,
    pair_product,
    pair_quotient,
    pair_sum,
    pair_where,
    power_of_two,
    scaled,
    where,
)


def _sigmoid_pair(x: Steps) -> Pair:
    """For |x| up to 700, and not where it is below e^-40."""
    (high, low), k = exp_pair(parts(-abs(x)))
    scale = power_of_two(k)
    e = high * scale, low * scale
    one = 1.0 + zeros(x), zeros(x)
    return pair_quotient(pair_where(x < 0.0, e, one), pair_sum(e, one))


def sigmoid(x: Steps) -> Steps:
    high, low = _sigmoid_pair(where(abs(x) < 50.0, x, 0.0))
    result = where(x < -40.0, exp(x), where(x > 40.0, 1.0, high + low))
    return where(x.equals(x), result, x)


def silu(x: Steps) -> Steps:
    inside = abs(x) < 50.0
    held = where(inside, x, 0.0)
    near = pair_product(_sigmoid_pair(held), parts(held))
    held = where((x < 0.0) & (x > -800.0), x, -800.0)
    e, k = exp_pair(parts(held))
    high, low = pair_product(e, parts(held))
    below = where(x.equals(-INF), NAN, scaled(high + low, k))
    result = where(inside, near[0] + near[1], where(x < 0.0, below, x))
    return where(abs(x) < 2.0**-60, x * 0.5, result)


def softplus(x: Steps) -> Steps:
    """max(x, 0) + log1p(exp(-|x|))."""
    size = abs(x)
    (high, low), k = exp_pair(parts(-where(size < 700.0, size, 700.0)))
    scale = power_of_two(k)
    e = high * scale, low * scale
    log = pair_where(size > 20.0, (e[0], e[1] - e[0] * e[0] * 0.5), log1p_pair(e))
    high, low = pair_sum(parts(where((x > 0.0) & (x < INF), x, 0.0)), log)
    result = where(x < -40.0, exp(x), where(x > 40.0, x, high + low))
    return where(x.equals(x), result, x)


def logsigmoid(x: Steps) -> Steps:
    return -softplus(-x)


def logaddexp(x: Steps, y: Steps) -> Steps:
    """max + log1p(exp(-|x - y|))."""
    larger = where(x > y, x, y)
    smaller = where(x > y, y, x)
    more = log1p(exp(smaller - larger))
    return where(x.equals(y) & abs(x).equals(INF), x, where(x.equals(x) & y.equals(y), larger + more, x + y))


def mish(x: Steps) -> Steps:
    return x * tanh(softplus(x))


def _normal(x: Steps) -> Steps:
    """Phi(x)."""
    return erfc(x * -math.sqrt(0.5)) * 0.5


def gelu(x: Steps) -> Steps:
    return x * _normal(x)


_SCALE, _CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def gelu_tanh(x: Steps) -> Steps:
    """x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))."""
    return x * sigmoid((x + x * x * x * _CUBIC) * _SCALE)


# Gradients.


def sigmoid_grad(g: Steps, y: Steps) -> Steps:
    return g * ((1.0 - y) * y)


def tanh_grad(g: Steps, y: Steps) -> Steps:
    return g * (1.0 - y * y)


def silu_grad(g: Steps, x: Steps) -> Steps:
    open_ = sigmoid(x)
    return g * (open_ * (1.0 + x * (1.0 - open_)))


def logsigmoid_grad(g: Steps, x: Steps) -> Steps:
    return g * sigmoid(-x)


def mish_grad(g: Steps, x: Steps) -> Steps:
    t = tanh(softplus(x))
    return g * (t + x * sigmoid(x) * (1.0 - t * t))


def gelu_grad(g: Steps, x: Steps) -> Steps:
    density = exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return g * (_normal(x) + x * density)


def gelu_tanh_grad(g: Steps, x: Steps) -> Steps:
    open_ = sigmoid((x + x * x * x * _CUBIC) * _SCALE)
    slope = (1.0 + x * x * (3 * _CUBIC)) * _SCALE
    return g * (open_ + x * open_ * (1.0 - open_) * slope)


declare(gelu, gelu_tanh, logaddexp, logsigmoid, mish, sigmoid, silu, softplus)
declare(gelu_grad, gelu_tanh_grad, logsigmoid_grad, mish_grad, sigmoid_grad, silu_grad, tanh_grad)
