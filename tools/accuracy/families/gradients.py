# SPDX-License-Identifier: MIT
"""Gradients, of float32 alone: their reference is float64's gradient in stock torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, linalg
from torch.nn import functional as F

from accuracy.calls import Call, Draw, family
from accuracy.families.recurrent import lstm


def gradient(function: Callable[..., Any], of: int = 0) -> Callable[..., Tensor]:
    """By one operand, of the sum of the results times normal numbers of float32, the same ones in every dtype."""

    def call(*operands: Tensor) -> Tensor:
        leaf = operands[of].detach().requires_grad_()
        result = function(*operands[:of], leaf, *operands[of + 1 :])
        above = np.random.default_rng(16).standard_normal(result.shape, np.float32)
        return torch.autograd.grad(result, leaf, torch.from_numpy(above).to(result.dtype))[0]

    return call


@family("gradients")
def _gradients(draw: Draw) -> Iterator[Call]:
    normal = draw.normal
    rows, square = normal(100, 1000), normal(100, 100)
    many = normal(40, 24, 24)

    def of(name: str, function: Callable[..., Any], *operands: Tensor, by: int = 0) -> Call:
        return Call(name, gradient(function, by), operands)

    yield of("linear, by weight", F.linear, normal(512, 256), normal(128, 256), by=1)
    yield of("linear, by bias", F.linear, normal(512, 256), normal(128, 256), normal(128), by=2)
    images, kernel = normal(4, 32, 14, 14), normal(32, 32, 3, 3)
    yield of("conv2d, by images", partial(F.conv2d, padding=1), images, kernel)
    yield of("conv2d, by weight", partial(F.conv2d, padding=1), images, kernel, by=1)
    yield of("softmax", partial(torch.softmax, dim=1), rows)
    yield of("log_softmax", partial(torch.log_softmax, dim=1), rows)
    yield of("cross_entropy", F.cross_entropy, rows, draw.places(1000, 100))
    weight, bias = normal(1000), normal(1000)
    yield of("layer_norm, by input", _layer_norm, rows, weight, bias)
    yield of("layer_norm, by weight", _layer_norm, rows, weight, bias, by=1)
    yield of("layer_norm, by bias", _layer_norm, rows, weight, bias, by=2)
    yield of("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), images)
    yield of("group_norm", lambda x: F.group_norm(x, 8), images)
    heads = [normal(1, 4, 128, 64) for _ in range(3)]
    for by, name in enumerate(("queries", "keys", "values")):
        yield of(f"attention, by {name}", F.scaled_dot_product_attention, *heads, by=by)
    yield of("embedding, by weight", lambda w, at: F.embedding(at, w), normal(50, 64), draw.places(50, 4096))
    yield of("cumsum", lambda x: x.cumsum(1), rows)
    yield of("cumprod", lambda x: x.cumprod(1), draw.between(0.9, 1.1, 64, 256))
    yield of("logcumsumexp", lambda x: x.logcumsumexp(1), rows)
    yield of("std", lambda x: x.std(1), rows)
    yield of("norm 2", lambda x: linalg.vector_norm(x, 2, 1), rows)
    yield of("gelu", F.gelu, rows)
    yield of("tanh", torch.tanh, rows)
    yield of("sigmoid", torch.sigmoid, rows)
    yield of("cdist", torch.cdist, normal(64, 32), normal(48, 32))
    yield of("solve", linalg.solve, square, normal(100, 10))
    yield of("inv", linalg.inv, square)
    yield of("det", linalg.det, many)
    yield of("cholesky", lambda a: linalg.cholesky(a @ a.mT / 100 + torch.eye(100, dtype=a.dtype)), square)
    yield of("eigvalsh", lambda a: linalg.eigvalsh(a + a.mT), many)
    yield of("svdvals", linalg.svdvals, many)
    yield of("qr, R", lambda a: linalg.qr(a)[1], many)
    yield of("matrix_exp", linalg.matrix_exp, square / 10)
    yield of("rfft and irfft, 1000", lambda x: torch.fft.irfft(torch.fft.rfft(x) ** 2, 1000), rows)
    yield of("bilinear, 32² to 50²", partial(F.interpolate, size=50, mode="bilinear"), normal(2, 8, 32, 32))
    size = 0.125
    weights = [draw.between(-size, size, 256, *of) for of in ((64,), (64,), (), ())]
    yield of("LSTM, by input", partial(lstm, training=True), normal(32, 16, 64), *weights)
    yield of("LSTM, by weight", partial(lstm, training=True), normal(32, 16, 64), *weights, by=1)


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, bias)
