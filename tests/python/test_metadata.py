# SPDX-License-Identifier: MIT
"""Shapes, dtypes and strides of results under `repdl.enable()` are those of torch; values nearly."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl

A = torch.ops.aten
generator = torch.Generator().manual_seed(1)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


X, W, ROW = normal(4, 6, 5), normal(6), normal(5)
VOLUME = normal(2, 2, 4, 4, 4)
LAST = VOLUME.contiguous(memory_format=torch.channels_last_3d)
LOW = torch.bfloat16
POINTS = normal(50, 3)
PLACES = torch.tensor([0, 0, 2, 5, 1, 1])[:, None]


def statistics(dtype: torch.dtype, of: torch.dtype | None) -> tuple[torch.Tensor, Any, Any]:
    return X.to(dtype), None if of is None else W.to(of), None if of is None else ROW.to(of)


def norms(dtype: torch.dtype, of: torch.dtype | None) -> list[Callable[[], Any]]:
    x, w, row = statistics(dtype, of)
    zeros, ones = torch.zeros(6, dtype=of or dtype), torch.ones(6, dtype=of or dtype)
    return [
        lambda: torch.native_layer_norm(x, (5,), row, None, 1e-5),
        lambda: torch.native_group_norm(x, w, None, 4, 6, 5, 2, 1e-5),
        lambda: torch.native_batch_norm(x, w, None, None, None, True, 0.1, 1e-5),
        lambda: torch.native_batch_norm(x, w, None, zeros.clone(), ones.clone(), False, 0.1, 1e-5),
        lambda: A._batch_norm_with_update(x, w, None, zeros.clone(), ones.clone(), 0.1, 1e-5),
        lambda: A._batch_norm_no_update(x, w, None, zeros.clone(), ones.clone(), 0.1, 1e-5),
        lambda: A._batch_norm_with_update_functional(x, w, None, zeros.clone(), ones.clone(), 0.1, 1e-5),
    ]


def convolutions(x: torch.Tensor) -> list[Callable[[], Any]]:
    kernels = VOLUME.to(x.dtype)
    return [
        lambda: F.conv3d(x, kernels[:1]),
        lambda: F.conv3d(x, kernels[:, :1, :2, :2, :2], groups=2),
        lambda: F.conv3d(x[:, :1].clone(memory_format=torch.contiguous_format), kernels[:, :1, :1, :1, :1]),
        lambda: F.conv_transpose3d(x, kernels[:, :1]),
        lambda: F.batch_norm(x, None, None, training=True),
    ]


def gradients_of_volumes() -> tuple[torch.Tensor, ...]:
    x, kernels = (LAST[..., :side].double().requires_grad_() for side in (4, 3))
    return torch.autograd.grad(F.conv_transpose3d(x, kernels).sum(), (x, kernels))


TYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int32)


def losses(name: str) -> list[Callable[[], Any]]:
    """Of two types, and their gradients; but not where torch has none, of huber_loss of two types."""

    def call(of_input: torch.dtype, of_target: torch.dtype, reduction: str) -> Any:
        x = ROW.clone().to(of_input).requires_grad_(of_input.is_floating_point)
        loss = getattr(F, name)(x, ROW.sign().to(of_target), reduction=reduction)
        is_plain = x.requires_grad and (of_input == of_target or name != "huber_loss")
        return (loss.detach(), *torch.autograd.grad(loss.sum(), x)) if is_plain else loss.detach()

    pairs = [(a, b) for a in TYPES for b in TYPES if a.is_floating_point or (b.is_floating_point and "smooth" in name)]
    return [lambda pair=pair, how=how: call(*pair, how) for pair in pairs for how in ("none", "mean")]


CALLS: dict[str, list[Callable[[], Any]]] = {
    "norms of bfloat16": norms(LOW, LOW),
    "norms of float16": norms(torch.float16, torch.float16),
    "norms of bfloat16 with float32": norms(LOW, torch.float32),
    "norms of float32": norms(torch.float32, torch.float32),
    "norms of float64": norms(torch.float64, torch.float64),
    "huber_loss of two types": losses("huber_loss"),
    "smooth_l1_loss of two types": losses("smooth_l1_loss"),
    "soft_margin_loss of two types": losses("soft_margin_loss"),
    "sums to integers": [
        lambda: X.sum(dtype=torch.int32),
        lambda: X.sum((0, 2), dtype=torch.int16),
        lambda: X.bfloat16().prod(dtype=torch.int32),
        lambda: X.double().prod(1, dtype=torch.uint8),
    ],
    "products of integers": [
        lambda: torch.addcmul(PLACES, PLACES, PLACES, value=0.5),
        lambda: torch.addcmul(PLACES, PLACES, PLACES, value=2),
        lambda: PLACES.clone().addcmul_(PLACES, PLACES, value=2.5),
        lambda: torch._foreach_addcmul([PLACES], [PLACES], [PLACES], 1.5),
    ],
    "volumes": convolutions(VOLUME),
    "volumes, channels last": convolutions(LAST),
    "volumes of float64, channels last": [*convolutions(LAST.double()), gradients_of_volumes],
    "logsigmoid of a batch": [lambda d=d: torch.vmap(F.logsigmoid, in_dims=d)(X) for d in range(3)],
    "histograms": [
        lambda: torch.histogramdd(POINTS, [3, 4, 2]),
        lambda: torch.histogramdd(POINTS, 3, weight=POINTS[:, 0].abs(), density=True),
        lambda: torch.histogramdd(POINTS, [torch.tensor([-1.0, 0.0, 2.0])] * 3),
        lambda: torch.histogramdd(POINTS.double(), [2, 2, 2], range=[-1.0, 1.0, -2.0, 2.0, 0.0, 1.0]),
    ],
    "single complex numbers": [
        lambda: torch.linalg.vector_norm(torch.tensor(3 + 4j), dim=0),
        lambda: torch.linalg.vector_norm(torch.tensor(3 + 4j, dtype=torch.complex128), dim=-1, keepdim=True),
        lambda: torch.tensor(3 + 4j).sum(0),
        lambda: torch.tensor(3.0, dtype=torch.float64).var(0, correction=0),
    ],
    "linspace of complex numbers": [
        lambda: torch.linspace(1 + 1j, 5 - 3j, 9),
        lambda: torch.linspace(1, 2j, 4, dtype=torch.complex128),
    ],
    "hashes": [
        lambda: torch.hash_tensor(X, 1).view(torch.int64),
        lambda: torch.hash_tensor(X.double(), (0, 2), keepdim=True).view(torch.int64),
    ],
    "masked indices": [
        lambda: A._unsafe_masked_index_put_accumulate(X[0], X[0] > 0, [PLACES, torch.arange(5)[None]], X[0]),
    ],
}  # fmt: skip


def tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for item in result for t in tensors(item)]


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name: str) -> None:
    of_stock = [tensors(call()) for call in CALLS[name]]
    with repdl.reproducible():
        of_ours = [tensors(call()) for call in CALLS[name]]
    for i, (stock, ours) in enumerate(zip(of_stock, of_ours, strict=True)):
        for a, b in zip(stock, ours, strict=True):
            assert (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride()), i
            room = 0.05 if a.dtype in (LOW, torch.float16) else 1e-4
            assert torch.allclose(a, b, rtol=room, atol=room, equal_nan=True), i


def test_gradients_of_batch_norm() -> None:
    operands = (normal(8, 6, 5), normal(6), normal(6))
    grads = []
    for enabled in (False, True):
        leaves = [t.clone().requires_grad_() for t in operands]
        with repdl.reproducible() if enabled else torch.enable_grad():
            output = A._batch_norm_with_update(*leaves, torch.zeros(6), torch.ones(6), 0.1, 1e-5)[0]
            (output * operands[0].sin()).sum().backward()
        grads.append([t.grad for t in leaves])
    for a, b in zip(*grads, strict=True):
        assert torch.allclose(a, b, rtol=1e-3, atol=1e-4)  # type: ignore[arg-type]


IMAGES = {
    "channels last": normal(2, 6, 8, 8).to(memory_format=torch.channels_last),
    "a part of channels last": normal(4, 6, 8, 8).to(memory_format=torch.channels_last)[:, 1:5, 1:7, ::2],
    "one column": normal(2, 4, 8).transpose(1, 2).unsqueeze(-1),
    "one row": normal(2, 4, 8).transpose(1, 2).unsqueeze(-2),
    "one image": normal(1, 6, 8, 8).to(memory_format=torch.channels_last),
    "one channel": normal(2, 8, 8, 1).permute(0, 3, 1, 2),
    "one channel of several": normal(2, 3, 8, 8).to(memory_format=torch.channels_last)[:, :1],
    "rows last": normal(8, 8, 2, 3).permute(2, 3, 0, 1),
    "repeated": normal(1, 3, 8, 8).expand(2, 3, 8, 8),
    "a part": normal(4, 6, 9, 9)[1:3, :, 1:8, :-1],
}
OF_IMAGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "max_pool2d": lambda x: F.max_pool2d(x, (min(2, x.shape[2]), min(2, x.shape[3]))),
    "avg_pool2d": lambda x: F.avg_pool2d(x, (min(2, x.shape[2]), min(2, x.shape[3]))),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (2, 2)),
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 1, return_indices=True), 1),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "grid_sample": lambda x: F.grid_sample(x, x.new_zeros(len(x), 3, 3, 2), align_corners=False),
    "conv2d": lambda x: F.conv2d(x, x.new_ones(5, x.shape[1], 1, 1)),
    "unfold": lambda x: F.unfold(x, 1),
    "pad": lambda x: F.pad(x, (1, 1)),
    "replicate": lambda x: F.pad(x, (0, 0, 0, 0), mode="replicate"),
    "instance_norm": F.instance_norm,
}


@pytest.mark.parametrize("layout", IMAGES)
@pytest.mark.parametrize("name", OF_IMAGES)
def test_strides_of_images_as_torch(name: str, layout: str) -> None:
    def strides() -> list[tuple[int, ...]]:
        x = IMAGES[layout].detach().requires_grad_()
        result = OF_IMAGES[name](x)
        return [result.stride(), torch.autograd.grad(result.sum(), x)[0].stride()]

    try:
        stock = strides()
    except (RuntimeError, ValueError) as error:
        stock = type(error)
    with repdl.reproducible():
        if isinstance(stock, list):
            assert strides() == stock
        else:
            with pytest.raises(stock):
                strides()


@pytest.mark.parametrize("weights_last", [False, True])
@pytest.mark.parametrize("images_last", [False, True])
@pytest.mark.parametrize(("channels", "size"), [(1, 3), (1, 1), (6, 1), (6, 3), (2, 5)])
def test_strides_of_convolved_images_as_torch(channels: int, size: int, images_last: bool, weights_last: bool) -> None:
    """Channels-last format shows in the steps alone where there is one channel, or one tap."""
    images = normal(3, channels, 5, 5).to(memory_format=torch.channels_last if images_last else torch.contiguous_format)
    layer = torch.nn.Conv2d(channels, 4, size)
    if weights_last:
        layer = layer.to(memory_format=torch.channels_last)
    stock = layer(images)
    with repdl.reproducible():
        ours = layer(images)
    steps = [[step for step, n in zip(y.stride(), y.shape, strict=True) if n > 1] for y in (stock, ours)]
    assert steps[0] == steps[1]


TURNED, OTHER = normal(4, 5).t(), normal(4, 5).t()
INTO: dict[str, Callable[[torch.Tensor], Any]] = {
    "add": lambda out: torch.add(TURNED, OTHER, out=out),
    "exp": lambda out: torch.exp(TURNED, out=out),
    "lerp": lambda out: torch.lerp(TURNED, OTHER, 0.3, out=out),
    "clamp": lambda out: torch.clamp(TURNED, 0, 1, out=out),
    "of a part": lambda out: torch.tanh(TURNED[::2], out=out),
    "of one row": lambda out: torch.mul(TURNED, OTHER[:1], out=out),
    "mm": lambda out: torch.mm(TURNED, OTHER.t(), out=out),
    "sum": lambda out: torch.sum(TURNED[None], 0, out=out),
    "inv": lambda out: torch.linalg.inv(TURNED[:4], out=out),
    "avg_pool2d": lambda out: torch._C._nn.avg_pool2d(IMAGES["channels last"], 2, out=out),
    "upsample": lambda out: torch._C._nn.upsample_bilinear2d(IMAGES["channels last"], [5, 9], False, out=out),
}


@pytest.mark.parametrize("name", INTO)
def test_strides_of_a_resized_out_as_torch(name: str) -> None:
    stock, out, given = torch.empty(0), torch.empty(0), torch.empty(5, 8)[:, ::2]
    INTO[name](stock)
    with repdl.reproducible():
        INTO[name](out)
        assert (out.shape, out.stride()) == (stock.shape, stock.stride())
        if stock.shape == given.shape:
            INTO[name](given)
            assert given.stride() == (8, 2)  # one that fits keeps its own


def turned(dims: tuple[int, ...], *sizes: int) -> torch.Tensor:
    """A tensor of these sizes, whose dimensions lie in this order in memory."""
    inverse = [dims.index(dim) for dim in range(len(dims))]
    return normal(*(sizes[dim] for dim in dims)).permute(inverse)


@pytest.mark.parametrize("dims", [*itertools.permutations(range(4))], ids=str)
def test_strides_of_attention_as_torch(dims: tuple[int, ...]) -> None:
    query, key = turned(dims, 2, 4, 6, 8), normal(2, 4, 6, 8)

    def strides() -> list[tuple[int, ...]]:
        attend = F.scaled_dot_product_attention
        return [attend(query, key, key).stride(), attend(query, query, query, torch.zeros(6, 6)).stride()]

    stock = strides()
    with repdl.reproducible():
        assert strides() == stock


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("weight_last", [False, True])
@pytest.mark.parametrize("input_last", [False, True])
def test_strides_of_convolved_lines_as_torch(input_last: bool, weight_last: bool, transposed: bool) -> None:
    x = turned((0, 2, 1) if input_last else (0, 1, 2), 2, 8, 7)
    weight = turned((0, 2, 1) if weight_last else (0, 1, 2), *((8, 4, 3) if transposed else (4, 8, 3)))

    def strides() -> list[tuple[int, ...]]:
        leaves = [t.detach().requires_grad_() for t in (x, weight)]
        result = (F.conv_transpose1d if transposed else F.conv1d)(*leaves)
        return [result.stride(), *(g.stride() for g in torch.autograd.grad(result.sum(), leaves))]

    stock = strides()
    with repdl.reproducible():
        assert strides() == stock


@pytest.mark.parametrize("dims", [(0, 1, 2, 3), (0, 3, 2, 1), (0, 2, 3, 1)], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    "loss", [F.huber_loss, F.smooth_l1_loss, F.mse_loss, F.soft_margin_loss], ids=lambda f: f.__name__
)
def test_strides_of_gradients_of_losses_as_torch(loss: Any, reduction: str, dims: tuple[int, ...]) -> None:
    def strides() -> list[tuple[int, ...]]:
        found = []
        for other in (dims, (0, 1, 2, 3), (0, 2, 3, 1)):
            x, target = turned(dims, 2, 3, 4, 5).requires_grad_(), turned(other, 2, 3, 4, 5)
            result = loss(x, target, reduction=reduction)
            found.append(torch.autograd.grad(result, x, torch.ones_like(result))[0].stride())
        return found

    stock = strides()
    with repdl.reproducible():
        assert strides() == stock


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.complex64])
def test_strides_of_steps_between_as_torch(dtype: torch.dtype) -> None:
    """Those of the start count before those of the weight."""
    size = (2, 3, 33)
    operands = [
        torch.ones([size[d] for d in order], dtype=dtype).permute([order.index(d) for d in range(3)])
        for order in itertools.permutations(range(3))
    ]
    for start, end, weight in itertools.permutations(operands, 3):
        stock = torch.lerp(start, end, weight).stride()
        with repdl.reproducible():
            assert torch.lerp(start, end, weight).stride() == stock
