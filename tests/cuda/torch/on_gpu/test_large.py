# SPDX-License-Identifier: MIT
"""Tensors of many blocks have the bits of the CPU on a GPU, each time that they are computed."""

from __future__ import annotations

import device
import pytest
import torch
from large import LARGE, differences

import repdl

OFTEN = (
    *("sum of all", "sum of columns", "cumsum of one row", "softmax of long rows", "layer_norm", "batch_norm", "sort"),
    *("cross_entropy", "index_add", "index_put of pairs", "embedding of one word", "mm", "mm of long sums"),
    *("linear", "causal attention", "conv2d", "conv2d by channel", "max_pool2d", "dropout", "adamw"),
)


@pytest.mark.parametrize("name", LARGE)
def test_the_bits_of_the_cpu(name: str, enabled: None) -> None:
    large = LARGE[name]
    operands = large.operands()
    expected = large.run(operands)
    moved = device.on_device(operands)
    for _ in range(2):
        assert differences(large.run(moved), expected) == ""
    assert differences(moved, operands) == ""


@pytest.mark.parametrize("name", ["sum of all", "sum of columns", "layer_norm", "mm of long sums", "conv2d of groups"])
def test_the_sequential_order(name: str) -> None:
    large = LARGE[name]
    operands = large.operands()
    with repdl.reproducible(order="sequential"):
        expected = large.run(operands)
        assert differences(large.run(device.on_device(operands)), expected) == ""


@pytest.mark.parametrize("name", OFTEN)
def test_ten_runs(name: str, enabled: None) -> None:
    large = LARGE[name]
    operands = device.on_device(large.operands())
    first = large.run(operands)
    for _ in range(9):
        assert differences(large.run(operands), first) == ""


@pytest.mark.filterwarnings("ignore:The AccumulateGrad node")  # of a stream that it did not begin on
def test_gradients_of_layers_computed_at_once(enabled: None) -> None:
    """The engine computes gradients on the stream of each forward pass, here two that run at the same time."""
    x, w = torch.randn(700, 600), torch.randn(600, 500)

    def gradients(*operands: torch.Tensor) -> list[torch.Tensor]:
        x, w = (t.detach().requires_grad_() for t in operands)
        place = x.device.type
        streams = [torch.cuda.Stream(), torch.cuda.Stream()] if place == "cuda" else [None, None]
        parts = []
        for stream, begin in zip(streams, (0, 350)):
            if stream is not None:
                stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                parts.append((x[begin : begin + 350] @ w).softmax(1).square().sum())
        for stream in filter(None, streams):
            torch.cuda.current_stream().wait_stream(stream)
        (parts[0] + parts[1]).backward()
        assert x.grad is not None and w.grad is not None
        return [x.grad, w.grad]

    assert differences(gradients(*device.on_device((x, w))), gradients(x, w)) == ""
