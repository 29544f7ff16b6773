# SPDX-License-Identifier: MIT
"""What `repdl.record` costs: steps of training of a GPT-2 of width 256, with and without it, in turn."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.table import Table
from torch import nn

import repdl
from gpt2 import GPT2

WIDTH, HEADS, LAYERS, LENGTH, BATCH = 256, 4, 4, 128, 4
VOCABULARIES = (8192, 50257)


def run(threads: list[int], rounds: int) -> Table:
    """A row for each vocabulary and number of threads; the best of the turns. One thread leaves out other processes."""
    columns = ("vocabulary", "threads", "step, ms", "recorded, ms", "times", "ops", "bytes an op")
    table = Table(*columns, title=f"A step of GPT-2, width {WIDTH}, {LAYERS} layers, {BATCH} × {LENGTH} tokens, AdamW")
    for vocabulary in VOCABULARIES:
        model = GPT2(vocabulary, WIDTH, HEADS, LAYERS, LENGTH)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        ids = torch.randint(vocabulary, (BATCH, LENGTH))

        def step(
            clock: Callable[[], float],
            model: nn.Module = model,
            optimizer: torch.optim.Optimizer = optimizer,
            ids: torch.Tensor = ids,
        ) -> float:
            begin = clock()
            optimizer.zero_grad()
            model(ids).backward()
            optimizer.step()
            return clock() - begin

        for number in threads:
            torch.set_num_threads(number)
            clock = time.thread_time if number == 1 else time.perf_counter
            plain = recorded = float("inf")
            for _ in range(rounds):
                plain = min(plain, step(clock))
                with (
                    tempfile.TemporaryDirectory() as folder,
                    repdl.record(Path(folder) / "run", quiet=True) as recorder,
                ):
                    recorded = min(recorded, step(clock))
            log = recorder.log
            cells = f"{1e3 * plain:.0f}", f"{1e3 * recorded:.0f}", f"{recorded / plain:.2f}", str(log.ops)
            table.add_row(str(vocabulary), str(number), *cells, f"{log.writer.size / log.ops:.0f}")
    return table
