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


def run(threads: int) -> Table:
    """A row a shape, and the geometric means."""
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
    table = Table(
        title=f"mm, float32, {threads} thread{'s' if threads > 1 else ''}: GFLOP/s, and ratio to the best peer"
    )
    for column in ("m x n x k", *prepared, "blocked", "sequential", "ratio blocked", "ratio sequential"):
        table.add_column(column, justify="left" if column == "m x n x k" else "right")
    ratios: dict[str, list[float]] = {"blocked": [], "sequential": []}
    for shape in SHAPES:
        a, b, c = shape.operands()
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        contenders = {name: prepare(shape, a, b, c) for name, prepare in prepared.items()}
        expected = a @ (b.T if shape.transposed else b)
        for contender in contenders.values():
            c[:] = 0
            contender()
            np.testing.assert_allclose(c, expected, rtol=1e-2, atol=1e-2)
        for order in ratios:
            contenders[order] = partial(repdl.ops.mm.kernel, ta, tb, False, shape.transposed, order)
        times = time_in_turn(contenders, pause=0.05 if threads > 1 else 0.0)
        best = min(times[name] for name in prepared)
        for order in ratios:
            ratios[order].append(best / times[order])
        work = 2e-9 * shape.m * shape.n * shape.k
        table.add_row(
            shape.name, *(f"{work / times[name]:.1f}" for name in contenders), *(f"{ratios[o][-1]:.2f}" for o in ratios)
        )
    empty = [""] * (len(prepared) + 2)
    table.add_section()
    table.add_row("geometric mean", *empty, *(f"{statistics.geometric_mean(r):.2f}" for r in ratios.values()))
    table.add_row("smallest", *empty, *(f"{min(r):.2f}" for r in ratios.values()))
    return table
