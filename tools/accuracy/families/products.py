# SPDX-License-Identifier: MIT
"""Products of matrices, convolutions, attention, distances."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from accuracy.calls import Call, Draw, family
from accuracy.precise import Array, attention, convolution


@family("products of matrices")
def _products(draw: Draw) -> Iterator[Call]:
    normal = draw.normal
    yield Call("mm, 256²", torch.mm, (normal(256, 256), normal(256, 256)), np.matmul)
    yield Call("mm, 64 × 4096 × 64", torch.mm, (normal(64, 4096), normal(4096, 64)), np.matmul)
    half = draw.cancelling(64, 1024)
    yield Call("mm, 64 × 1024 × 64, cancelling", torch.mm, (half, 1 + normal(1024, 64) / 1000), np.matmul)
    yield Call("mm, 256², wide exponents", torch.mm, (draw.wide(256, 256), draw.wide(256, 256)), np.matmul)
    yield Call("bmm, 64 of 64²", torch.bmm, (normal(64, 64, 64), normal(64, 64, 64)), np.matmul)
    yield Call("mv, 1024²", torch.mv, (normal(1024, 1024), normal(1024)), np.matmul)
    yield Call(
        "dot, 64 of 10^4",
        lambda x, y: torch.stack([torch.dot(a, b) for a, b in zip(x, y)]),
        (normal(64, 10_000), normal(64, 10_000)),
        lambda x, y: (x * y).sum(1),
    )
    yield Call(
        "linear, 128 tokens, 768 to 256",
        F.linear,
        (normal(128, 768), normal(256, 768) / 28, normal(256)),
        lambda x, w, b: x @ w.T + b,
    )


@family("convolutions")
def _convolutions(draw: Draw) -> Iterator[Call]:
    normal = draw.normal
    same = partial(F.conv2d, padding=1)
    small = (normal(8, 6, 14, 14), normal(16, 6, 5, 5))
    yield Call("2-d, LeNet: 6 × 14², 5 × 5", F.conv2d, small, convolution)
    yield Call(
        "2-d, stem: 3 × 56², 7 × 7, stride 2",
        partial(F.conv2d, padding=3, stride=2),
        (normal(2, 3, 56, 56), normal(32, 3, 7, 7)),
        partial(convolution, padding=3, stride=2),
    )
    images = (normal(1, 64, 28, 28), normal(32, 64, 3, 3))
    yield Call("2-d, 64 × 28² to 32, 3 × 3", same, images, partial(convolution, padding=1))
    yield Call("2-d, 256 × 14² to 64, 1 × 1", F.conv2d, (normal(2, 256, 14, 14), normal(64, 256, 1, 1)), convolution)
    positive = (draw.between(0, 1, 1, 64, 14, 14), normal(32, 64, 3, 3))
    yield Call("2-d, 64 × 14² to 32, 3 × 3, positive images", same, positive, partial(convolution, padding=1))
    yield Call(
        "2-d, 96 × 28², 3 × 3, depthwise", partial(same, groups=96), (normal(2, 96, 28, 28), normal(96, 1, 3, 3))
    )
    yield Call("1-d, 64 × 500, 5", F.conv1d, (normal(2, 64, 500), normal(32, 64, 5)))
    yield Call(
        "transposed 2-d, 64 × 16², 4 × 4, stride 2",
        partial(F.conv_transpose2d, stride=2, padding=1),
        (normal(2, 64, 16, 16), normal(64, 32, 4, 4)),
    )


@family("attention")
def _attention(draw: Draw) -> Iterator[Call]:
    def heads(factor: float = 1, length: int = 128) -> tuple[torch.Tensor, ...]:
        return factor * draw.normal(1, 4, length, 64), draw.normal(1, 4, length, 64), draw.normal(1, 4, length, 64)

    call = F.scaled_dot_product_attention
    yield Call("4 heads, 128 tokens, 64", call, heads(), attention)
    causal = partial(call, is_causal=True)
    yield Call("4 heads, 128 tokens, 64, causal", causal, heads(), partial(attention, causal=True))
    yield Call("4 heads, 128 tokens, 64, large scores", call, heads(10), attention)
    yield Call("4 heads, 512 tokens, 64", call, heads(length=512), attention)


def _distances(x: Array, y: Array) -> Array:
    difference = x[:, None] - y[None]
    return np.sqrt((difference * difference).sum(-1))


@family("distances")
def _cdist(draw: Draw) -> Iterator[Call]:
    x, y = draw.normal(128, 64), draw.normal(96, 64)
    yield Call("cdist, 128 and 96 points of 64", torch.cdist, (x, y), _distances)
    yield Call("cdist, 20 points of 64", torch.cdist, (x[:20], y[:20]), _distances)
    near = x[:96] + draw.normal(96, 64) / 1000
    yield Call("cdist, points that are near each other", torch.cdist, (x, near), _distances)
    yield Call(
        "cdist, sums of absolute differences",
        partial(torch.cdist, p=1.0),
        (x, y),
        lambda x, y: np.abs(x[:, None] - y).sum(-1),
    )
    yield Call(
        "cosine_similarity, 128 of 768",
        F.cosine_similarity,
        (draw.normal(128, 768), draw.normal(128, 768)),
        lambda x, y: (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)),
    )
