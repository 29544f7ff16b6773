# SPDX-License-Identifier: MIT
"""Calls of torch on tensors of many blocks, and how their results are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

HALF, WIDE = torch.bfloat16, torch.float64


@dataclass(frozen=True)
class Large:
    """A call, and what makes its operands, on the CPU."""

    call: Callable[..., Any]
    operands: Callable[[], tuple[Tensor, ...]]

    def run(self, operands: tuple[Tensor, ...]) -> Any:
        torch.manual_seed(3)
        return self.call(*operands)


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def hostile(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Numbers of all magnitudes; and zeros of both signs, ties, infinities, NaN and subnormal ones among them."""
    x = normal(*shape, seed=7)
    flat = x.view(-1)
    flat[::11] *= 1e30
    flat[5::13] *= 1e-30
    flat[3::17] = flat[::17][: len(flat[3::17])]
    for at, number in enumerate((0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -3e-39)):
        flat[at::997] = number
    return x.to(dtype)


def whole(high: int, *shape: int, seed: int = 2) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def with_gradients(call: Callable[..., Tensor]) -> Callable[..., list[Any]]:
    """The result, and the gradients of all operands that have one, by the result itself."""

    def both(*operands: Tensor) -> list[Any]:
        leaves = [t.detach().requires_grad_() if t.is_floating_point() else t for t in operands]
        result = call(*leaves)
        result.backward(result.detach())
        return [result, *(leaf.grad for leaf in leaves if leaf.requires_grad)]

    return both


def of(call: Callable[..., Any], *operands: Callable[[], Tensor]) -> Large:
    return Large(call, lambda: tuple(make() for make in operands))


def randn(*shape: int, **settings: Any) -> Callable[[], Tensor]:
    return lambda: normal(*shape, **settings)


def hard(*shape: int, **settings: Any) -> Callable[[], Tensor]:
    return lambda: hostile(*shape, **settings)


def places(high: int, *shape: int, **settings: Any) -> Callable[[], Tensor]:
    return lambda: whole(high, *shape, **settings)


def adamw(p: Tensor, gradient: Tensor) -> list[Tensor]:
    parameter = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.AdamW([parameter], 0.01)
    for _ in range(2):
        parameter.grad = gradient
        optimizer.step()
    return [parameter.detach(), *(v for v in optimizer.state[parameter].values() if v.dim())]


def batch_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.batch_norm(x, None, None, w, b, training=True)


