# SPDX-License-Identifier: MIT
"""CUDA graphs: what is captured once gives the bits of the CPU for every input that it is run with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import device
import pytest
import torch
import torch.nn.functional as F
from large import differences
from test_streams import CALLS, normal
from torch import Tensor, nn

WEIGHT, IMAGES = normal(1400, 33, seed=5), normal(8, 7, 3, 3, seed=6)
STEPS = torch.randint(300, (999,), generator=torch.Generator().manual_seed(7))


def of_several(x: Tensor, weight: Tensor) -> Tensor:
    hidden = F.layer_norm(F.gelu(x @ weight), (33,)).softmax(1)
    return hidden.sort(1)[0] * 3 - hidden.sum(0)


FORWARD: dict[str, tuple[Callable[..., Any], list[Tensor]]] = {
    **{name: (call, []) for name, call in CALLS.items()},
    "several": (of_several, [WEIGHT]),
    "embedding": (lambda x, i: F.embedding(i, x), [STEPS]),
    "conv2d": (lambda x, w: F.conv2d(x.reshape(1, 7, 300, 200), w, padding=1), [IMAGES]),
    "attention": (lambda x: F.scaled_dot_product_attention(*x.reshape(3, 2, 1000, 70).unbind()), []),
}


def captured(call: Callable[..., Any], *operands: Tensor) -> tuple[torch.cuda.CUDAGraph, Any]:
    """As torch has it: after some calls on another stream."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            call(*operands)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = call(*operands)
    return graph, results


@pytest.mark.parametrize("name", FORWARD)
def test_forward(name: str, enabled: None) -> None:
    call, others = FORWARD[name]
    given = device.on_device(normal(300, 1400, seed=1))
    graph, result = captured(call, given, *device.on_device(others))
    for seed in (2, 3, 4):
        x = normal(300, 1400, seed=seed)
        given.copy_(x)
        graph.replay()
        assert differences(result, call(x, *others)) == ""


def test_training(enabled: None) -> None:
    """The gradients of a perceptron."""

    def made() -> nn.Sequential:
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(30, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 11))

    def step(model: nn.Module, x: Tensor, target: Tensor) -> list[Any]:
        for parameter in model.parameters():
            parameter.grad = None
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters())]

    on_cpu, on_gpu = made(), made().to("cuda")
    x, target = normal(257, 30, seed=1), torch.arange(257) % 11
    given, classes = device.on_device((x, target))
    graph, results = captured(lambda *operands: step(on_gpu, *operands), given, classes)
    for seed in (2, 3):
        x = normal(257, 30, seed=seed)
        given.copy_(x)
        graph.replay()
        assert differences(results, step(on_cpu, x, target)) == ""
