# SPDX-License-Identifier: MIT
"""What `bench/run.py cuda` times: calls of torch on a GPU, by family, the more important first.

A row makes its operands on torch's default device. `cut` makes sizes small for a try without a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from convolution import Layer, calls_of
from gpt2 import GPT2

Call = Callable[[], object]
Cut = Callable[[int], int]

TERAFLOPS, BANDWIDTH, MILLISECONDS, MICROSECONDS = "TFLOP/s", "GB/s", "ms", "µs"
"""Units. The last is of the host's time until a call returns, the others are of the device's."""


@dataclass(frozen=True)
class Row:
    """A call, by what makes its operands and itself."""

    name: str
    make: Callable[[], Call]
    unit: str
    work: float = 0.0
    """Operations of numbers, or bytes that have to be moved."""
    order: str | None = None
    """Of our sums; None is the one in force."""
    tolerance: float = 1e-4
    """How far results may be from torch's, as a share of the largest."""
    random: bool = False
    """Results are alike in mean and standard deviation alone."""


def ceilings(cut: Cut) -> Iterator[Row]:
    """Rows whose speeds in torch's own kernels are the ceilings of all in their units."""
    n = cut(2**28)

    def copy() -> Call:
        x = torch.randn(n)
        return partial(torch.empty_like(x).copy_, x)

    yield Row("copy of 1 GiB", copy, BANDWIDTH, 8 * n)
    yield _mm("mm, 8192 × 8192 × 8192", *[cut(8192)] * 3)


