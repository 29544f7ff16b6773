# SPDX-License-Identifier: MIT
"""Fourier transforms under `repdl.enable()` against those of MKL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from rich.table import Table

import repdl
from float64 import against_torch

LENGTHS = (16, 400, 512, 997, 1000, 4096)


def errors() -> Table:
    """Relative to the size of the result, root mean square of 256 rows, against transforms in long double."""
    table = Table("error, torch / ours", *(str(n) for n in LENGTHS), title="Errors of Fourier transforms")
    generator = torch.Generator().manual_seed(1)
    for name, transform, exact, dtype in (
        ("fft", torch.fft.fft, np.fft.fft, torch.complex64),
        ("rfft", torch.fft.rfft, np.fft.rfft, torch.float32),
        ("fft", torch.fft.fft, np.fft.fft, torch.complex128),
    ):
        cells = []
        for n in LENGTHS:
            x = torch.randn(256, n, dtype=dtype, generator=generator)
            expected = exact(x.numpy().astype(np.clongdouble if dtype.is_complex else np.longdouble))
            stock = transform(x)
            with repdl.reproducible():
                ours = transform(x)
            sizes = [np.linalg.norm(np.abs(v)) for v in (stock.numpy() - expected, ours.numpy() - expected, expected)]
            cells.append(f"{float(sizes[0] / sizes[2]):.2e} / {float(sizes[1] / sizes[2]):.2e}")
        table.add_row(f"{name}, {str(dtype).removeprefix('torch.')}", *cells)
    return table


def run() -> Table:
    """A row a call, on one thread."""
    torch.set_num_threads(1)
    calls: dict[str, Callable[[], object]] = {}
    for n in LENGTHS:
        for rows in (2**16 // n, 1):
            z, x = torch.randn(rows, n, dtype=torch.complex64), torch.randn(rows, n)
            calls[f"fft, {rows} rows of {n}"] = lambda z=z: torch.fft.fft(z)
            calls[f"rfft, {rows} rows of {n}"] = lambda x=x: torch.fft.rfft(x)
    sound, window, images = torch.randn(16, 16000), torch.hann_window(512), torch.randn(8, 32, 64, 64)
    calls["stft, 16 of 16000, 512 every 128"] = lambda: torch.stft(sound, 512, 128, window=window, return_complex=True)
    calls["rfft2, 256 of 64²"] = lambda: torch.fft.rfft2(images)
    return against_torch("Fourier transforms", calls)
