# SPDX-License-Identifier: MIT
"""Sums by index under `repdl.enable()` against torch's own kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rich.table import Table
from torch.nn import functional as F

from float64 import against_torch


def run() -> Table:
    """A row a call, on one thread."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)

    def places(size: int, *shape: int) -> torch.Tensor:
        return torch.randint(size, shape, generator=generator)

    table, rows, of_rows = torch.rand(1000, 64), torch.rand(10**5, 64), places(1000, 10**5)
    bins, numbers, of_numbers = torch.zeros(10**4), torch.rand(10**6), places(10**4, 10**6)
    tokens, grad = places(50257, 4096), torch.rand(4096, 768)
    weight, bags = torch.rand(10**4, 64), torch.arange(0, 10**5, 20)
    of_weight = places(10**4, 10**5)
    sparse = torch.sparse_coo_tensor(places(10**4, 2, 10**5), rows[:, 0], (10**4, 10**4)).coalesce()
    calls: dict[str, Callable[[], object]] = {
        "index_add, 10^5 rows of 64 to 1000": lambda: table.index_add(0, of_rows, rows),
        "scatter_add, 10^6 numbers to 10^4": lambda: bins.scatter_add(0, of_numbers, numbers),
        "bincount with weights, 10^6 to 10^4": lambda: torch.bincount(of_numbers, numbers),
        "embedding's gradient, 4096 rows of 768 to 50257": lambda: torch.ops.aten.embedding_dense_backward(
            grad, tokens, 50257, -1, False
        ),
        "embedding_bag, 5000 bags of 20": lambda: F.embedding_bag(of_weight, weight, bags, mode="sum"),
        "sparse @ dense, 10^5 elements": lambda: sparse @ weight,
    }
    return against_torch("sums by index", calls)
