# SPDX-License-Identifier: MIT
"""Recurrent layers under `repdl.enable()` against torch's own, forward and with the backward pass."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rich.table import Table
from torch import nn

from float64 import against_torch


def run(threads: int) -> Table:
    """A row a call, over 50 steps."""
    torch.set_num_threads(threads)
    calls: dict[str, Callable[[], object]] = {}

    def add(name: str, model: nn.RNNBase, batch: int) -> None:
        x = torch.randn(50, batch, model.input_size, requires_grad=True)

        def forward() -> None:
            with torch.no_grad():
                model(x)

        calls[f"{name}, forward"] = forward
        calls[f"{name}, both"] = lambda: model(x)[0].sum().backward()

    for batch in (32, 1):
        add(f"LSTM of {batch}, 128 to 256", nn.LSTM(128, 256), batch)
    add("LSTM of 32, 128 to 128, 2 layers, 2 directions", nn.LSTM(128, 128, 2, bidirectional=True), 32)
    for batch in (32, 1):
        add(f"GRU of {batch}, 128 to 256", nn.GRU(128, 256), batch)
        add(f"RNN of {batch}, 128 to 256", nn.RNN(128, 256), batch)
    return against_torch("recurrent layers", calls, threads)
