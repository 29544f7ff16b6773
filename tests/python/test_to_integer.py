# SPDX-License-Identifier: MIT
"""Conversions of floats to integers: C++ leaves NaN and what is out of range to the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch

import repdl

INF, NAN = math.inf, math.nan
HOSTILE = [NAN, INF, -INF, 0.0, -0.0, 1e-40, 0.5, -0.5, -1.0, 127.0, 128.0, -128.0, -129.0, 255.0, 256.0, 300.0, -300.0]
HOSTILE += [
    32768.0,
    65504.0,
    65536.0,
    2.0**31,
    -(2.0**31),
    2.0**31 - 1,
    -(2.0**31) - 1,
    3e9,
    -3e9,
    2.0**32,
    1e20,
    -1e20,
]
HOSTILE += [2.0**63, -(2.0**63), 2.0**64, 1.5 * 2.0**63]

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
THROUGH = {
    torch.int8: 32,
    torch.int16: 32,
    torch.int32: 32,
    torch.uint16: 32,
    torch.int64: 64,
    torch.uint8: 64,
    torch.uint32: 64,
    torch.uint64: 64,
}


def to_integer(x: float, dtype: torch.dtype) -> int:
    """The rule in plain numbers: towards zero to a signed integer, the least where it has no such, then cut."""
    most = 2 ** (THROUGH[dtype] - 1)
    if dtype == torch.uint64 and x >= most:
        return to_integer(x - most, torch.int64) + most
    whole = math.trunc(x) if math.isfinite(x) else most
    whole = whole if -most <= whole < most else -most
    bits = 8 * dtype.itemsize
    cut = whole % 2**bits
    return cut - 2**bits if dtype.is_signed and cut >= 2 ** (bits - 1) else cut


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


@pytest.mark.parametrize("dtype", THROUGH, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_converts_by_the_rule(dtype: torch.dtype, source: torch.dtype) -> None:
    few = torch.tensor(HOSTILE, dtype=torch.float64).to(source)
    expected = torch.tensor([to_integer(x, dtype) for x in few.tolist()], dtype=dtype)
    for count in (1, 3, 3001):  # a scalar, a row, and more than one thread's
        x, y = few.repeat(count), expected.repeat(count)
        assert torch.equal(x.to(dtype), y)
        assert torch.equal(x.view(-1, count).t().to(dtype), y.view(-1, count).t())
    assert torch.equal(few[:, None].expand(-1, 5).to(dtype), expected[:, None].expand(-1, 5))
    into = torch.zeros(2, 2 * len(few), dtype=dtype)
    into[:, ::2] = few
    assert torch.equal(into[:, ::2], expected.expand(2, -1))


def test_converts_in_its_own_memory() -> None:
    for dtype in (torch.int32, torch.uint32):
        x = torch.tensor(HOSTILE)
        expected = x.to(dtype)
        assert torch.equal(x.view(dtype).copy_(x), expected)
        x = torch.tensor(HOSTILE).repeat(2, 1)
        assert torch.equal(x.view(dtype)[:, 1:].copy_(x[:, :-1]), expected[:-1].expand(2, -1))
