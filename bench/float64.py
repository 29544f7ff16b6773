# SPDX-License-Identifier: MIT
"""float64 under `repdl.enable()` against torch's own kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rich.table import Table

import repdl
from timing import time_in_turn


def run() -> Table:
    """A row a call, on one thread."""
    torch.set_num_threads(1)
    matrix, rows = torch.randn(256, 256).double(), torch.randn(64, 1000).double()
    many, few = torch.rand(10**6).double() + 0.1, torch.rand(16).double() + 0.1
    calls: dict[str, Callable[[], object]] = {
        "mm, 256²": lambda: matrix @ matrix,
        "softmax, 64 rows of 1000": lambda: rows.softmax(1),
        "sum, 10^6": lambda: many.sum(),
    }
    for name in ("sqrt", "exp", "log", "sin", "tanh", "sigmoid", "erf"):
        function = getattr(torch, name)
        calls[f"{name}, 10^6"] = lambda function=function: function(many)
        calls[f"{name}, 16"] = lambda function=function: function(few)
    return against_torch("float64", calls)


def against_torch(title: str, calls: dict[str, Callable[[], object]], threads: int = 1) -> Table:
    table = Table(
        f"{title}, {threads} thread{'s' * (threads > 1)}",
        "torch, ms",
        "repdl.enable(), ms",
        "times torch's",
        title=title,
    )
    for name, call in calls.items():
        times = time_in_turn({"torch": call})
        with repdl.reproducible():
            times |= time_in_turn({"ours": call})
        torch_ms, ours_ms = (1e3 * times[who] for who in ("torch", "ours"))
        ratio = ours_ms / torch_ms
        table.add_row(name, f"{torch_ms:.3f}", f"{ours_ms:.3f}", f"{ratio:.{0 if ratio > 9.5 else 1}f}")
    return table
