# SPDX-License-Identifier: MIT
"""Calls of torch at the sizes that models make them, by family: what calls.py measures.

A family is a generator of calls: a name, a function and its operands. By the operands that require a gradient, and the
parameters of a function that is a module, the backward is measured too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Call = tuple[Any, ...]
Family = Callable[[], Iterator[Call]]

FAMILIES: dict[str, Family] = {}


def family(name: str) -> Callable[[Family], Family]:
    def enter(calls: Family) -> Family:
        FAMILIES[name] = calls
        return calls

    return enter


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Normally distributed, with a gradient."""
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def between(low: float, high: float, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Uniformly distributed, with a gradient."""
    return (low + (high - low) * torch.rand(*shape, dtype=dtype)).requires_grad_()


def places(size: int, *shape: int) -> Tensor:
    return torch.randint(size, shape)


@family("products")
def _products() -> Iterator[Call]:
    yield "mm, 512²", torch.mm, leaf(512, 512), leaf(512, 512)
    yield "mm, 64²", torch.mm, leaf(64, 64), leaf(64, 64)
    yield "addmm, 128 × 256 × 512", torch.addmm, leaf(256), leaf(128, 512), leaf(512, 256)
    yield "linear, 256 tokens, 256 to 1024", F.linear, leaf(4, 64, 256), leaf(1024, 256), leaf(1024)
    yield "linear, 1 token, 768 to 768", F.linear, leaf(1, 768), leaf(768, 768), leaf(768)
    yield "linear, 100 images, 400 to 120", F.linear, leaf(100, 400), leaf(120, 400), leaf(120)
    yield "bmm, 64 of 64²", torch.bmm, leaf(64, 64, 64), leaf(64, 64, 64)
    yield "bmm, 256 of 8²", torch.bmm, leaf(256, 8, 8), leaf(256, 8, 8)
    yield "bmm, 1000 of 3²", torch.bmm, leaf(1000, 3, 3), leaf(1000, 3, 3)
    yield "rotations of 1000 points, 3² by 3", torch.matmul, leaf(1000, 3, 3), leaf(1000, 3, 1)
    yield "cross products, 10^4", torch.linalg.cross, leaf(10**4, 3), leaf(10**4, 3)
    yield "matmul, 8 × 4 heads, 64 × 32 × 64", torch.matmul, leaf(8, 4, 64, 32), leaf(8, 4, 32, 64)
    yield "einsum, 512 dots of 512", partial(torch.einsum, "bi,bi->b"), leaf(512, 512), leaf(512, 512)
    yield "mv, 1024²", torch.mv, leaf(1024, 1024), leaf(1024)
    yield "dot, 10^5", torch.dot, leaf(10**5), leaf(10**5)
    yield "bilinear, 64, 64² to 16", F.bilinear, leaf(64, 64), leaf(64, 64), leaf(16, 64, 64)
    double = partial(leaf, dtype=torch.float64)
    yield "mm, 256², float64", torch.mm, double(256, 256), double(256, 256)
    yield "linear, 128, 256 to 256, float64", F.linear, double(128, 256), double(256, 256), double(256)
    yield "bmm, 32 of 32², float64", torch.bmm, double(32, 32, 32), double(32, 32, 32)
    yield "mv, 512², float64", torch.mv, double(512, 512), double(512)


@family("convolutions")
def _convolutions() -> Iterator[Call]:
    def conv2d(
        channels: int, size: int, outputs: int, kernel: int, batch: int = 4, groups: int = 1, **settings: int
    ) -> Call:
        weight = leaf(outputs, channels // groups, kernel, kernel)
        return partial(F.conv2d, groups=groups, **settings), leaf(batch, channels, size, size), weight, leaf(outputs)

    yield "2-d, LeNet: 6 × 14², 5 × 5", *conv2d(6, 14, 16, 5, batch=100)
    yield "2-d, stem: 3 × 112², 7 × 7, stride 2", *conv2d(3, 112, 64, 7, stride=2, padding=3)
    yield "2-d, 64 × 28², 3 × 3", *conv2d(64, 28, 64, 3, padding=1)
    yield "2-d, 64 × 28² to 128, 3 × 3, stride 2", *conv2d(64, 28, 128, 3, stride=2, padding=1)
    yield "2-d, 256 × 28² to 64, 1 × 1", *conv2d(256, 28, 64, 1)
    yield "2-d, 3 × 64² to 256, 16 × 16, stride 16", *conv2d(3, 64, 256, 16, stride=16)
    yield "2-d, 1 × 28² to 32, 3 × 3", *conv2d(1, 28, 32, 3, batch=64, padding=1)
    yield "2-d, 64 × 28², 3 × 3, dilation 2", *conv2d(64, 28, 64, 3, padding=2, dilation=2)
    yield "2-d, 128 × 28², 3 × 3, 32 groups", *conv2d(128, 28, 128, 3, padding=1, groups=32)
    yield "2-d, 96 × 28², 3 × 3, depthwise", *conv2d(96, 28, 96, 3, padding=1, groups=96)
    yield "2-d, 96 × 28², 7 × 7, depthwise", *conv2d(96, 28, 96, 7, padding=3, groups=96)
    call, x, weight, bias = conv2d(64, 28, 64, 3, padding=1)
    last = x.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    yield "2-d, 64 × 28², 3 × 3, channels last", call, last, weight, bias
    double = partial(leaf, dtype=torch.float64)
    yield "2-d, 16 × 28², 3 × 3, float64", partial(F.conv2d, padding=1), double(4, 16, 28, 28), double(16, 16, 3, 3)
    yield "1-d, 64 × 500, 5", partial(F.conv1d, padding=2), leaf(8, 64, 500), leaf(64, 64, 5), leaf(64)
    yield "1-d, 1 × 16000 to 512, 10, stride 5", partial(F.conv1d, stride=5), leaf(1, 1, 16000), leaf(512, 1, 10)
    yield (
        "1-d, 128 × 200, 31, depthwise",
        partial(F.conv1d, padding=15, groups=128),
        leaf(4, 128, 200),
        leaf(128, 1, 31),
    )
    yield "3-d, 16 × 16³, 3³", partial(F.conv3d, padding=1), leaf(2, 16, 16, 16, 16), leaf(16, 16, 3, 3, 3), leaf(16)
    twice = {"stride": 2, "padding": 1}
    yield (
        "transposed 1-d, 64 × 250, 4, stride 2",
        partial(F.conv_transpose1d, **twice),
        leaf(4, 64, 250),
        leaf(64, 32, 4),
    )
    yield (
        "transposed 2-d, 64 × 16², 4 × 4, stride 2", partial(F.conv_transpose2d, **twice), leaf(8, 64, 16, 16),
        leaf(64, 32, 4, 4),
    )  # fmt: skip
    yield (
        "transposed 2-d, 64 × 32², 2 × 2, stride 2", partial(F.conv_transpose2d, stride=2), leaf(4, 64, 32, 32),
        leaf(64, 32, 2, 2),
    )  # fmt: skip
    yield (
        "transposed 3-d, 16 × 8³, 4³, stride 2", partial(F.conv_transpose3d, **twice), leaf(2, 16, 8, 8, 8),
        leaf(16, 8, 4, 4, 4),
    )  # fmt: skip


def _pointwise(dtype: torch.dtype) -> Iterator[Call]:
    """Of 256²: as many numbers as a layer of a small batch has."""
    draw = partial(between, 0.1, 3.0, 256, 256, dtype=dtype)
    for name in ("exp", "log", "log1p", "sin", "tan", "tanh", "sigmoid", "erf", "sqrt", "rsqrt"):
        yield name, getattr(torch, name), draw()
    for name in ("add", "mul", "div", "pow", "atan2", "maximum", "remainder"):
        yield name, getattr(torch, name), draw(), draw()
    yield "fmod", torch.fmod, draw().detach(), draw().detach()
    yield "addcmul", torch.addcmul, draw(), draw(), draw()
    yield "add, a row to each", torch.add, draw(), between(0.1, 3, 256, dtype=dtype)


@family("functions")
def _functions() -> Iterator[Call]:
    yield from _pointwise(torch.float32)
    many = torch.rand(10**6)
    yield "exp, 10^6", torch.exp, many
    yield "lerp", torch.lerp, many, many, 0.1
    yield "power of 3", torch.pow, many, 3


@family("short rows")
def _short_rows() -> Iterator[Call]:
    """Operands that are broadcast, whose last dimensions are short, and reductions of short rows."""
    points, images, heads = leaf(20_000, 3), leaf(4, 64, 64, 3), leaf(4, 128, 12, 32)
    yield "a number to each of 20000 points", torch.mul, points, leaf(20_000, 1)
    yield "a point to all of 20000", torch.add, points, leaf(3)
    yield "differences of 200 points", torch.sub, leaf(200, 1, 3), leaf(1, 200, 3)
    yield "a mean of each channel, 4 × 64² × 3", torch.sub, images, leaf(3)
    yield "a number to each of 10000 rows of 16", torch.sub, leaf(10_000, 16), leaf(10_000, 1)
    yield "an angle to each head, 4 × 128 × 12 of 32", torch.mul, heads, leaf(128, 1, 32)
    yield "halves of 32", lambda x: x[..., :16] * x[..., 16:], heads
    yield "every second number of 32", lambda x: x[..., ::2] * x[..., 1::2], heads
    points, scores = leaf(5000, 3), leaf(5000, 10)
    for name in ("sum", "mean", "prod", "amax", "norm"):
        yield f"{name}, 5000 of 3", partial(getattr(torch, name), dim=-1), points
    yield "normalize, 5000 of 3", F.normalize, points
    for name in ("softmax", "log_softmax", "logsumexp"):
        yield f"{name}, 5000 of 10", partial(getattr(torch, name), dim=-1), scores


@family("functions, float64")
def _functions_of_doubles() -> Iterator[Call]:
    yield from _pointwise(torch.float64)


@family("bfloat16")
def _low_precision() -> Iterator[Call]:
    low = partial(leaf, dtype=torch.bfloat16)
    for name in ("exp", "log", "tanh", "sigmoid", "erf", "sqrt"):
        yield name, getattr(torch, name), between(0.1, 3.0, 256, 256, dtype=torch.bfloat16)
    yield "gelu", F.gelu, low(256, 256)
    yield "silu", F.silu, low(256, 256)
    yield "add", torch.add, low(256, 256), low(256, 256)
    yield "sum of rows", partial(torch.sum, dim=1), low(256, 1000)
    yield "softmax, 64 of 1000", partial(torch.softmax, dim=1), low(64, 1000)
    yield "softmax, 8 × 12 × 128 of 128", partial(torch.softmax, dim=-1), low(8, 12, 128, 128)
    yield "layer_norm, 256 of 256", F.layer_norm, low(256, 256), (256,)
    yield "batch_norm, 8 × 64 × 28², evaluated", F.batch_norm, low(8, 64, 28, 28), *low(2, 64).detach().abs()
    yield "linear, 1 token, 768 to 768", F.linear, low(1, 768), low(768, 768), low(768)
    for tokens in (1, 8):
        frozen = low(4096, 4096).detach()
        yield f"linear, {tokens} of 4096 to 4096, frozen", F.linear, low(tokens, 4096).detach(), frozen
    half = partial(torch.randn, dtype=torch.float16)
    yield "linear, 1 of 4096 to 4096, float16, frozen", F.linear, half(1, 4096), half(4096, 4096)
    yield "linear, 256 tokens, 256 to 1024", F.linear, low(256, 256), low(1024, 256), low(1024)
    yield "2-d, 64 × 28², 3 × 3", partial(F.conv2d, padding=1), low(4, 64, 28, 28), low(64, 64, 3, 3)


@family("reductions")
def _reductions() -> Iterator[Call]:
    rows = leaf(256, 1000)
    yield "sum, 10^6", torch.sum, leaf(10**6)
    yield "sum of rows", partial(torch.sum, dim=1), rows
    yield "sum of columns", partial(torch.sum, dim=0), rows
    yield "mean of rows", partial(torch.mean, dim=1), rows
    yield "var of rows", partial(torch.var, dim=1), rows
    yield "std of columns", partial(torch.std, dim=0), rows
    yield "logsumexp of rows", partial(torch.logsumexp, dim=1), rows
    yield "norm", torch.linalg.vector_norm, rows
    yield "norms of order 1 of rows", partial(torch.linalg.vector_norm, ord=1, dim=1), rows
    yield "amax of rows", partial(torch.amax, dim=1), rows
    yield "max of rows", partial(torch.max, dim=1), rows
    yield "sum, 10^6, float64", torch.sum, leaf(10**6, dtype=torch.float64)
    yield "var of rows, float64", partial(torch.var, dim=1), leaf(256, 1000, dtype=torch.float64)


@family("activations")
def _activations() -> Iterator[Call]:
    x = leaf(256, 256)
    for name in (
        "relu", "gelu", "silu", "mish", "elu", "selu", "leaky_relu", "softplus", "hardswish", "hardtanh", "logsigmoid",
        "glu", "relu6", "softsign",
    ):  # fmt: skip
        yield name, getattr(F, name), x
    yield "gelu, tanh", partial(F.gelu, approximate="tanh"), x
    yield "prelu", F.prelu, x, between(0, 1, 256)
    yield "gelu, float64", F.gelu, leaf(256, 256, dtype=torch.float64)


@family("norms")
def _norms() -> Iterator[Call]:
    tokens, images, channels = leaf(256, 768), leaf(8, 64, 28, 28), (leaf(64), leaf(64))
    running = torch.zeros(64), torch.ones(64)
    yield "layer_norm, 256 of 768", F.layer_norm, tokens, (768,), leaf(768), leaf(768)
    yield "rms_norm, 256 of 768", F.rms_norm, tokens, (768,), leaf(768)
    yield "batch_norm, 8 × 64 × 28²", partial(F.batch_norm, training=True), images, *running, *channels
    yield "batch_norm, evaluated", F.batch_norm, images, *running, *channels
    yield (
        "batch_norm, 256 of 256",
        partial(F.batch_norm, training=True),
        leaf(256, 256),
        None,
        None,
        leaf(256),
        leaf(256),
    )
    yield "group_norm, 8 × 64 × 28², 32 groups", F.group_norm, images, 32, *channels
    yield "group_norm, 2 × 320 × 64², 32 groups", F.group_norm, leaf(2, 320, 64, 64), 32, leaf(320), leaf(320)
    yield "instance_norm, 8 × 64 × 28²", F.instance_norm, images
    yield "normalize, 256 of 768", F.normalize, tokens
    yield "local_response_norm, 8 × 64 × 28²", F.local_response_norm, images, 5
    yield "layer_norm, 256 of 256, float64", F.layer_norm, leaf(256, 256, dtype=torch.float64), (256,)


@family("softmax")
def _softmax() -> Iterator[Call]:
    yield "softmax, 256 of 1000", partial(torch.softmax, dim=1), leaf(256, 1000)
    yield "softmax, 4 × 8 × 64 of 64", partial(torch.softmax, dim=-1), leaf(4, 8, 64, 64)
    yield "softmax over 21 × 64²", partial(torch.softmax, dim=1), leaf(4, 21, 64, 64)
    yield "log_softmax, 64 of 10000", partial(torch.log_softmax, dim=1), leaf(64, 10000)
    yield "softmin, 256 of 100", partial(F.softmin, dim=1), leaf(256, 100)
    yield "softmax, 64 of 1000, float64", partial(torch.softmax, dim=1), leaf(64, 1000, dtype=torch.float64)


@family("losses")
def _losses() -> Iterator[Call]:
    scores, classes = leaf(256, 1000), places(1000, 256)
    x, target = leaf(256, 256), torch.rand(256, 256)
    yield "cross_entropy, 256 of 1000", F.cross_entropy, scores, classes
    yield "cross_entropy, smoothed", partial(F.cross_entropy, label_smoothing=0.1), scores, classes
    yield "cross_entropy, probabilities", F.cross_entropy, scores, torch.rand(256, 1000).softmax(1)
    yield "cross_entropy, 4 × 21 × 64²", F.cross_entropy, leaf(4, 21, 64, 64), places(21, 4, 64, 64)
    yield "nll_loss, 256 of 1000", F.nll_loss, scores, classes
    for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits",
        "soft_margin_loss", "poisson_nll_loss",
    ):  # fmt: skip
        yield name, getattr(F, name), x, target
    yield "kl_div", partial(F.kl_div, reduction="batchmean"), x, target
    yield "binary_cross_entropy", F.binary_cross_entropy, between(0.01, 0.99, 256, 256), target
    yield "gaussian_nll_loss", F.gaussian_nll_loss, x, target, between(0.1, 1, 256, 256)
    yield "multi_margin_loss", F.multi_margin_loss, scores, classes
    yield "multilabel_soft_margin_loss", F.multilabel_soft_margin_loss, x, target.round()
    yield "hinge_embedding_loss", F.hinge_embedding_loss, x, 2 * target.round() - 1
    yield "cosine_embedding_loss", F.cosine_embedding_loss, leaf(256, 256), x, 2 * places(2, 256) - 1
    yield "triplet_margin_loss", F.triplet_margin_loss, x, leaf(256, 256), leaf(256, 256)
    log_probabilities = torch.randn(100, 8, 30).log_softmax(2).requires_grad_()
    lengths = torch.full((8,), 100), torch.full((8,), 20)
    yield "ctc_loss, 8 of 100 × 30, 20 letters", F.ctc_loss, log_probabilities, 1 + places(29, 8, 20), *lengths


@family("distances")
def _distances() -> Iterator[Call]:
    a, b = leaf(128, 64), leaf(128, 64)
    yield "cdist, 128 × 128 of 64", torch.cdist, a, b
    yield "cdist, the same, not by products", partial(torch.cdist, compute_mode="donot_use_mm_for_euclid_dist"), a, b
    yield "cdist, order 1", partial(torch.cdist, p=1.0), a, b
    yield "pdist, 128 of 64", F.pdist, a
    yield "pairwise_distance", F.pairwise_distance, a, b
    yield "cosine_similarity", F.cosine_similarity, a, b


@family("attention")
def _attention() -> Iterator[Call]:
    attend = F.scaled_dot_product_attention

    def heads(length: int, batch: int = 4, number: int = 8, width: int = 64) -> Tensor:
        return torch.randn(batch, length, number, width).transpose(1, 2).requires_grad_()

    three = heads(128), heads(128), heads(128)
    yield "4 × 8 × 128 of 64", attend, *three
    yield "4 × 8 × 128 of 64, causal", partial(attend, is_causal=True), *three
    yield "4 × 8 × 128 of 64, mask", attend, *three, torch.randn(4, 1, 128, 128)
    yield "1 × 8 × 512 of 64, causal", partial(attend, is_causal=True), heads(512, 1), heads(512, 1), heads(512, 1)
    yield "decode: 1 of 512, 8 × 8 of 64", attend, heads(1, 8).detach(), heads(512, 8).detach(), heads(512, 8).detach()
    grouped = heads(128, number=2), heads(128, number=2)
    yield "4 × 8 × 128 of 64, 2 heads of keys", partial(attend, enable_gqa=True, is_causal=True), heads(128), *grouped
    tokens = leaf(8, 64, 256)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    yield "MultiheadAttention, 8 × 64 of 256", nn.MultiheadAttention(256, 4, batch_first=True), tokens, tokens, tokens
    yield "TransformerEncoderLayer, 8 × 64 of 256", layer, tokens


@family("embeddings")
def _embeddings() -> Iterator[Call]:
    weight, tokens, bags = leaf(10**4, 128), places(10**4, 8, 128), places(10**4, 256, 20)
    yield "embedding, 1024 of 10^4 × 128", F.embedding, tokens, weight
    yield "embedding_bag, sums of 256 × 20", partial(F.embedding_bag, mode="sum"), bags, weight
    yield "embedding_bag, means", partial(F.embedding_bag, mode="mean"), bags, weight
    yield "embedding_bag, maxima", partial(F.embedding_bag, mode="max"), bags, weight

    def weighted(bags: Tensor, weight: Tensor, weights: Tensor) -> Tensor:
        return F.embedding_bag(bags, weight, mode="sum", per_sample_weights=weights)

    yield "embedding_bag, weighted", weighted, bags, weight, leaf(256, 20)
    yield "index_select, 1024 rows of 128", torch.index_select, weight, 0, tokens.flatten()
    yield "gather, 256 × 128", torch.gather, leaf(256, 1000), 1, places(1000, 256, 128)
    yield "x[i], 1024 rows of 128", lambda x: x[tokens], weight


@family("index sums")
def _index_sums() -> Iterator[Call]:
    table, rows, of_rows = leaf(1000, 64), leaf(10**4, 64), places(1000, 10**4)
    bins, numbers, of_numbers = leaf(1000), leaf(10**5), places(1000, 10**5)
    grad, tokens = torch.randn(1024, 256), places(10**4, 1024)
    yield "index_add, 10^4 rows of 64 to 1000", torch.index_add, table, 0, of_rows, rows
    yield "scatter_add, 10^5 to 1000", torch.scatter_add, bins, 0, of_numbers, numbers
    yield "scatter_add, 10^4 rows of 64 to 1000", torch.scatter_add, table, 0, of_rows[:, None].expand(-1, 64), rows
    yield "scatter_reduce, means, 10^5", torch.scatter_reduce, bins, 0, of_numbers, numbers, "mean"
    yield "scatter_reduce, maxima, 10^5", torch.scatter_reduce, bins, 0, of_numbers, numbers, "amax"
    maxima = partial(torch.index_reduce, reduce="amax")
    yield "index_reduce, maxima, 10^4 rows of 64 to 1000", maxima, table, 0, of_rows, rows
    yield "index_put, 10^4 rows of 64 to 1000", partial(torch.index_put, accumulate=True), table, (of_rows,), rows
    yield "put, 10^5 to 1000", partial(torch.put, accumulate=True), bins, of_numbers, numbers
    yield "assignment, 10^4 rows of 64 to 1000", torch.index_put, table, (of_rows,), rows
    yield "assignment, 32 rows of 64 to 1000", torch.index_put, table, (of_rows[:32],), rows[:32].detach()
    yield "bincount with weights, 10^5", torch.bincount, of_numbers, torch.rand(10**5)
    gradient = partial(
        torch.ops.aten.embedding_dense_backward, num_weights=10**4, padding_idx=-1, scale_grad_by_freq=False
    )
    yield "embedding's gradient, 1024 of 256", gradient, grad, tokens
    lengths = partial(torch.segment_reduce, reduce="sum", lengths=torch.full((100,), 100))
    yield "segment_reduce, 100 sums of 100 × 64", lengths, rows
    cells, dense = places(1000, 2, 10**4), leaf(1000, 64)
    sparse = torch.sparse_coo_tensor(cells, torch.randn(10**4), (1000, 1000)).coalesce()
    yield "sparse @ dense, 10^4 of 1000², by 64", torch.sparse.mm, sparse, dense
    yield "sparse, by rows (CSR), @ dense", torch.mm, sparse.to_sparse_csr(), dense.detach()
    yield "sparse @ vector", torch.mv, sparse, torch.randn(1000)
    repeated = places(100, 2, 10**4), torch.randn(10**4)
    yield "coalesce, 10^4", lambda i, x: torch.sparse_coo_tensor(i, x, (100, 100)).coalesce(), *repeated
    yield "sparse sum of rows", lambda s: torch.sparse.sum(s, 1), sparse


@family("scans")
def _scans() -> Iterator[Call]:
    rows, factors = leaf(256, 1000), between(0.9, 1.1, 256, 1000)
    yield "cumsum of rows", partial(torch.cumsum, dim=1), rows
    yield "cumsum of columns", partial(torch.cumsum, dim=0), rows
    yield "cumsum, 10^5", partial(torch.cumsum, dim=0), leaf(10**5)
    yield "cumprod of rows", partial(torch.cumprod, dim=1), factors
    yield "logcumsumexp of rows", partial(torch.logcumsumexp, dim=1), rows
    yield "cummax of rows", partial(torch.cummax, dim=1), rows
    yield "prod of rows", partial(torch.prod, dim=1), factors
    yield "prod, 10^5", torch.prod, factors.detach()[:100].reshape(-1)
    yield "cumsum of rows, float64", partial(torch.cumsum, dim=1), leaf(256, 1000, dtype=torch.float64)
    yield "prod of rows, float64", partial(torch.prod, dim=1), between(0.9, 1.1, 256, 1000, dtype=torch.float64)


@family("sorting")
def _sorting() -> Iterator[Call]:
    rows, numbers = leaf(64, 1000), torch.randn(10**5)
    yield "sort, 64 of 1000", torch.sort, rows
    yield "sort, 10^5", torch.sort, numbers
    yield "argsort, 64 of 1000", torch.argsort, rows.detach()
    yield "topk, 50 of 64 × 10^4", torch.topk, leaf(64, 10**4), 50
    yield "topk, 1 of 256 × 100", torch.topk, leaf(256, 100), 1
    yield "unique, 10^5 integers", torch.unique, places(1000, 10**5)
    yield (
        "unique with inverse and counts",
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        places(1000, 10**5),
    )
    yield "histc, 10^5", torch.histc, numbers
    yield "histogram, 10^5", torch.histogram, numbers, 100
    yield "bincount, 10^5", torch.bincount, places(1000, 10**5)
    yield "median, 10^5", torch.median, numbers
    yield "median of rows, 64 of 1000", partial(torch.median, dim=1), rows
    yield "kthvalue, 64 of 1000", torch.kthvalue, rows, 100
    yield "quantile, 64 of 1000", partial(torch.quantile, q=0.9, dim=1), rows
    yield "mode, 64 of 1000", torch.mode, places(100, 64, 1000)
    yield "searchsorted, 10^4 in 1000", torch.searchsorted, torch.sort(numbers[:1000])[0], numbers[: 10**4]
    yield "argmax, 256 of 1000", partial(torch.argmax, dim=1), torch.randn(256, 1000)


@family("recurrent layers")
def _recurrent_layers() -> Iterator[Call]:
    x = leaf(32, 16, 64)
    yield "LSTM, 32 × 16 of 64 to 128", nn.LSTM(64, 128), x
    yield "LSTM, two layers, both directions", nn.LSTM(64, 64, num_layers=2, bidirectional=True), x
    yield "LSTM, 32 × 1 of 64 to 64", nn.LSTM(64, 64), leaf(32, 1, 64)
    yield "GRU, 32 × 16 of 64 to 128", nn.GRU(64, 128), x
    yield "GRU, batch first", nn.GRU(64, 64, batch_first=True), leaf(16, 32, 64)
    yield "RNN, tanh, 32 × 16 of 64 to 128", nn.RNN(64, 128), x
    yield "RNN, relu", nn.RNN(64, 128, nonlinearity="relu"), x
    yield "LSTMCell, 16 of 64 to 128", nn.LSTMCell(64, 128), leaf(16, 64)
    yield "GRUCell, 16 of 64 to 128", nn.GRUCell(64, 128), leaf(16, 64)
    yield (
        "LSTM, 32 × 16 of 64 to 64, float64",
        nn.LSTM(64, 64, dtype=torch.float64),
        leaf(32, 16, 64, dtype=torch.float64),
    )


@family("optimizers")
def _optimizers() -> Iterator[Call]:
    """Steps of a network of two layers of a transformer, 1.6 million numbers in 24 tensors."""
    layer = nn.TransformerEncoderLayer(256, 4, 1024)
    network = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    parameters = [torch.nn.Parameter(p.detach().clone()) for p in network.parameters()]
    for p in parameters:
        p.grad = 1e-3 * torch.randn_like(p)
    kinds: dict[str, Callable[..., torch.optim.Optimizer]] = {
        "Adam": torch.optim.Adam,
        "AdamW": torch.optim.AdamW,
        "SGD": torch.optim.SGD,
        "SGD, momentum": partial(torch.optim.SGD, momentum=0.9),
        "RMSprop": torch.optim.RMSprop,
        "Adagrad": torch.optim.Adagrad,
    }
    for name, kind in kinds.items():
        for way in ("fused", "foreach"):
            if (name, way) != ("RMSprop", "fused"):
                yield f"{name}, {way}", kind(parameters, lr=1e-5, **{way: True}).step
    yield "Adam, one tensor at a time", torch.optim.Adam(parameters, lr=1e-5, foreach=False).step
    yield "clip_grad_norm_", nn.utils.clip_grad_norm_, parameters, 1.0
    yield "clip_grad_value_", nn.utils.clip_grad_value_, parameters, 1.0
    yield "get_total_norm", nn.utils.get_total_norm, [p.grad for p in parameters]


@family("pools")
def _pools() -> Iterator[Call]:
    x = leaf(8, 64, 28, 28)
    yield "max_pool2d, 2 × 2", F.max_pool2d, x, 2
    yield "max_pool2d, 3 × 3, stride 2", partial(F.max_pool2d, stride=2, padding=1), x, 3
    yield "avg_pool2d, 2 × 2", F.avg_pool2d, x, 2
    yield "adaptive_avg_pool2d to 7²", F.adaptive_avg_pool2d, x, 7
    yield "adaptive_avg_pool2d to 1", F.adaptive_avg_pool2d, x, 1
    yield "adaptive_max_pool2d to 7²", F.adaptive_max_pool2d, x, 7
    yield "max_pool1d, 4", F.max_pool1d, leaf(8, 64, 1000), 4
    yield "avg_pool1d, 4", F.avg_pool1d, leaf(8, 64, 1000), 4
    yield "avg_pool3d, 2³", F.avg_pool3d, leaf(2, 16, 16, 16, 16), 2
    yield "max_pool3d, 2³", F.max_pool3d, leaf(2, 16, 16, 16, 16), 2
    yield "lp_pool2d, 2 × 2", F.lp_pool2d, x, 2.0, 2
    yield "fold, 3 × 3 of 28²", partial(F.fold, output_size=28, kernel_size=3, padding=1), leaf(4, 16 * 9, 28 * 28)


@family("resampling")
def _resampling() -> Iterator[Call]:
    images, photos = leaf(4, 16, 28, 28), leaf(2, 3, 256, 256)
    sound, volume = leaf(4, 16, 500), leaf(1, 8, 16, 16, 16)
    double, resize = {"scale_factor": 2}, F.interpolate
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        yield f"{mode}, 4 × 16 × 28² doubled", partial(resize, mode=mode, **double), images
    last = images.detach().contiguous(memory_format=torch.channels_last)
    yield "bilinear, channels last", partial(resize, mode="bilinear", **double), last
    yield "area, 4 × 16 × 28² to 14²", partial(F.interpolate, size=14, mode="area"), images
    yield "linear, 4 × 16 × 500 doubled", partial(resize, mode="linear", **double), sound
    yield "trilinear, 8 × 16³ doubled", partial(resize, mode="trilinear", **double), volume
    for mode in ("bilinear", "bicubic"):
        yield f"{mode}, antialias, 2 × 3 × 256² to 112²", partial(resize, size=112, mode=mode, antialias=True), photos
    grid, cube = between(-1.1, 1.1, 4, 28, 28, 2), between(-1.1, 1.1, 1, 16, 16, 16, 3)
    for mode in ("bilinear", "nearest", "bicubic"):
        yield f"grid_sample, {mode}, 4 × 16 × 28²", partial(F.grid_sample, mode=mode, align_corners=False), images, grid
    yield "grid_sample, 8 × 16³", partial(F.grid_sample, align_corners=False), volume, cube
    yield "affine_grid, 4 × 28²", partial(F.affine_grid, size=(4, 3, 28, 28), align_corners=False), leaf(4, 2, 3)


@family("Fourier transforms")
def _fourier_transforms() -> Iterator[Call]:
    sound, window = leaf(4, 16000), torch.hann_window(512)
    half = partial(leaf, dtype=torch.complex64)
    yield "fft, 64 of 512", torch.fft.fft, half(64, 512)
    yield "fft, 32 of 1024", torch.fft.fft, half(32, 1024)
    yield "fft, 1 of 4096", torch.fft.fft, half(4096)
    yield "fft, 16 of 997", torch.fft.fft, half(16, 997)
    yield "rfft, 64 of 512", torch.fft.rfft, leaf(64, 512)
    yield "irfft, 64 of 512", torch.fft.irfft, half(64, 257)
    yield "fft2, 16 of 64²", torch.fft.fft2, half(16, 64, 64)
    yield "rfft2, 16 of 64²", torch.fft.rfft2, leaf(16, 64, 64)
    yield "fft, 64 of 512, complex128", torch.fft.fft, leaf(64, 512, dtype=torch.complex128)
    yield (
        "stft, 4 of 16000, 512 every 128",
        partial(torch.stft, n_fft=512, hop_length=128, window=window, return_complex=True),
        sound,
    )
    spectrum = torch.stft(sound.detach(), 512, 128, window=window, return_complex=True).requires_grad_()
    yield "istft of that", partial(torch.istft, n_fft=512, hop_length=128, window=window), spectrum


@family("linear algebra")
def _linear_algebra() -> Iterator[Call]:
    linalg = torch.linalg
    common = ("cholesky", "qr", "lu_factor", "solve", "inv", "svd", "eigh")
    rest = ("det", "solve_triangular", "lstsq", "matrix_exp", "pinv")
    for n, batch, dtype, names in (
        (4, (), torch.float32, common + rest),
        (4, (64,), torch.float32, common + rest),
        (6, (1000,), torch.float64, ("cholesky", "solve", "inv", "det", "solve_triangular")),
        (64, (), torch.float32, common + rest),
        (64, (), torch.float64, common),
        (256, (), torch.float32, common[:-2]),
    ):
        drawn, one = torch.randn(*batch, n, n, dtype=dtype) / math.sqrt(n), torch.eye(n, dtype=dtype)
        general, positive = ((drawn + 2 * one).requires_grad_(), (drawn @ drawn.mT + one).requires_grad_())
        sides = leaf(*batch, n, max(1, n // 4), dtype=dtype)
        size = f"{batch[0] if batch else 1} of {n}²" + ", float64" * (dtype == torch.float64)
        for name in names:
            function = getattr(linalg, name)
            if name in ("cholesky", "eigh"):
                yield f"{name}, {size}", function, positive
            elif name in ("solve", "lstsq"):
                yield f"{name}, {size}", function, general, sides
            elif name == "solve_triangular":
                yield f"{name}, {size}", partial(function, upper=True), general, sides
            else:
                yield f"{name}, {size}", function, general
    yield "cholesky_solve, 1 of 64²", torch.cholesky_solve, leaf(64, 16), linalg.cholesky(torch.eye(64) + 0.1)
    yield "eig, 1 of 64²", linalg.eig, torch.randn(64, 64)


@family("special functions")
def _special_functions() -> Iterator[Call]:
    special = torch.special
    x = between(0.1, 3, 128, 128)
    for name in (
        "gammaln", "digamma", "erfc", "erfcx", "i0", "i0e", "i1", "bessel_j0", "entr", "sinc", "log_ndtr",
    ):  # fmt: skip
        yield name, getattr(special, name), x.detach() if name == "bessel_j0" else x
    share = between(0.01, 0.99, 128, 128)
    yield "logit", special.logit, share
    yield "erfinv", special.erfinv, share
    yield "ndtri", special.ndtri, share
    yield "polygamma 1", partial(special.polygamma, 1), x
    yield "multigammaln 2", special.multigammaln, between(2, 5, 128, 128), 2
    yield "gammainc", special.gammainc, x.detach(), share
    yield "gammaincc", special.gammaincc, x.detach(), share
    yield "zeta", special.zeta, x.detach() + 1, share.detach()
    yield "xlogy", special.xlogy, x, share
    for name in ("gammaln", "digamma", "erfinv"):
        yield f"{name}, float64", getattr(special, name), between(0.01, 0.99, 128, 128, dtype=torch.float64)


@family("random numbers")
def _random_numbers() -> Iterator[Call]:
    x = torch.empty(256, 256)
    shares = torch.rand(64, 1000)
    yield "rand, 256²", torch.rand, 256, 256
    yield "randn, 256²", torch.randn, 256, 256
    yield "randint, 256²", torch.randint, 1000, (256, 256)
    yield "randn, 256², float64", partial(torch.randn, dtype=torch.float64), 256, 256
    yield "randperm, 10^4", torch.randperm, 10**4
    yield "uniform_, 256²", x.uniform_
    yield "normal_, 256²", x.normal_
    yield "exponential_, 256²", x.exponential_
    yield "bernoulli, 256²", torch.bernoulli, torch.rand(256, 256)
    yield "dropout, 256²", partial(F.dropout, p=0.1), leaf(256, 256)
    yield "alpha_dropout, 256²", partial(F.alpha_dropout, p=0.1, training=True), leaf(256, 256)
    yield "multinomial, 1 of 64 × 1000", torch.multinomial, shares, 1
    yield "multinomial, 10 of 64 × 1000", torch.multinomial, shares, 10
    yield "multinomial, 10 with replacement", partial(torch.multinomial, replacement=True), shares, 10
    yield "Gamma, 10^4", torch._standard_gamma, between(0.5, 3, 10**4)
    yield "Poisson, 10^4", torch.poisson, 5 * torch.rand(10**4)
    yield "binomial, 10^4", torch.binomial, torch.full((10**4,), 20.0), torch.rand(10**4)
    yield "Dirichlet, 1000 of 10", torch._sample_dirichlet, 0.5 + torch.rand(1000, 10)
    yield "trunc_normal_, 256²", nn.init.trunc_normal_, x


@family("complex numbers")
def _complex_numbers() -> Iterator[Call]:
    half = partial(leaf, dtype=torch.complex64)
    z = half(128, 256)
    yield "mm, 128²", torch.mm, half(128, 128), half(128, 128)
    yield "bmm, 32 of 32²", torch.bmm, half(32, 32, 32), half(32, 32, 32)
    yield "mm, 128², complex128", torch.mm, *(leaf(128, 128, dtype=torch.complex128) for _ in range(2))
    for name in ("mul", "add", "div"):
        yield name, getattr(torch, name), z, half(128, 256)
    for name in ("abs", "angle", "exp", "sum"):
        yield name, getattr(torch, name), z


@family("4×4")
def _small_calls() -> Iterator[Call]:
    a, b, out = torch.rand(4, 4), torch.rand(4, 4), torch.empty(4, 4)
    classes, row = torch.arange(4), torch.rand(4)
    for name in ("exp", "sqrt", "sum", "relu"):
        yield name, getattr(torch, name), a
    for name in ("add", "mul", "mm"):
        yield name, getattr(torch, name), a, b
    yield "exp, out", partial(torch.exp, out=out), a
    yield "exp, float64", torch.exp, a.double()
    yield "mm, float64", torch.mm, a.double(), b.double()
    yield "fft, complex64", torch.fft.fft, a.to(torch.complex64)
    yield "mul, complex64", torch.mul, a.to(torch.complex64), b.to(torch.complex64)
    yield "gelu", F.gelu, a
    yield "add, number", torch.add, a, 1.0
    yield "mul, number", torch.mul, a, 2.0
    yield "add_", out.zero_().add_, b
    yield "add_, alpha", partial(out.add_, alpha=0.1), b
    yield "addcmul_", partial(out.addcmul_, value=0.1), a, b
    yield "lerp_", out.lerp_, b, 0.1
    yield "power of 2", torch.pow, a, 2
    yield "addmm", torch.addmm, row, a, b
    yield "linear", F.linear, a, b
    yield "linear, with bias", F.linear, a, b, row
    yield "bmm", torch.bmm, a[None], b[None]
    yield "mean", torch.mean, a, 1
    yield "var", torch.var, a, 1
    yield "std", torch.std, a, 1
    yield "norm", torch.linalg.vector_norm, a
    yield "softmax", torch.softmax, a, 1
    yield "log_softmax", torch.log_softmax, a, 1
    yield "layer_norm", F.layer_norm, a, (4,)
    yield "rms_norm", F.rms_norm, a, (4,)
    yield "attention", F.scaled_dot_product_attention, a[None, None], a[None, None], a[None, None]
    yield "nll_loss", F.nll_loss, a, classes
    yield "cross_entropy", F.cross_entropy, a, classes
    yield "cumsum", torch.cumsum, a, 1
    yield "embedding", F.embedding, classes, a
    whole = torch.arange(16).reshape(4, 4)
    yield "add, int64", torch.add, whole, whole
    yield "add, int64 and a number", torch.add, whole, 1
    yield "sum, int64", torch.sum, whole
    yield "cumsum, int64", torch.cumsum, whole, 1
    low = a.bfloat16()
    yield "mm, bfloat16", torch.mm, low, low
    yield "softmax, bfloat16", torch.softmax, low, 1
    yield "conv2d", F.conv2d, a[None, None], b[None, None]
    yield "rand", torch.rand, 4, 4
    yield "randn", torch.randn, 4, 4
    yield "bernoulli_", out.bernoulli_, 0.5
    yield "dropout", F.dropout, a, 0.5