ELEMENTWISE = {
    "exp": of(torch.exp, hard(5_000_003)),
    "exp of float64": of(torch.exp, hard(700_001, dtype=WIDE)),
    "exp of bfloat16": of(torch.exp, hard(5_000_003, dtype=HALF)),
    "sin of float16": of(torch.sin, hard(1_000_003, dtype=torch.float16)),
    "sin": of(torch.sin, hard(2_000_003)),
    "erf": of(torch.erf, hard(2_000_003)),
    "pow": of(torch.pow, hard(1_000_003), randn(1_000_003)),
    "lgamma": of(torch.lgamma, hard(500_003)),
    "gelu and its gradient": of(with_gradients(F.gelu), randn(3_000_001)),
    "add of rows and columns": of(torch.add, randn(3001, 1), randn(1, 3001)),
    "a chain in place": of(
        lambda x, y: x.clone().mul_(y).add_(y, alpha=0.3).clamp_(min=-1.0), hard(4_000_001), randn(1)
    ),
    "transposed": of(lambda x, y: x.t() * y, randn(2999, 2003), randn(2003, 2999)),
    "steps": of(lambda x: torch.tanh(x[::3, 1::2]), randn(3001, 2003)),
    "expanded": of(lambda x: torch.exp(x.expand(4000, 1001)), randn(1001)),
    "permuted": of(lambda x, y: x.permute(2, 0, 1) + y, randn(101, 103, 107), randn(107, 101, 103)),
    "channels last": of(
        lambda x: torch.sigmoid(x.contiguous(memory_format=torch.channels_last)), randn(16, 33, 57, 59)
    ),
    "misaligned": of(lambda x: torch.sqrt(x[1:]), randn(3_000_002)),
    "complex numbers": of(lambda x, y: torch.complex(x, y) * torch.complex(y, x), randn(1_000_001), randn(1_000_001)),
    "where": of(lambda x, y: torch.where(x > y, x, y), hard(3_000_001), randn(3_000_001)),
    "integers": of(lambda x: x * 3 + x // 7, places(10**9, 3_000_001)),
    "conversion": of(lambda x: [x.half(), x.bfloat16(), x.double()], hard(3_000_001)),
}

SUMS = {
    "sum of all": of(torch.sum, randn(10_000_019)),
    "sum of float64": of(torch.sum, randn(3_000_001, dtype=WIDE)),
    "sum of bfloat16": of(lambda x: x.sum(1), randn(301, 10_007, dtype=HALF)),
    "sum of rows": of(lambda x: x.sum(1), randn(1000, 10_007)),
    "sum of short rows": of(lambda x: x.sum(1), randn(300_001, 17)),
    "sum of columns": of(lambda x: x.sum(0), randn(10_007, 601)),
    "sum of the middle": of(lambda x: x.sum(1), randn(60, 1301, 70)),
    "sum of transposed rows": of(lambda x: x.t().sum(1), randn(4099, 601)),
    "mean, variance and norm": of(lambda x: [x.mean(), x.var(1), x.std(0), x.norm()], randn(2003, 1999)),
    "logsumexp": of(lambda x: x.logsumexp(1), randn(1001, 4001)),
    "extremes": of(lambda x: [x.amax(1), x.amin(0), x.max(), x.argmax(1), *x.min(0)], hard(2003, 1999)),
    "cumsum": of(lambda x: [x.cumsum(0), x.cumsum(1)], randn(1003, 1999)),
    "cumsum of one row": of(lambda x: x.cumsum(0), randn(1_000_003)),
    "cumsum of integers": of(lambda x: x.cumsum(0), places(1000, 3_000_001)),
    "cumprod": of(lambda x: x.cumprod(1), randn(301, 999)),
    "cummax": of(lambda x: list(x.cummax(0)), hard(2001, 301)),
    "prod": of(lambda x: x.prod(1), randn(1001, 999)),
}

ROWS = {
    "softmax": of(with_gradients(lambda x: x.softmax(1)), randn(4099, 1000)),
    "softmax of long rows": of(with_gradients(lambda x: x.softmax(1)), randn(7, 300_007)),
    "softmax of columns": of(with_gradients(lambda x: x.softmax(0)), randn(1000, 2003)),
    "softmax of hard numbers": of(lambda x: x.softmax(1), hard(999, 1001)),
    "log_softmax of bfloat16": of(with_gradients(lambda x: x.log_softmax(1)), randn(2003, 1000, dtype=HALF)),
    "layer_norm": of(
        with_gradients(lambda x, w, b: F.layer_norm(x, (768,), w, b)), randn(4099, 768), randn(768), randn(768)
    ),
    "layer_norm of long rows": of(
        with_gradients(lambda x, w, b: F.layer_norm(x, (65_539,), w, b)),
        randn(17, 65_539),
        randn(65_539),
        randn(65_539),
    ),
    "rms_norm": of(with_gradients(lambda x, w: F.rms_norm(x, (1000,), w)), randn(3001, 1000), randn(1000)),
    "group_norm": of(
        with_gradients(lambda x, w, b: F.group_norm(x, 8, w, b)), randn(16, 64, 41, 43), randn(64), randn(64)
    ),
    "batch_norm": of(with_gradients(batch_norm), randn(32, 64, 29, 31), randn(64), randn(64)),
    "batch_norm of bfloat16": of(with_gradients(batch_norm), randn(16, 32, 29, 31, dtype=HALF), randn(32), randn(32)),
    "cross_entropy": of(with_gradients(F.cross_entropy), randn(1031, 5003), places(5003, 1031)),
    "cross_entropy of smoothed labels": of(
        with_gradients(lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1)), randn(2049, 1000), places(1000, 2049)
    ),
    "losses": of(
        lambda x, y: [F.mse_loss(x, y), F.smooth_l1_loss(x, y), F.kl_div(x, y.softmax(1), reduction="batchmean")],
        randn(1001, 999),
        randn(1001, 999, seed=2),
    ),
}

ORDERED = {
    "sort": of(lambda x: list(x.sort()), hard(1_000_003)),
    "sort of rows": of(lambda x: list(x.sort(1)), hard(1001, 1000)),
    "sort of columns": of(lambda x: list(x.sort(0, descending=True)), hard(1000, 501)),
    "sort of integers": of(lambda x: list(x.sort(stable=True)), places(1000, 1_000_003)),
    "sort of bfloat16": of(lambda x: list(x.sort(1)), hard(301, 3001, dtype=HALF)),
    "topk": of(lambda x: list(x.topk(50)), hard(501, 2003)),
    "median": of(lambda x: [x.median(), *x.kthvalue(7, 1)], randn(1001, 501)),
    "unique": of(lambda x: list(x.unique(return_inverse=True, return_counts=True)), places(5000, 1_000_003)),
    "randperm": of(lambda x: torch.randperm(1_000_003, device=x.device), randn(1)),
}

