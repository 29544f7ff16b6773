# SPDX-License-Identifier: MIT
"""Convolution of integers under `repdl.enable()`: exact, modulo 2^n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl

DTYPES = [torch.int64, torch.int16, torch.uint8]

Call = tuple[Callable[..., torch.Tensor], tuple[int, ...], tuple[int, ...], dict[str, Any]]
CALLS: dict[str, Call] = {
    "conv1d": (F.conv1d, (2, 3, 9), (4, 3, 3),
        {"stride": 2, "padding": 1, "dilation": 2}),
    "conv2d": (F.conv2d, (2, 3, 7, 8), (4, 3, 2, 3), {}),
    "conv2d of all": (F.conv2d, (2, 4, 9, 8), (6, 2, 3, 2),
        {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 1), "groups": 2}),
    "conv2d by channel": (F.conv2d, (1, 6, 5, 5), (6, 1, 3, 3),
        {"groups": 6, "padding": "same"}),
    "conv2d without a batch": (F.conv2d, (3, 7, 8), (4, 3, 2, 3),
        {"padding": 1}),
    "conv3d": (F.conv3d, (2, 4, 5, 4, 6), (4, 2, 2, 3, 2),
        {"stride": (1, 2, 1), "padding": (1, 0, 2), "dilation": (2, 1, 1), "groups": 2}),
    "conv_transpose1d": (F.conv_transpose1d, (2, 4, 5), (4, 2, 3),
        {"stride": 3, "padding": 1, "output_padding": 2, "groups": 2}),
    "conv_transpose2d": (F.conv_transpose2d, (2, 4, 5, 3), (4, 3, 3, 2),
        {"stride": (2, 3), "padding": (2, 0), "dilation": (1, 2)}),
    "conv_transpose3d": (F.conv_transpose3d, (2, 2, 3, 2, 3), (2, 3, 2, 3, 2),
        {"stride": 2, "output_padding": 1, "padding": 1}),
}  # fmt: skip


def numbers(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Of the whole range, so that sums go over its end."""
    ends = torch.iinfo(dtype)
    return torch.randint(ends.min, ends.max, shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def wrapped(x: list[int], dtype: torch.dtype) -> torch.Tensor:
    bits = torch.iinfo(dtype).bits
    signed = dtype.is_signed
    values = [v % 2**bits for v in x]
    return torch.tensor([v - 2**bits if signed and v >= 2 ** (bits - 1) else v for v in values], dtype=dtype)


def exact(function: Any, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, settings: dict[str, Any]) -> torch.Tensor:
    """By digits of 8 bits: each product and sum of them is exact in float64."""
    digits = [[(t.to(torch.int64) >> s & 255).to(torch.float64) for s in range(0, 64, 8)] for t in (x, w, b)]
    total: list[int] = []
    for i in range(8):
        for k in range(8 - i):
            part = function(digits[0][i], digits[1][k], None, **settings).reshape(-1).tolist()
            total = [t + (int(p) << 8 * (i + k)) for t, p in zip(total or [0] * len(part), part, strict=True)]
    shape = function(digits[0][0], digits[1][0], None, **settings).shape
    bias = b.reshape(-1, *[1] * (w.dim() - 2)).expand(shape).reshape(-1).tolist()
    return wrapped([t + o for t, o in zip(total, bias, strict=True)], x.dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_exact(name: str, dtype: torch.dtype) -> None:
    function, shape, kernel, settings = CALLS[name]
    x, w = numbers(shape, dtype, 1), numbers(kernel, dtype, 2)
    channels = kernel[0] if "transpose" not in name else kernel[1] * settings.get("groups", 1)
    b = numbers((channels,), dtype, 3)
    expected = exact(function, x, w, b, settings)
    with repdl.reproducible():
        found = function(x, w, b, **settings)
        turned = function(x.mT.contiguous().mT, w.flip(0).flip(0), b, **settings)
        if name != "conv2d without a batch":
            assert torch.equal(function(x[-1:], w, b, **settings), expected[-1:])
    assert found.dtype == dtype
    assert torch.equal(found, expected)
    assert torch.equal(turned, expected)


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name: str) -> None:
    """Values, shape and strides; channels last too."""
    function, shape, kernel, settings = CALLS[name]
    x, w = numbers(shape, torch.int64, 1), numbers(kernel, torch.int64, 2)
    operands = [(x, w)]
    if x.dim() == 4:
        operands.append((x.contiguous(memory_format=torch.channels_last), w))
    for operand, weight in operands:
        stock = function(operand, weight, **settings)
        with repdl.reproducible():
            ours = function(operand, weight, **settings)
        assert torch.equal(ours, stock)
        if operand is x:
            assert ours.stride() == stock.stride()


def test_wrong_calls_say_what_is_wrong() -> None:
    x, w = torch.ones(1, 3, 4, 4, dtype=torch.int64), torch.ones(2, 2, 3, 3, dtype=torch.int64)
    with repdl.reproducible():
        with pytest.raises(RuntimeError, match="channels"):
            F.conv2d(x, w)
        with pytest.raises(RuntimeError, match="larger than"):
            F.conv2d(x, torch.ones(2, 3, 5, 5, dtype=torch.int64), dilation=2)
        with pytest.raises(RuntimeError, match="dtype"):
            F.conv2d(x, torch.ones(2, 3, 3, 3, dtype=torch.int32), padding=1)
