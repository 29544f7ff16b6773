# SPDX-License-Identifier: MIT
"""What `repdl.record` costs: steps of training of a GPT-2 of width 256, with and without it, in turn."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from rich.table import Table
from torch import nn

import repdl

WIDTH, HEADS, LAYERS, LENGTH, BATCH = 256, 4, 4, 128, 4
VOCABULARIES = (8192, 50257)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.between, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.qkv(self.before(x)).view(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS)
        attended = F.scaled_dot_product_attention(*heads.permute(2, 0, 3, 1, 4), is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.between(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.tokens(ids) + self.places.weight)
        return F.cross_entropy((self.norm(x) @ self.tokens.weight.t()).flatten(0, 1), ids.flatten())


def run(threads: list[int], rounds: int) -> Table:
    """A row for each vocabulary and number of threads; the best of the turns. One thread leaves out other processes."""
    columns = ("vocabulary", "threads", "step, ms", "recorded, ms", "times", "ops", "bytes an op")
    table = Table(*columns, title=f"A step of GPT-2, width {WIDTH}, {LAYERS} layers, {BATCH} × {LENGTH} tokens, AdamW")
    for vocabulary in VOCABULARIES:
        model = GPT2(vocabulary)
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
