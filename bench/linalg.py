# SPDX-License-Identifier: MIT
"""Linear algebra under `repdl.enable()` against LAPACK's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from rich.table import Table

import repdl
from timing import time_in_turn

L = torch.linalg


def run(threads: int) -> Table:
    """A row a call; what torch takes over what `repdl.enable()` takes, by the size of the matrix."""
    torch.set_num_threads(threads)
    sizes = (4, 16, 64, 256)
    title = f"Linear algebra, threads: {threads}, times torch's speed"
    table = Table("call", *(f"{n}²" for n in sizes), "1000 of 4²", title=title)
    calls: dict[str, Callable[[torch.Tensor], object]] = {
        "svd": L.svd,
        "svdvals": L.svdvals,
        "eigh": L.eigh,
        "eigvalsh": L.eigvalsh,
        "matrix_exp": L.matrix_exp,
        "pinv": L.pinv,
        "lstsq, gelsd": lambda a: L.lstsq(a, a[..., :2], driver="gelsd"),
    }
    for dtype in (torch.float32, torch.float64):
        matrices = [torch.randn(n, n, dtype=dtype) for n in sizes] + [torch.randn(1000, 4, 4, dtype=dtype)]
        for name, call in calls.items():
            cells = []
            for a in matrices:
                times = time_in_turn({"torch": lambda call=call, a=a: call(a)})
                with repdl.reproducible():
                    times |= time_in_turn({"ours": lambda call=call, a=a: call(a)})
                cells.append(f"{times['torch'] / times['ours']:.2f}")
            table.add_row(f"{name}, {str(dtype).removeprefix('torch.')}", *cells)
    return table


def errors() -> Table:
    """Of matrix_exp in float64, relative to the size of the result, median of 9, against long double."""
    scales = (0.1, 1, 5, 20)
    table = Table("torch / ours", *(f"scale {s:g}" for s in scales), title="Errors of matrix_exp, in units of 2⁻⁵³")
    draw = np.random.default_rng(1)
    for n in (4, 16, 48):
        cells = []
        for scale in scales:
            found = []
            for _ in range(9):
                a = draw.standard_normal((n, n)) * scale / n**0.5
                exact = exponential(a)
                stock = L.matrix_exp(torch.from_numpy(a)).numpy()
                with repdl.reproducible():
                    ours = L.matrix_exp(torch.from_numpy(a)).numpy()
                size = np.linalg.norm(exact.astype(np.float64)) * 2.0**-53
                found.append([float(np.sqrt(((x - exact) ** 2).sum())) / size for x in (stock, ours)])
            stock_error, our_error = np.median(np.array(found), axis=0)
            cells.append(f"{stock_error:.1f} / {our_error:.1f}")
        table.add_row(f"{n}²", *cells)
    return table


def exponential(a: np.ndarray) -> np.ndarray:
    """In long double: the difference from 1 of a small part of the matrix, doubled."""
    doublings = max(0, int(np.ceil(np.log2(np.abs(a).sum(0).max())))) + 8
    b = a.astype(np.longdouble) / np.longdouble(2) ** doublings
    term, result = b, b
    for k in range(2, 15):
        term = (term @ b) / k
        result = result + term
    for _ in range(doublings):
        result = 2 * result + result @ result
    return result + np.eye(len(a))
