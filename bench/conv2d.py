# SPDX-License-Identifier: MIT
"""conv2d and its two gradients against those of torch: ratios above 1 are faster than torch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from rich.table import Table

import repdl
from repdl import ops
from timing import time_in_turn


class Layer(NamedTuple):
    """Square images and kernels; batch 8."""

    what: str
    channels: int
    size: int
    outputs: int
    kernel: int
    stride: int
    padding: int

    @property
    def name(self) -> str:
        image = f"{self.channels} × {self.size}²"
        return f"{self.what}: {image} to {self.outputs}, {self.kernel} × {self.kernel}, stride {self.stride}"


LAYERS = [
    Layer("ResNet, stem", 3, 224, 64, 7, 2, 3),
    Layer("ResNet", 64, 56, 64, 3, 1, 1),
    Layer("ResNet", 128, 56, 128, 3, 2, 1),
    Layer("ResNet", 256, 14, 256, 3, 1, 1),
    Layer("ResNet", 256, 56, 64, 1, 1, 0),
    Layer("DCGAN", 64, 32, 128, 4, 2, 1),
    Layer("ViT, patches", 3, 128, 256, 16, 16, 0),
]

STEPS = ("output", "by input", "by weight")


def _contenders(layer: Layer, step: str) -> dict[str, Callable[[], object]]:
    stride, padding = (layer.stride, layer.stride), (layer.padding, layer.padding)
    x = torch.rand(8, layer.channels, layer.size, layer.size)
    weight = torch.rand(layer.outputs, layer.channels, layer.kernel, layer.kernel)
    if step == "output":
        return {
            "torch": lambda: torch.conv2d(x, weight, None, stride, padding),
            "ours": lambda: ops.conv2d(x, weight, stride, padding),
        }
    grad = torch.rand_like(torch.conv2d(x, weight, None, stride, padding))
    wanted = (step == "by input", step == "by weight", False)
    rest = ((1, 1), False, (0, 0), 1, wanted)

    def ours() -> object:
        if step == "by input":
            return ops.conv2d_grad_input(x.shape, weight, grad, stride, padding)
        return ops.conv2d_grad_kernel(x, weight.shape, grad, stride, padding)

    return {
        "torch": lambda: torch.ops.aten.convolution_backward(grad, x, weight, None, stride, padding, *rest),
        "ours": ours,
    }


def run(threads: int) -> Table:
    """A row a layer."""
    torch.set_num_threads(threads)
    repdl.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    table = Table(
        title=f"conv2d, batch 8, {threads} thread{'s' if threads > 1 else ''}: milliseconds of torch / ours, and ratio"
    )
    table.add_column("layer")
    for step in STEPS:
        table.add_column(step, justify="right")
    ratios: dict[str, list[float]] = {step: [] for step in STEPS}
    for layer in LAYERS:
        cells = []
        for step in STEPS:
            times = time_in_turn(_contenders(layer, step), clock=clock)
            ratios[step].append(times["torch"] / times["ours"])
            cells.append(f"{1e3 * times['torch']:.1f} / {1e3 * times['ours']:.1f}, {ratios[step][-1]:.2f}")
        table.add_row(layer.name, *cells)
    table.add_row("geometric mean", *(f"{statistics.geometric_mean(ratios[step]):.2f}" for step in STEPS))
    return table
