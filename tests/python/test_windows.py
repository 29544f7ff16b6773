# SPDX-License-Identifier: MIT
"""Pools with places, folding, gradients of padding and segments under `repdl.enable()`: as torch's, in every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from repdl import ops

ATEN = torch.ops.aten
SIZES = {2: (2, 5, 9, 20), 3: (2, 3, 5, 6, 19)}
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def whole(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 1) -> torch.Tensor:
    """Small whole numbers with ties: their sums are exact in any order."""
    return torch.randint(-9, 10, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def layouts(x: torch.Tensor, rank: int) -> list[torch.Tensor]:
    turned = x.contiguous(memory_format=LAST[rank])
    return [
        x,
        turned,
        x.transpose(0, 1).contiguous().transpose(0, 1),
        turned[0],
        x[0],
        turned[:, :1],
        x.mT.contiguous().mT,
    ]


def same(ours: Any, stock: Any) -> None:
    for a, b in zip(*((t,) if isinstance(t, torch.Tensor) else t for t in (ours, stock)), strict=True):
        assert a.dtype == b.dtype
        # Where there is one channel, torch's strides of it follow the layout.
        assert a.shape == b.shape
        assert [s for s, n in zip(a.stride(), a.shape, strict=True) if n > 1] == [
            s for s, n in zip(b.stride(), b.shape, strict=True) if n > 1
        ]
        assert torch.equal(a, b)
        parts = [torch.view_as_real(t) if t.is_complex() else t for t in (a, b)]
        assert torch.equal(parts[0].signbit(), parts[1].signbit())


def check(function: Callable[..., Any], *operands: Any) -> Any:
    stock = function(*operands)
    with repdl.reproducible():
        same(function(*operands), stock)
    return stock


POOLS = [
    ((2, 3, 2), (), 0, 1, False), ((3, 2, 3), (1, 2, 2), (1, 1, 0), (1, 1, 2), True), ((3, 3, 3), 1, 1, 1, False),
    ((2, 1, 2), (2, 3, 3), 0, 2, True),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("pool", POOLS)
def test_max_pools_and_their_gradients(rank: int, pool: Any, dtype: torch.dtype) -> None:
    settings = [list(s[-rank:]) if isinstance(s, tuple) else s for s in pool]
    forward, backward = (getattr(ATEN, f"max_pool{rank}d_with_indices{s}") for s in ("", "_backward"))
    for x in layouts(whole(*SIZES[rank], dtype=dtype), rank):
        values, places = check(forward, x, *settings)
        kernel, stride, *others = settings
        grad = whole(*values.shape, dtype=dtype, seed=2)
        check(backward, grad, x, kernel, stride or kernel, *others, places)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rank", [2, 3])
def test_adaptive_and_fractional_pools(rank: int, dtype: torch.dtype) -> None:
    sizes = [3, 4, 7][-rank:]
    for x in layouts(whole(*SIZES[rank], dtype=dtype), rank):
        values, places = check(getattr(ATEN, f"adaptive_max_pool{rank}d"), x, sizes)
        grad = whole(*values.shape, dtype=dtype, seed=2)
        check(getattr(ATEN, f"adaptive_max_pool{rank}d_backward"), grad, x, places)
        if dtype != torch.bfloat16:
            # torch takes places that are not contiguous for others.
            packed = places.contiguous()
            check(getattr(ATEN, f"fractional_max_pool{rank}d_backward"), grad, x, [2] * rank, sizes, packed)


@pytest.mark.parametrize("rank", [2, 3])
def test_unpooling(rank: int) -> None:
    more = ([2] * rank, [0] * rank) if rank == 3 else ()
    for x in layouts(whole(*SIZES[rank]), rank):
        values, places = getattr(ATEN, f"max_pool{rank}d_with_indices")(x, [2] * rank)
        check(getattr(ATEN, f"max_unpool{rank}d"), values, places, list(x.shape[-rank:]), *more)


def test_the_first_nan_and_the_first_of_equals_win() -> None:
    nan = float("nan")
    x = torch.tensor([[[1.0, nan, 3.0, nan], [0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, -0.0, 0.0]]])
    for image in (x[None], x[None].expand(1, 9, 3, 4).contiguous(memory_format=torch.channels_last)):
        with repdl.reproducible():
            values, places = F.max_pool2d(image, (1, 4), return_indices=True)
            _, adaptive = F.adaptive_max_pool2d(image, (3, 1), return_indices=True)
        assert places[0, -1, :, 0].tolist() == adaptive[0, -1, :, 0].tolist() == [1, 4, 8]
        assert values[0, -1, :, 0].signbit().tolist()[1:] == [False, True]


def test_gradients_of_ops() -> None:
    x = torch.randn(2, 3, 7, 8, dtype=torch.float64, requires_grad=True)
    places = torch.arange(56).reshape(7, 8).expand(2, 3, 7, 8)
    calls: list[Callable[..., Any]] = [
        lambda t: ops.max_pool(t, (2, 3), 1, (1, 0), dim=2)[0],
        lambda t: ops.max_pool(t, (2,), dim=1)[0],
        lambda t: ops.adaptive_max_pool(t, (3, 2))[0],
        lambda t: ops.max_pool_grad(t, places, (7, 8)),
    ]
    for call in calls:
        assert torch.autograd.gradcheck(call, x)


PADS = [(1, 2), (0, 3, 2, 1), (2, 2, 0, 1, 1, 0), (-1, 2, 1, -2)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.bfloat16])
@pytest.mark.parametrize("name", ["reflection", "replication"])
@pytest.mark.parametrize("padding", PADS)
def test_gradients_of_padding(name: str, padding: tuple[int, ...], dtype: torch.dtype) -> None:
    rank = len(padding) // 2
    x = whole(2, 3, *(5, 7, 20)[-rank:], dtype=dtype)
    forward, backward = (getattr(ATEN, f"{name}_pad{rank}d{s}") for s in ("", "_backward"))
    for image in [x, x[0], *([x.contiguous(memory_format=LAST[rank])] if rank > 1 else [])]:
        grad = whole(*forward(image, padding).shape, dtype=dtype, seed=2)
        check(backward, grad, image, padding)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.bfloat16])
def test_folding(dtype: torch.dtype) -> None:
    for settings in (((7, 6), (3, 2), (1, 2), (1, 0), (2, 2)), ((9, 20), (3, 3), (1, 1), (1, 1), (1, 1))):
        size, kernel, dilation, padding, stride = settings
        blocks = F.unfold(torch.ones(1, 1, *size), kernel, dilation, padding, stride).shape[-1]
        x = whole(2, 3 * kernel[0] * kernel[1], blocks, dtype=dtype)
        for columns in (x, x.mT.contiguous().mT, x[0]):
            check(ATEN.col2im, columns, *settings)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128, torch.bfloat16])
def test_gradients_of_windows(dtype: torch.dtype) -> None:
    for shape, dim, size, step in (((4, 20), 1, 5, 2), ((20, 3), 0, 4, 1), ((2, 9, 3, 2), -3, 9, 1), ((), 0, 1, 1)):
        windows = torch.empty(shape).unfold(dim, size, step).shape
        check(ATEN.unfold_backward, whole(*windows, dtype=dtype), shape, dim, size, step)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("initial", [None, 2.0])
def test_segments(reduce: str, initial: float | None) -> None:
    x = whole(2, 12, 3)
    lengths = torch.tensor([[2, 0, 7, 3], [3, 4, 5, 0]])
    offsets = F.pad(lengths.cumsum(1), (1, 0))
    for data, dim in ((x, 1), (x.mT.contiguous().mT, 1), (x[..., 0].contiguous(), 1), (x[0], 0)):
        for name, given in (("lengths", lengths), ("offsets", offsets)):
            segments = given if dim else given[0]
            settings = {name: segments, "axis": dim, "initial": initial}
            stock = torch.segment_reduce(data, reduce, **settings)
            grad = whole(*stock.shape, seed=3)
            back = ATEN._segment_reduce_backward(grad, stock, data, reduce, **settings)
            with repdl.reproducible():
                ours = torch.segment_reduce(data, reduce, **settings)
                ours_back = ATEN._segment_reduce_backward(grad, stock, data, reduce, **settings)
            assert torch.equal(ours.nan_to_num(99), stock.nan_to_num(99))
            assert torch.equal(ours_back.nan_to_num(99), back.nan_to_num(99))


ONE = torch.ones(2, 3, 4, 4)
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ops.max_pool(ONE, ()), ValueError, r"\[max_pool\] kernel_size .* one to three"),
    (lambda: ops.max_pool(ONE, (2, 2), (0, 1)), ValueError, r"\[max_pool\] stride must be at least 1"),
    (lambda: ops.max_pool(ONE, (2, 2), 1, 2), ValueError, r"\[max_pool\] padding .* half the kernel"),
    (lambda: ops.max_pool(ONE, (5, 5)), ValueError, r"\[max_pool\] input .* smaller than the window"),
    (lambda: ops.max_pool(ONE, (2**31 - 1, 3, 3), 1, (2**30, 0, 0), dim=1), ValueError, r"\[max_pool\]"),
    (lambda: ops.max_pool(ONE, (2, 2, 2)), ValueError, r"\[max_pool\] input .* fewer than 3"),
    (lambda: ops.adaptive_max_pool(ONE, (-1, 2)), ValueError, r"\[adaptive_max_pool\] output_size .* negative"),
    (lambda: ops.adaptive_max_pool(ONE[:, :, :0], (1, 2)), ValueError, r"\[adaptive_max_pool\] input .* size of 0"),
    (lambda: ops.max_unpool(ONE, ONE.long() * 99, (4, 4)), ValueError, r"\[max_unpool\] indices holds"),
    (lambda: ops.max_unpool(ONE, -ONE.long(), (4, 4)), ValueError, r"\[max_unpool\] indices holds"),
    (lambda: ops.max_unpool(ONE, ONE, (4, 4)), TypeError, r"\[max_unpool\] indices must be int64"),
    (lambda: ops.max_pool_grad(ONE, ONE.long()[0], (4, 4)), ValueError, r"\[max_pool_grad\] indices must have"),
    (lambda: ops.fold(ONE[0], (4, 4), 3), ValueError, r"\[fold\] input .* multiple of the 9 places"),
    (lambda: ops.fold(torch.ones(1, 9, 3), (4, 4), 3), ValueError, r"\[fold\] input .* must have 4 blocks"),
    (lambda: ops.fold(torch.ones(1, 9, 3), (2, 2), 3), ValueError, r"\[fold\] output_size .* smaller than the kernel"),
    (lambda: ops.fold(ONE, (4, 4), 3), ValueError, r"\[fold\] input must have the shape"),
    (lambda: ops.unfold_grad(ONE, 3, 2), ValueError, r"\[unfold_grad\] grad_output .* do not fit"),
    (lambda: ops.unfold_grad(ONE, 9, 0), ValueError, r"\[unfold_grad\] step"),
    (lambda: ops.pad_grad(ONE, (2, 1)), ValueError, r"\[pad_grad\] padding .* smaller than the size 1"),
    (lambda: ops.pad_grad(ONE, (2, 2)), ValueError, r"\[pad_grad\] grad_output .* too small"),
    (lambda: ops.pad_grad(ONE, (1, 1), "circular"), ValueError, r"\[pad_grad\] mode must be"),
    (lambda: ops.pad_grad(ONE, (1, 1, 1)), ValueError, r"\[pad_grad\] padding .* two numbers"),
    (lambda: ops.segment_reduce(ONE, torch.tensor([1, 2])), ValueError, r"\[segment_reduce\] lengths must be"),
    (lambda: ops.segment_reduce(ONE, torch.tensor([-1, 2])), ValueError, r"\[segment_reduce\] lengths must be"),
    (lambda: ops.segment_reduce(ONE, torch.tensor([1, 1]), "median"), ValueError, r"\[segment_reduce\] reduce"),
    (lambda: ops.segment_reduce(ONE, torch.tensor([[1, 1]])), ValueError, r"\[segment_reduce\] lengths of shape"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_calls_say_what_is_wrong(case: int) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()