def _mm(
    name: str, m: int, n: int, k: int, layout: str = "NN", unit: str = TERAFLOPS, order: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Row:  # fmt: skip
    def make() -> Call:
        a = torch.randn(m, k, dtype=dtype) if layout[0] == "N" else torch.randn(k, m, dtype=dtype).t()
        b = torch.randn(k, n, dtype=dtype) if layout[1] == "N" else torch.randn(n, k, dtype=dtype).t()
        return partial(torch.mm, a, b)

    work = 2 * m * n * k if unit == TERAFLOPS else dtype.itemsize * (m * k + k * n + m * n)
    return Row(name, make, unit, work, order)


def products(cut: Cut) -> Iterator[Row]:
    def mm(m: int, n: int, k: int, layout: str = "NN", also: str = "", **more: Any) -> Row:
        words = ", ".join(filter(None, (f"mm, {m} × {n} × {k}", layout * (layout != "NN"), also)))
        return _mm(words, cut(m), cut(n), cut(k), layout, **more)

    yield mm(4096, 4096, 4096)
    yield mm(2048, 2048, 2048)
    yield mm(1024, 1024, 1024)
    yield mm(4096, 4096, 4096, also="sequential", order="sequential")
    yield mm(1, 4096, 4096, "NT", unit=BANDWIDTH)
    yield mm(16, 4096, 4096, "NT", unit=BANDWIDTH)
    yield mm(128, 128, 65536)
    yield mm(128, 128, 65536, also="sequential", order="sequential")
    yield mm(4096, 4096, 4096, "NT")
    yield mm(4096, 4096, 4096, "TN")
    yield mm(4096, 4096, 4096, "TT")
    yield mm(65536, 64, 64)
    yield mm(65536, 1024, 64)
    yield mm(1000, 1000, 1000)
    yield mm(1, 4096, 4096, unit=BANDWIDTH)
    yield mm(2048, 2048, 2048, also="float64", dtype=torch.float64)
    yield mm(4096, 4096, 4096, also="float64", dtype=torch.float64)

    def batched(batch: int, m: int, n: int, k: int) -> Row:
        b, rows, columns, terms = map(cut, (batch, m, n, k))
        make = _of(torch.bmm, (b, rows, terms), (b, terms, columns))
        return Row(f"bmm, {batch} × {m} × {n} × {k}", make, TERAFLOPS, 2 * b * rows * columns * terms)

    yield batched(64, 512, 512, 512)
    yield batched(48, 1024, 1024, 64)

    rows, width, wide = map(cut, (2048, 768, 3072))
    linear = _of(F.linear, (rows, width), (wide, width), (wide,))
    yield Row("linear, 2048 × 3072 × 768", linear, TERAFLOPS, 2 * rows * width * wide)


def _of(function: Callable[..., object], *shapes: tuple[int, ...], **settings: Any) -> Callable[[], Call]:
    """A function of normally distributed tensors."""
    return lambda: partial(function, *(torch.randn(shape) for shape in shapes), **settings)


def _with_gradient(
    function: Callable[..., torch.Tensor], *shapes: tuple[int, ...], others: Callable[[], tuple[Any, ...]] = tuple
) -> Callable[[], Call]:
    """A function of tensors and others, and the gradients by the tensors."""

    def make() -> Call:
        leaves = [torch.randn(shape).requires_grad_() for shape in shapes]
        rest = others()
        grad = torch.randn_like(function(*leaves, *rest))
        return lambda: torch.autograd.grad(function(*leaves, *rest), leaves, grad)

    return make


def memory(cut: Cut) -> Iterator[Row]:
    rows, columns = cut(65536), cut(1024)
    n, shape = rows * columns, (rows, columns)
    words, tokens, width, classes = cut(50257), cut(16384), cut(768), cut(1024)

    yield Row("add, 64 Mi numbers", _of(torch.add, shape, shape), BANDWIDTH, 12 * n)
    yield Row("relu", _of(torch.relu, shape), BANDWIDTH, 8 * n)
    yield Row("exp", _of(torch.exp, shape), BANDWIDTH, 8 * n)
    yield Row("gelu", _of(F.gelu, shape), BANDWIDTH, 8 * n)
    yield Row("sum", _of(torch.sum, shape), BANDWIDTH, 4 * n)
    yield Row("sum of rows of 1024", _of(torch.sum, shape, dim=1), BANDWIDTH, 4 * n)
    yield Row("sum of columns of 65536", _of(torch.sum, shape, dim=0), BANDWIDTH, 4 * n)
    yield Row("sum of rows, sequential", _of(torch.sum, shape, dim=1), BANDWIDTH, 4 * n, "sequential")
    yield Row("softmax of rows of 1024", _of(torch.softmax, shape, dim=1), BANDWIDTH, 8 * n)
    yield Row("softmax of rows of 50257", _of(torch.softmax, (classes, words), dim=1), BANDWIDTH, 8 * classes * words)

    def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (columns,), weight, bias)

    yield Row("layer_norm", _of(layer_norm, shape, (columns,), (columns,)), BANDWIDTH, 8 * n)
    with_gradient = _with_gradient(layer_norm, shape, (columns,), (columns,))
    yield Row("layer_norm, with gradient", with_gradient, BANDWIDTH, 20 * n, tolerance=1e-3)

    def labels() -> tuple[torch.Tensor]:
        return (torch.randint(words, (classes,)),)

    def loss() -> Call:
        return partial(F.cross_entropy, torch.randn(classes, words), *labels())

    yield Row("cross_entropy of rows of 50257", loss, BANDWIDTH, 4 * classes * words)
    with_gradient = _with_gradient(F.cross_entropy, (classes, words), others=labels)
    yield Row("cross_entropy, with gradient", with_gradient, BANDWIDTH, 12 * classes * words)

    side = cut(8192)
    transposed = _of(lambda x: x.t().contiguous(), (side, side))
    yield Row("transposed copy, 8192 × 8192", transposed, BANDWIDTH, 8 * side * side)
    yield Row("dropout", _of(F.dropout, shape, p=0.1), BANDWIDTH, 8 * n, tolerance=0.05, random=True)
    yield Row("normal_", lambda: torch.empty(shape).normal_, BANDWIDTH, 4 * n, tolerance=0.05, random=True)

    def embedding() -> Call:
        of = torch.randn(tokens, width), torch.randint(words, (tokens,)), words, -1, False
        return partial(torch.ops.aten.embedding_dense_backward, *of)

    yield Row("gradient of embedding", embedding, BANDWIDTH, 4 * width * (tokens + words))

    def index_add() -> Call:
        return partial(
            torch.zeros(words, width).index_add_, 0, torch.randint(words, (tokens,)), torch.randn(tokens, width)
        )

    yield Row("index_add_ of 16384 rows", index_add, BANDWIDTH, 12 * width * tokens)
    yield Row("cumsum of rows of 1024", _of(torch.cumsum, shape, dim=1), BANDWIDTH, 8 * n, tolerance=1e-3)
    line = cut(2**20)  # by one thread, as the contract has it
    yield Row("cumsum, 1 Mi numbers", _of(torch.cumsum, (line,), dim=0), BANDWIDTH, 8 * line, tolerance=1e-3)
    yield Row("sort of rows of 1024", _of(torch.sort, shape, dim=1), BANDWIDTH, 16 * n)
    long = cut(2**24)
    yield Row("sort, 16 Mi numbers", _of(torch.sort, (long,)), BANDWIDTH, 16 * long)


def small_calls(_: Cut) -> Iterator[Row]:
    small = (4, 4)
    yield Row("add, 4 × 4", _of(torch.add, small, small), MICROSECONDS)
    yield Row("exp, 4 × 4", _of(torch.exp, small), MICROSECONDS)
    yield Row("mm, 4 × 4", _of(torch.mm, small, small), MICROSECONDS)
    yield Row("softmax, 4 × 4", _of(torch.softmax, small, dim=1), MICROSECONDS)


def attention(cut: Cut) -> Iterator[Row]:
    def row(name: str, batch: int, queries: int, keys: int, causal: bool, gradient: bool = False) -> Row:
        b, h, q, k, d = map(cut, (batch, 12, queries, keys, 64))
        function = partial(F.scaled_dot_product_attention, is_causal=causal)
        make = (_with_gradient if gradient else _of)(function, (b, h, q, d), (b, h, k, d), (b, h, k, d))
        if queries == 1:
            return Row(name, make, BANDWIDTH, 8 * b * h * k * d, tolerance=1e-3)
        work = 4 * b * h * q * k * d / (1 + causal) * (3.5 if gradient else 1)
        return Row(name, make, TERAFLOPS, work, tolerance=1e-3)

    yield row("causal, 4 × 12 × 1024 × 64", 4, 1024, 1024, True)
    yield row("causal, with gradient", 4, 1024, 1024, True, True)
    yield row("16 × 12 × 512 × 64", 16, 512, 512, False)
    yield row("decoding, 8 × 12, 1 × 4096 × 64", 8, 1, 4096, False)


