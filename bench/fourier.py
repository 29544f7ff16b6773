# SPDX-License-Identifier: MIT
"""Fourier transforms under `repdl.enable()`, in steps of exact calls of torch, against those of MKL."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rich.table import Table

from float64 import against_torch


def run() -> Table:
    """A row a call, on one thread."""
    torch.set_num_threads(1)
    calls: dict[str, Callable[[], object]] = {}
    for n in (16, 400, 512, 997, 1000, 4096):
        for rows in (2**16 // n, 1):
            z, x = torch.randn(rows, n, dtype=torch.complex64), torch.randn(rows, n)
            calls[f"fft, {rows} rows of {n}"] = lambda z=z: torch.fft.fft(z)
            calls[f"rfft, {rows} rows of {n}"] = lambda x=x: torch.fft.rfft(x)
    sound, window, images = torch.randn(16, 16000), torch.hann_window(512), torch.randn(8, 32, 64, 64)
    calls["stft, 16 of 16000, 512 every 128"] = lambda: torch.stft(sound, 512, 128, window=window, return_complex=True)
    calls["rfft2, 256 of 64²"] = lambda: torch.fft.rfft2(images)
    return against_torch("Fourier transforms", calls)