BY_INDEX = {
    "index_add": of(lambda x, i, y: x.index_add(0, i, y), randn(1000, 64), places(1000, 50_021), randn(50_021, 64)),
    "index_add to one place": of(
        lambda x, i, y: x.index_add(0, i, y), randn(3, 5), places(1, 200_003), randn(200_003, 5)
    ),
    "index_put of pairs": of(
        lambda x, i, j, y: x.index_put((i, j), y, accumulate=True),
        randn(301, 307),
        places(301, 500_009),
        places(307, 500_009, seed=4),
        randn(500_009),
    ),
    "scatter_add": of(
        lambda x, i, y: x.scatter_add(0, i, y), randn(501, 999), places(501, 2003, 999), randn(2003, 999)
    ),
    "the last of several writes": of(
        lambda x, i, y: x.scatter(0, i, y), randn(5003), places(5003, 500_009), randn(500_009)
    ),
    "embedding": of(with_gradients(lambda w, i: F.embedding(i, w)), randn(5003, 64), places(5003, 30_011)),
    "embedding of one word": of(with_gradients(lambda w, i: F.embedding(i, w)), randn(11, 33), places(1, 100_003)),
    "gather": of(with_gradients(lambda x, i: x.gather(1, i)), randn(1001, 501), places(501, 1001, 900)),
    "histc": of(lambda x: torch.histc(x, 100, -2.0, 2.0), randn(1_000_003)),
}

PRODUCTS = {
    "mm": of(torch.mm, randn(1024, 1024), randn(1024, 1024, seed=2)),
    "mm of transposed": of(lambda a, b: a.t() @ b.t(), randn(515, 1029), randn(643, 515)),
    "mm of steps": of(lambda a, b: a[::2, ::3] @ b[1:], randn(1000, 1500), randn(501, 300)),
    "mm of long sums": of(torch.mm, randn(64, 65_600), randn(65_600, 70)),
    "mm of one row": of(torch.mm, randn(1, 4096), randn(4096, 4999)),
    "mm of one column": of(torch.mm, randn(4999, 4096), randn(4096, 1)),
    "mm of float64": of(torch.mm, randn(515, 1028, dtype=WIDE), randn(1028, 640, dtype=WIDE)),
    "mm of bfloat16": of(torch.mm, randn(700, 1028, dtype=HALF), randn(1028, 640, dtype=HALF)),
    "mm of float16": of(torch.mm, randn(700, 129, dtype=torch.float16), randn(129, 640, dtype=torch.float16)),
    "mm of hard numbers": of(torch.mm, hard(301, 999), randn(999, 305)),
    "mm of complex numbers": of(
        lambda a, b: torch.complex(a, b) @ torch.complex(b, a).t(), randn(257, 300), randn(257, 300, seed=2)
    ),
    "bmm": of(torch.bmm, randn(513, 33, 65), randn(513, 65, 31)),
    "linear": of(with_gradients(F.linear), randn(2049, 511), randn(513, 511), randn(513)),
    "attention": of(
        with_gradients(F.scaled_dot_product_attention), *(randn(1, 4, 1024, 64, seed=s) for s in (1, 2, 3))
    ),
    "causal attention": of(
        with_gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
        *(randn(2, 2, 1023, 64, seed=s) for s in (1, 2, 3)),
    ),
    "attention of bfloat16": of(
        with_gradients(F.scaled_dot_product_attention), *(randn(1, 4, 513, 64, seed=s, dtype=HALF) for s in (1, 2, 3))
    ),
}

