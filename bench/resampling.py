# SPDX-License-Identifier: MIT
"""Resizing, samples at the places of a grid and average pools under `repdl.enable()` against torch's own kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rich.table import Table
from torch.nn import functional as F

from float64 import against_torch


def run(threads: int) -> Table:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    aten = torch.ops.aten
    features, images = torch.rand(4, 64, 56, 56), torch.rand(8, 3, 512, 512)
    last = features.contiguous(memory_format=torch.channels_last)
    small, volume, sound = torch.rand(4, 3, 128, 128), torch.rand(1, 16, 32, 32, 32), torch.rand(16, 64, 4000)
    grad, large_grad = torch.rand(4, 64, 112, 112), torch.rand(8, 3, 224, 224)
    grid, grid_3d = torch.rand(4, 56, 56, 2) * 2.2 - 1.1, torch.rand(1, 32, 32, 32, 3) * 2.2 - 1.1
    calls: dict[str, Callable[[], object]] = {
        "linear, 16·64 of 4000 → 8000": lambda: F.interpolate(sound, 8000, mode="linear"),
        "bilinear, 4·64 of 56² → 112²": lambda: F.interpolate(features, (112, 112), mode="bilinear"),
        "the same, channels last": lambda: F.interpolate(last, (112, 112), mode="bilinear"),
        "gradient of that, bilinear": lambda: aten.upsample_bilinear2d_backward(
            grad, [112, 112], [4, 64, 56, 56], False
        ),
        "bicubic, 4·3 of 128² → 256²": lambda: F.interpolate(small, (256, 256), mode="bicubic"),
        "trilinear, 16 of 32³ → 64³": lambda: F.interpolate(volume, (64, 64, 64), mode="trilinear"),
        "antialiased bilinear, 8·3 of 512² → 224²": lambda: F.interpolate(
            images, (224, 224), mode="bilinear", antialias=True
        ),
        "gradient of that, antialiased": lambda: aten._upsample_bilinear2d_aa_backward(
            large_grad, [224, 224], [8, 3, 512, 512], False
        ),
        "antialiased bicubic, 8·3 of 512² → 224²": lambda: F.interpolate(
            images, (224, 224), mode="bicubic", antialias=True
        ),
        "grid_sample, 4·64 of 56²": lambda: F.grid_sample(features, grid, align_corners=False),
        "its gradients": lambda: aten.grid_sampler_2d_backward(features, features, grid, 0, 0, False, [True, True]),
        "bicubic grid_sample": lambda: F.grid_sample(features, grid, mode="bicubic", align_corners=False),
        "grid_sample, 16 of 32³": lambda: F.grid_sample(volume, grid_3d, align_corners=False),
        "avg_pool2d, 4·64 of 56²": lambda: F.avg_pool2d(features, 3, 2, 1),
        "adaptive_avg_pool2d to 7²": lambda: F.adaptive_avg_pool2d(features, 7),
    }
    return against_torch("resampling", calls, threads)
