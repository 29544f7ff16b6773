# SPDX-License-Identifier: MIT
"""Ops run on torch's current stream, in memory that its allocator gives away again as soon as that stream is told."""

from __future__ import annotations

from collections.abc import Callable

import device
import pytest
import torch
import torch.nn.functional as F
from large import differences
from torch import Tensor

A_WHILE = 50_000_000
"""Cycles of the device, some 30 ms, in which a program can start what comes next."""


def sums_by_index(x: Tensor) -> Tensor:
    index = torch.arange(x.numel(), device=x.device) % 101
    return torch.zeros(101, device=x.device).index_add(0, index, x.reshape(-1))


CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": torch.exp,
    "sum": lambda x: x.sum(0),
    "sum of all": lambda x: x.sum(),
    "softmax": lambda x: x.softmax(1),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[1],)),
    "sort": lambda x: x.sort(1)[0],
    "sort of all": lambda x: x.reshape(-1).sort()[0],
    "mm": lambda x: x @ x.mT,
    "mm of long sums": lambda x: x.reshape(20, -1) @ x.reshape(-1, 20),
    "conv1d": lambda x: F.conv1d(x[None], x[:8, : 3 * (x.shape[0])].reshape(8, x.shape[0], 3)),
    "index_add": sums_by_index,
    "a number": lambda x: x * 0.3 + 2,
    "steps": lambda x: x[::2, 1::3].tanh(),
}


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", CALLS)
def test_memory_that_is_used_again(name: str, enabled: None) -> None:
    """On a stream that lags behind: what ran elsewhere would read what is not there yet, or not there any more."""
    call, x = CALLS[name], normal(300, 1400, seed=1)
    expected, given = call(x), device.on_device(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            torch.cuda._sleep(A_WHILE)
            copy = given.clone()
            result = call(copy)
            del copy
            others = [torch.full_like(given, float("nan")) for _ in range(4)]  # in the memory of the copy
            del others
            kept = result.clone()
            result.fill_(float("nan"))
    stream.synchronize()
    assert differences(kept, expected) == ""


@pytest.mark.parametrize("name", CALLS)
def test_two_streams_at_once(name: str, enabled: None) -> None:
    """With scratch memory of each."""
    call = CALLS[name]
    operands = [normal(300, 1400, seed=1), normal(300, 1400, seed=2)]
    expected = [call(x) for x in operands]
    moved = device.on_device(operands)
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    results: list[tuple[int, Tensor]] = []
    for _ in range(8):
        for i, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                results.append((i, call(moved[i])))
    torch.cuda.synchronize()
    for i, result in results:
        assert differences(result, expected[i]) == ""


def test_a_result_that_another_stream_uses(enabled: None) -> None:
    x = normal(1000, 1000, seed=3)
    expected = x.softmax(1).sum(0)
    given, first, second = device.on_device(x), torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(5):
        with torch.cuda.stream(first):
            torch.cuda._sleep(A_WHILE)
            rows = given.softmax(1)
        second.wait_stream(first)
        with torch.cuda.stream(second):
            result = rows.sum(0)
        rows.record_stream(second)
        del rows
        with torch.cuda.stream(first):
            torch.full_like(given, float("nan"))
        torch.cuda.synchronize()
        assert differences(result, expected) == ""