IMAGES = {
    "conv2d": of(
        with_gradients(lambda x, w, b: F.conv2d(x, w, b, padding=1)),
        randn(4, 64, 56, 56),
        randn(64, 64, 3, 3),
        randn(64),
    ),
    "conv2d with strides": of(
        with_gradients(lambda x, w: F.conv2d(x, w, stride=2, padding=3)), randn(4, 3, 131, 129), randn(64, 3, 7, 7)
    ),
    "conv2d of groups": of(
        with_gradients(lambda x, w: F.conv2d(x, w, padding=1, groups=4)), randn(4, 32, 29, 31), randn(48, 8, 3, 3)
    ),
    "conv2d by channel": of(
        with_gradients(lambda x, w: F.conv2d(x, w, padding=1, groups=96)), randn(4, 96, 57, 57), randn(96, 1, 3, 3)
    ),
    "conv2d of float64": of(
        with_gradients(lambda x, w: F.conv2d(x, w, dilation=2)),
        randn(2, 16, 33, 35, dtype=WIDE),
        randn(24, 16, 3, 3, dtype=WIDE),
    ),
    "conv2d of bfloat16": of(
        with_gradients(lambda x, w: F.conv2d(x, w)), randn(2, 32, 33, 35, dtype=HALF), randn(24, 32, 3, 3, dtype=HALF)
    ),
    "conv2d of channels last": of(
        lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w),
        randn(4, 32, 57, 59),
        randn(24, 32, 3, 3),
    ),
    "conv_transpose2d": of(
        with_gradients(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1)),
        randn(4, 32, 29, 31),
        randn(32, 16, 4, 4),
    ),
    "conv1d": of(with_gradients(lambda x, w: F.conv1d(x, w)), randn(4, 16, 20_001), randn(16, 16, 9)),
    "max_pool2d": of(with_gradients(lambda x: F.max_pool2d(x, 3, 2, 1)), randn(8, 32, 113, 111)),
    "avg_pool2d": of(with_gradients(lambda x: F.avg_pool2d(x, 3, 2, 1)), randn(8, 32, 113, 111)),
    "interpolate": of(
        with_gradients(lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear")), randn(4, 16, 57, 59)
    ),
}

OTHERS = {
    "dropout": of(with_gradients(lambda x: F.dropout(x, 0.3)), randn(10_000_019)),
    "randn": of(lambda x: torch.randn(10_000_019, device=x.device), randn(1)),
    "rand of float64": of(lambda x: torch.rand(1_000_003, device=x.device, dtype=WIDE), randn(1)),
    "randint": of(lambda x: torch.randint(100, (3_000_001,), device=x.device), randn(1)),
    "bernoulli": of(torch.bernoulli, lambda: normal(1_000_003).sigmoid()),
    "adamw": of(adamw, randn(3_000_001), randn(3_000_001, seed=2)),
    "fft": of(lambda x: torch.view_as_real(torch.fft.fft(x)), randn(301, 1000)),
    "cholesky": of(lambda x: torch.linalg.cholesky(x @ x.mT + 3 * torch.eye(41, device=x.device)), randn(50, 41, 41)),
    "solve": of(torch.linalg.solve, randn(129, 129), randn(129, 65)),
    "eigh": of(lambda x: list(torch.linalg.eigh(x + x.mT)), randn(20, 33, 33)),
    "svd": of(lambda x: list(torch.linalg.svd(x)), randn(20, 33, 30)),
}

LARGE: dict[str, Large] = ELEMENTWISE | SUMS | ROWS | ORDERED | BY_INDEX | PRODUCTS | IMAGES | OTHERS


def differences(got: Any, expected: Any) -> str:
    """In a few words, where results have other bits, every NaN alike; nothing if they have not."""
    if not isinstance(expected, Tensor):
        assert len(got) == len(expected)
        found = {i: differences(*pair) for i, pair in enumerate(zip(got, expected))}
        return "; ".join(f"result {i}: {words}" for i, words in found.items() if words)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    a, b = _bits(got), _bits(expected)
    unequal = np.flatnonzero(a != b)
    if not len(unequal):
        return ""
    numbers = [t.detach().cpu().reshape(-1)[unequal[0] * t.numel() // len(a)].item() for t in (got, expected)]
    words = f"{len(unequal)} of {len(a)} numbers of {tuple(got.shape)} differ, the first at {unequal[0]}"
    return f"{words}, the last at {unequal[-1]}: {numbers[0]!r} in the place of {numbers[1]!r}"


def _bits(tensor: Tensor) -> np.ndarray[Any, Any]:
    t = tensor.detach().cpu().resolve_conj().contiguous()
    t = torch.view_as_real(t) if t.is_complex() else t
    of_bits = t.reshape(-1).view({1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.itemsize])
    bits = of_bits.numpy()
    return np.where(t.reshape(-1).isnan().numpy(), -1, bits) if t.is_floating_point() else bits
