# SPDX-License-Identifier: MIT
"""mm against the best of OpenBLAS, oneDNN and torch.mm: ratios above 1 are faster than the best of them."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np
import torch
from rich.table import Table

import peers
import repdl
from timing import time_in_turn

SHAPES = [
    peers.Product(m, n, k, transposed)
    for m, n, k, transposed in [
        (256, 256, 256, False), (512, 512, 512, False), (1024, 1024, 1024, False), (1000, 1000, 1000, False),
        (2048, 2048, 2048, False), (100, 1024, 1024, False), (8, 4096, 4096, False), (1, 4096, 4096, False),
        (100, 120, 400, True), (512, 512, 512, True), (8, 1024, 1024, True), (128, 128, 65536, False),
    ]
]  # fmt: skip


ORDERS = ("blocked", "sequential")

Speeds = dict[str, float]
"""GFLOP/s of each peer and order, and the ratio of each order to the best peer."""


def measure(threads: int) -> dict[str, Speeds]:
    """By the name of a shape."""
    prepared = {
        name: prepare
        for name, prepare in (
            ("torch", peers.torch_mm(threads)),
            ("OpenBLAS", peers.openblas(threads)),
            ("oneDNN", peers.onednn(threads)),
        )
        if prepare is not None
    }
    repdl.set_num_threads(threads)
    torch.set_num_threads(threads)
    measured: dict[str, Speeds] = {}
    for shape in SHAPES:
        a, b, c = shape.operands()
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        contenders = {name: prepare(shape, a, b, c) for name, prepare in prepared.items()}
        expected = a @ (b.T if shape.transposed else b)
        for contender in contenders.values():
            c[:] = 0
            contender()
            np.testing.assert_allclose(c, expected, rtol=1e-2, atol=1e-2)
        for order in ORDERS:
            contenders[order] = partial(repdl.ops.mm.kernel, ta, tb, False, shape.transposed, order)
        times = time_in_turn(contenders, pause=0.05 if threads > 1 else 0.0)
        work = 2e-9 * shape.m * shape.n * shape.k
        best = min(times[name] for name in prepared)
        measured[shape.name] = {name: work / seconds for name, seconds in times.items()}
        measured[shape.name] |= {f"ratio {order}": best / times[order] for order in ORDERS}
    return measured


def table(measured: dict[str, Speeds], threads: int) -> Table:
    """A row a shape, and the geometric means."""
    columns = list(next(iter(measured.values())))
    made = Table(
        title=f"mm, float32, {threads} thread{'s' if threads > 1 else ''}: GFLOP/s, and ratio to the best peer"
    )
    for column in ("m x n x k", *columns):
        made.add_column(column, justify="left" if column == "m x n x k" else "right")
    for name, speeds in measured.items():
        made.add_row(name, *(f"{of:.2f}" if "ratio" in column else f"{of:.1f}" for column, of in speeds.items()))
    ratios = [[speeds[f"ratio {order}"] for speeds in measured.values()] for order in ORDERS]
    empty = [""] * (len(columns) - len(ORDERS))
    made.add_section()
    made.add_row("geometric mean", *empty, *(f"{statistics.geometric_mean(of):.2f}" for of in ratios))
    made.add_row("smallest", *empty, *(f"{min(of):.2f}" for of in ratios))
    return made
