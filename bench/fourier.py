# SPDX-License-Identifier: MIT
"""Errors of Fourier transforms under `repdl.enable()` and of those of MKL; calls.py has their speed."""

from __future__ import annotations

import numpy as np
import torch
from rich.table import Table

import repdl

LENGTHS = (16, 400, 512, 997, 1000, 4096)


def run() -> Table:
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
