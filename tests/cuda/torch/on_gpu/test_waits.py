# SPDX-License-Identifier: MIT
"""Calls return while the device still has to begin: neither torch nor an op waits for it."""

from __future__ import annotations

import device
import pytest
import test_calls
import torch
from large import LARGE

CYCLES = 150_000_000
"""Of the device, some 80 ms: a call is started in less than a millisecond."""

SOME = ("sum of all", "softmax of long rows", "sort", "topk", "mm of long sums", "index_add", "embedding", "conv2d")


def assert_nobody_waits(call: object, operands: object) -> None:
    assert callable(call)
    moved = device.on_device(operands)
    call(*moved)  # loads the kernels, and has the memory
    ahead = []
    for _ in range(3):  # the machine may be busy, once
        torch.cuda.synchronize()
        torch.cuda._sleep(CYCLES)
        begun = torch.cuda.Event()
        begun.record()
        call(*moved)
        ahead.append(not begun.query())
        torch.cuda.synchronize()
        if ahead[-1]:
            break
    assert any(ahead)


@pytest.mark.parametrize("name", test_calls.CALLS)
def test_calls_do_not_wait(name: str, enabled: None) -> None:
    assert_nobody_waits(*test_calls.CALLS[name])


@pytest.mark.parametrize("name", SOME)
def test_large_calls_do_not_wait(name: str, enabled: None) -> None:
    assert_nobody_waits(LARGE[name].call, LARGE[name].operands())