def _step(model: torch.nn.Module, loss_of: Callable[[], torch.Tensor]) -> Call:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _gpt2(cut: Cut, length: int) -> GPT2:
    return GPT2(cut(50257), 12 * cut(64), 12, cut(12), length)


def training(cut: Cut) -> Iterator[Row]:
    def make() -> Call:
        length = cut(512)
        model = _gpt2(cut, length)
        ids = torch.randint(cut(50257), (4, length))
        return _step(model, lambda: model(ids))

    yield Row("step of GPT-2, 124 M parameters, 4 × 512 tokens, AdamW", make, MILLISECONDS, tolerance=1e-3)


def optimizers(cut: Cut) -> Iterator[Row]:
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in _gpt2(cut, cut(1024)).parameters())

    def row(name: str, numbers: int, optimizer: Callable[..., torch.optim.Optimizer], **settings: Any) -> Row:
        def make() -> Call:
            parameters = list(_gpt2(cut, cut(1024)).parameters())
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            step = optimizer(parameters, lr=1e-4, **settings).step
            return lambda: (step(), parameters)

        return Row(f"{name}, 124 M parameters", make, BANDWIDTH, 4 * numbers * size)

    yield row("AdamW, foreach", 7, torch.optim.AdamW, foreach=True)
    yield row("AdamW, fused", 7, torch.optim.AdamW, fused=True)
    yield row("SGD, foreach", 3, torch.optim.SGD, foreach=True)
    yield row("SGD with momentum, foreach", 5, torch.optim.SGD, foreach=True, momentum=0.9)


RESNET = (
    ("3×3", 64, 64, 3, 56, 1), ("1×1", 64, 256, 1, 56, 1), ("stem", 3, 64, 7, 224, 2), ("3×3", 256, 256, 3, 14, 1),
    ("1×1", 1024, 256, 1, 14, 1), ("3×3, stride 2", 128, 128, 3, 56, 2), ("3×3", 512, 512, 3, 7, 1),
    ("1×1, stride 2", 1024, 2048, 1, 14, 2),
)  # fmt: skip
"""Layers of ResNet-50: what, channels of the input and of the output, kernel, side of the image, stride."""


def convolutions(cut: Cut) -> Iterator[Row]:
    batch = cut(32)
    for what, channels, count, kernel, side, stride in RESNET:
        c, k, s = cut(channels), cut(count), cut(side)
        layer = Layer(what, (batch, c, s, s), (k, c, kernel, kernel), stride, kernel // 2)
        work = 2 * batch * k * c * kernel**2 * math.ceil(s / stride) ** 2
        for step in ("output", "by input", "by weight"):
            make = lambda layer=layer, step=step: calls_of(layer, step)[step]  # noqa: E731
            name = f"{what}, {channels} → {count} at {side}²: {step}"
            yield Row(name, make, TERAFLOPS, work, tolerance=1e-3)


def layers_of_images(cut: Cut) -> Iterator[Row]:
    batch, channels, side = map(cut, (32, 256, 56))
    shape, of_channels = (batch, channels, side, side), ((channels,),) * 2
    n = math.prod(shape)

    def batch_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, None, None, weight, bias, training=True)

    yield Row("batch_norm, 32 × 256 × 56²", _of(batch_norm, shape, *of_channels), BANDWIDTH, 12 * n)
    with_gradient = _with_gradient(batch_norm, shape, *of_channels)
    yield Row("batch_norm, with gradient", with_gradient, BANDWIDTH, 32 * n, tolerance=1e-3)
    pool: Callable[..., torch.Tensor] = partial(F.max_pool2d, kernel_size=3, stride=2, padding=1)
    shape = (batch, cut(64), cut(112), cut(112))
    n = math.prod(shape)
    yield Row("max_pool2d, 32 × 64 × 112²", _of(pool, shape), BANDWIDTH, 5 * n)
    yield Row("max_pool2d, with gradient", _with_gradient(pool, shape), BANDWIDTH, 14 * n)

    def resnet() -> Call:
        from torchvision.models import resnet50

        model, images = resnet50(), torch.randn(batch, 3, max(32, cut(224)), max(32, cut(224)))
        labels = torch.randint(1000, (batch,))
        return _step(model, lambda: F.cross_entropy(model(images), labels))

    yield Row("step of ResNet-50, batch 32, AdamW", resnet, MILLISECONDS, tolerance=1e-2)


FAMILIES: dict[str, Callable[[Cut], Iterator[Row]]] = {
    "ceilings": ceilings,
    "products": products,
    "bound by memory": memory,
    "small calls": small_calls,
    "attention": attention,
    "training": training,
    "optimizers": optimizers,
    "convolutions of ResNet-50, batch 32": convolutions,
    "layers of images": layers_of_images,
}
