# SPDX-License-Identifier: MIT
"""Programs that are recorded by the tests of `repdl.record` and `repdl diff`."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import repdl
from repdl.experiments import Engine
from repdl.experiments.settings import threads
from repdl.runs.columns import Call
from repdl.runs.recorder import recording
from repdl.runs.rerun import Reached, Rerun, experiments, is_call
from repdl.runs.run import Run

Program = Callable[[], object]


def recorded(path: Path, program: Callable[[], object], every: int = 1) -> Run:
    torch.manual_seed(0)
    with repdl.record(path, every, quiet=True):
        program()
    return Run(path)


def with_threads(count: int, program: Program) -> Program:
    def run() -> None:
        with threads(count):
            program()

    return run


def again(
    folder: Path,
    program: Program,
    call: Call,
    engine: Engine,
    of_b: dict[str, Any] | None = None,
    b: Call | None = None,
) -> Any:
    """As the other process does it: at a call of the run in folder/a, with the settings that the program has there."""
    wanted = [value.hash.hex() for value in (b or call).outputs]
    found: list[Any] = []

    class StopError(Exception):
        pass

    def reached(recorder: Rerun, here: Reached) -> NoReturn:
        found.append(json.loads(json.dumps(experiments(here, of_b or {}, wanted, engine))))
        assert is_call(here.recorded, job_of(call)) and not is_call(here.recorded, job_of(call) | {"inputs": [""]})
        raise StopError

    torch.manual_seed(0)
    kind = partial(Rerun, counted=Run(folder / "a").counted_before(call.number), reached=reached)
    with pytest.raises(StopError), recording(folder / "again", quiet=True, kind=kind):
        program()
    return found[0]


def of_script(path: Path, script: Path) -> Run:
    """As `repdl record` does, in this process."""
    program = {"program": [script.name], "is_module": False, "directory": str(script.parent)}
    with recording(path, quiet=True, program=program):
        runpy.run_path(str(script))
    return Run(path)


def job_of(call: Call) -> dict[str, Any]:
    return {
        "op": [call.name, call.text],
        "inputs": [[value.kind, value.hash.hex()] for value in call.inputs],
        "generator": call.generator and call.generator.hex(),
    }


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.attn = Attention()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm(x))
        return x + self.drop(self.down(F.gelu(self.up(x))))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        self.encoder = Encoder()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.encoder(self.embed(ids)) @ self.embed.weight.t()


def train_transformer() -> nn.Module:
    model = Transformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    ids = torch.randint(11, (6, 5))
    for (batch,) in DataLoader(TensorDataset(ids), 2, shuffle=True):
        loss = F.cross_entropy(model(batch).flatten(0, 1), batch.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def train_convolutions() -> nn.Module:
    model = nn.Sequential(
        *(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.5), nn.Linear(36, 5)),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = torch.randn(4, 3, 8, 8).to(memory_format=torch.channels_last), torch.tensor([0, 1, 2, 3])
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return model.eval()
