# SPDX-License-Identifier: MIT
"""Fourier transforms, and images of another size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from accuracy.calls import Call, Draw, family
from accuracy.precise import cubic_weight, linear_weight, resized


@family("Fourier transforms")
def _fourier(draw: Draw) -> Iterator[Call]:
    for n in (64, 1000, 1009, 1024, 4096, 16384):
        rows = 100_000 // n
        x = draw.normal(rows, n)
        pairs = torch.complex(x, draw.normal(rows, n))
        yield Call(f"fft, {n}", torch.fft.fft, (pairs,), np.fft.fft)
        yield Call(f"rfft, {n}", torch.fft.rfft, (x,), np.fft.rfft)
        spectrum = np.fft.rfft(x.numpy().astype(np.longdouble))
        half = torch.complex(draw.of(spectrum.real), draw.of(spectrum.imag))
        yield Call(f"irfft, {n}", partial(torch.fft.irfft, n=n), (half,), partial(np.fft.irfft, n=n))
    x = draw.normal(4, 64, 64)
    yield Call("rfft2, 64²", torch.fft.rfft2, (x,), np.fft.rfft2)
    yield Call("ifft2, 64²", torch.fft.ifft2, (torch.complex(x, x.mT.contiguous()),), np.fft.ifft2)


@family("interpolation")
def _interpolation(draw: Draw) -> Iterator[Call]:
    x = draw.normal(2, 8, 32, 32)
    for size in (64, 50, 20):
        for mode, weight, reach in (("bilinear", linear_weight, 1), ("bicubic", cubic_weight, 2)):
            yield Call(
                f"{mode}, 32² to {size}²",
                partial(F.interpolate, size=size, mode=mode),
                (x,),
                partial(resized, size=size, weight=weight, reach=reach),
            )
    for mode in ("bilinear", "bicubic"):
        yield Call(f"{mode}, 32² to 20², antialias", partial(F.interpolate, size=20, mode=mode, antialias=True), (x,))
    yield Call(
        "avg_pool2d, 3 × 3, stride 2",
        partial(F.avg_pool2d, kernel_size=3, stride=2),
        (x,),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2].mean((-1, -2)),
    )
    yield Call("adaptive_avg_pool2d, 32² to 5²", partial(F.adaptive_avg_pool2d, output_size=5), (x,))
