# SPDX-License-Identifier: MIT
"""Convolutions of every rank and their two gradients against those of torch: ratios above 1 are faster than torch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rich.table import Table

import repdl
from timing import time_in_turn

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """Sizes of input and weight as torch takes them, and settings of every dimension."""

    what: str
    input: Ints
    weight: Ints
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1
    transposed: bool = False
    channels_last: bool = False

    @property
    def name(self) -> str:
        shapes = " with ".join("×".join(map(str, shape)) for shape in (self.input, self.weight))
        words = ("stride", "padding", "dilation", "groups")
        settings = [f"{word} {getattr(self, word)}" for word in words if getattr(self, word) != (word != "padding")]
        settings += ["transposed"] * self.transposed + ["channels last"] * self.channels_last
        return ", ".join([f"{self.what}: {shapes}", *settings])


LAYERS = {
    "two dimensions": [
        Layer("ResNet, stem", (8, 3, 224, 224), (64, 3, 7, 7), 2, 3),
        Layer("ResNet", (8, 64, 56, 56), (64, 64, 3, 3), 1, 1),
        Layer("ResNet", (8, 128, 56, 56), (128, 128, 3, 3), 2, 1),
        Layer("ResNet", (8, 256, 14, 14), (256, 256, 3, 3), 1, 1),
        Layer("ResNet", (8, 256, 56, 56), (64, 256, 1, 1)),
        Layer("DCGAN", (8, 64, 32, 32), (128, 64, 4, 4), 2, 1),
        Layer("ViT, patches", (8, 3, 128, 128), (256, 3, 16, 16), 16),
        Layer("ViT, patches", (2, 3, 224, 224), (768, 3, 16, 16), 16),
        Layer("MNIST", (64, 1, 28, 28), (32, 1, 3, 3), 1, 1),
        Layer("CIFAR", (32, 3, 32, 32), (64, 3, 3, 3), 1, 1),
        Layer("MobileNet, stem", (8, 3, 112, 112), (32, 3, 3, 3), 2, 1),
    ],
    "special": [
        Layer("MobileNet", (8, 96, 56, 56), (96, 1, 3, 3), 1, 1, groups=96),
        Layer("ConvNeXt", (4, 96, 56, 56), (96, 1, 7, 7), 1, 3, groups=96),
        Layer("ConvNeXt", (8, 384, 14, 14), (384, 1, 7, 7), 1, 3, groups=384),
        Layer("EfficientNet", (8, 960, 7, 7), (960, 1, 5, 5), 1, 2, groups=960),
        Layer("MobileNet", (8, 96, 56, 56), (96, 1, 3, 3), 1, 1, groups=96, channels_last=True),
        Layer("ResNeXt", (8, 128, 28, 28), (128, 4, 3, 3), 1, 1, groups=32),
        Layer("DeepLab", (2, 128, 33, 33), (128, 128, 3, 3), 1, 2, dilation=2),
        Layer("ResNet", (8, 64, 56, 56), (64, 64, 3, 3), 1, 1, channels_last=True),
        Layer("tiny", (1, 3, 8, 8), (4, 3, 3, 3), 1, 1),
    ],
    "one dimension": [
        Layer("Whisper", (1, 80, 3000), (384, 80, 3), 1, 1),
        Layer("Whisper", (1, 384, 3000), (384, 384, 3), 2, 1),
        Layer("wav2vec 2", (1, 1, 16000), (512, 1, 10), 5),
        Layer("wav2vec 2", (4, 1, 32000), (512, 1, 10), 5),
        Layer("audio", (4, 1, 16000), (64, 1, 16), 1, 8),
        Layer("TCN", (8, 64, 400), (64, 64, 3), 1, 4, dilation=4),
        Layer("Mamba", (4, 1536, 512), (1536, 1, 4), 1, 3, groups=1536),
        Layer("text", (32, 128, 50), (100, 128, 5)),
        Layer("tiny", (1, 4, 16), (4, 4, 3), 1, 1),
    ],
    "three dimensions": [
        Layer("R3D", (1, 64, 8, 28, 28), (64, 64, 3, 3, 3), 1, 1),
        Layer("R3D, stem", (1, 3, 16, 56, 56), (64, 3, 3, 7, 7), 2, 3),
        Layer("U-Net", (1, 16, 32, 32, 32), (32, 16, 3, 3, 3), 1, 1),
        Layer("pointwise", (2, 64, 8, 14, 14), (64, 64, 1, 1, 1)),
        Layer("depthwise", (2, 64, 8, 28, 28), (64, 1, 3, 3, 3), 1, 1, groups=64),
    ],
    "transposed": [
        Layer("HiFi-GAN", (1, 256, 128), (256, 128, 16), 8, 4, transposed=True),
        Layer("DCGAN", (8, 256, 8, 8), (256, 128, 4, 4), 2, 1, transposed=True),
        Layer("DCGAN, first", (8, 100, 1, 1), (100, 512, 4, 4), transposed=True),
        Layer("U-Net", (2, 64, 64, 64), (64, 32, 2, 2), 2, transposed=True),
        Layer("U-Net", (1, 32, 16, 16, 16), (32, 16, 2, 2, 2), 2, transposed=True),
    ],
}

STEPS = ("output", "by input", "by weight")


def calls_of(layer: Layer, wanted: str) -> dict[str, Callable[[], object]]:
    """Its steps, or the one that is wanted, on the default device."""
    rank, count = len(layer.input) - 2, layer.weight[0]
    x, weight = torch.rand(layer.input), torch.rand(layer.weight)
    if layer.channels_last:
        x, weight = (t.contiguous(memory_format=torch.channels_last) for t in (x, weight))
    bias = torch.rand(layer.weight[1] * layer.groups if layer.transposed else count)
    settings = (
        [layer.stride] * rank, [layer.padding] * rank, [layer.dilation] * rank, layer.transposed, [0] * rank,
        layer.groups,
    )  # fmt: skip
    grad = torch.rand_like(torch.convolution(x, weight, bias, *settings))

    def by(*mask: bool) -> Callable[[], object]:
        return lambda: torch.ops.aten.convolution_backward(grad, x, weight, None, *settings, [*mask, False])

    calls = (lambda: torch.convolution(x, weight, bias, *settings)), by(True, False), by(False, True)
    return {step: call for step, call in zip(STEPS, calls, strict=True) if wanted in ("", step)}


Times = dict[str, dict[str, float]]
"""Milliseconds of torch and ours, and their ratio, by step."""


def measure(threads: int, only: str = "", wanted: str = "") -> dict[str, dict[str, Times]]:
    """By kind and name of a layer; of those whose kind or name has `only` in it."""
    torch.set_num_threads(threads)
    repdl.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    measured = {
        kind: {
            layer.name: {step: _against_torch(call, clock) for step, call in calls_of(layer, wanted).items()}
            for layer in layers
            if only in kind or only in layer.name
        }
        for kind, layers in LAYERS.items()
    }
    return {kind: layers for kind, layers in measured.items() if layers}


def tables(measured: dict[str, dict[str, Times]], threads: int) -> list[Table]:
    """One of each kind, and its geometric means."""
    made = []
    for kind, layers in measured.items():
        title = f"convolution, {kind}, {threads} thread{'s' if threads > 1 else ''}: ms of torch / ours, and ratio"
        table = Table("layer", title=title)
        steps = list(next(iter(layers.values())))
        for step in steps:
            table.add_column(step, justify="right")
        for name, of in layers.items():
            table.add_row(name, *(f"{t['torch']:.3g} / {t['ours']:.3g}, {t['ratio']:.2f}" for t in of.values()))
        means = (statistics.geometric_mean(of[step]["ratio"] for of in layers.values()) for step in steps)
        table.add_row("geometric mean", *(f"{mean:.2f}" for mean in means))
        made.append(table)
    return made


def _against_torch(call: Callable[[], object], clock: Callable[[], float]) -> dict[str, float]:
    """Milliseconds, the least of two turns of each, and their ratio."""
    times: dict[str, float] = {}
    for _ in range(2):
        theirs = time_in_turn({"torch": call}, seconds=0.1, rounds=3, clock=clock)
        with repdl.reproducible():
            ours = time_in_turn({"ours": call}, seconds=0.1, rounds=3, clock=clock)
        for who, seconds in (theirs | ours).items():
            times[who] = min(1e3 * seconds, times.get(who, float("inf")))
    return times | {"ratio": times["torch"] / times["ours"]}
