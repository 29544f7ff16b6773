# SPDX-License-Identifier: MIT
"""Trains in children that are killed and go on from a checkpoint; prints for each kind of kill, and each number of
workers, how many children were killed and what the last one ended with.

    python resumed_training.py FOLDER stock|enabled

Each child begins with other seeds and weights, as a program does that does not know where it will go on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import repdl
from repdl import checkpoint
from repdl.checkpoint import file as checkpoint_file

EPOCHS, SIZE = 3, 18

RUNS = [
    (0, "none"),
    (0, "half written"),
    (0, "before the rename"),
    (0, "after the rename"),
    (0, "at random"),
    (2, "none"),
    (2, "after the rename"),
    (2, "at random"),
]
"""Workers, and where children are killed: in `save`, from some step on, or when the parent likes."""


class Augmented(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Numbers with noise from each generator."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        noise = random.random() + np.random.random() + torch.rand(()).item()
        return torch.arange(6, dtype=torch.float32) * index / 100 + noise / 10, torch.tensor(index % 3)


def train(path: Path, workers: int, kills: str, last: int | None) -> str:
    repdl.manual_seed(os.getpid() if path.exists() else 7)
    layers = [torch.nn.Linear(6, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.3)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    sampler = checkpoint.ResumableBatchSampler(SIZE, 4, seed=3)
    loader: DataLoader[Any] = DataLoader(
        Augmented(), batch_sampler=sampler, num_workers=workers, worker_init_fn=repdl.seed_worker
    )
    parts: dict[str, Any] = {
        "model": model,
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=EPOCHS * len(sampler)),
        "scaler": torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=5),
        "sampler": sampler,
        "noise": torch.Generator().manual_seed(1),
    }
    steps = checkpoint.load(path, **parts)["steps"] if path.exists() else 0
    while sampler.epoch < EPOCHS:
        for numbers, classes in sampler.batches(loader):
            optimizer.zero_grad()
            numbers = numbers + torch.rand(numbers.shape, generator=parts["noise"]) / 100
            parts["scaler"].scale(torch.nn.functional.cross_entropy(model(numbers), classes)).backward()
            parts["scaler"].step(optimizer)
            parts["scaler"].update()
            parts["scheduler"].step()
            steps += 1
            checkpoint.save(path, **parts, steps=steps)
            if steps == last:
                killed_within(kills)
    checkpoint.save(path, **parts, steps=steps)
    states = checkpoint.read(path)
    digest = hashlib.sha256(repr((steps, random.random(), np.random.random(), torch.rand(3).tolist())).encode())
    for state in (states["model"], *states["optimizer"]["state"].values()):
        for tensor in state.values():
            digest.update(tensor.numpy().tobytes())
    digest.update(repr((states["scheduler"], states["scaler"], states["sampler"])).encode())
    return digest.hexdigest()


def killed(*args: Any, **kwargs: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_within(place: str) -> None:
    """From now on the process ends at this place of a write."""
    if place == "half written":
        whole = checkpoint_file.safetensors.torch.save_file

        def half(tensors: Any, path: Any, metadata: Any) -> None:
            whole(tensors, path, metadata)
            os.truncate(path, os.stat(path).st_size // 2)
            killed()

        checkpoint_file.safetensors.torch.save_file = half  # type: ignore[assignment]
    elif place == "before the rename":
        os.replace = killed
    elif place == "after the rename":
        checkpoint_file._sync_folder = killed
    else:
        raise ValueError(place)


def run(folder: Path, workers: int, kills: str) -> tuple[int, str]:
    folder.mkdir()
    path, result = folder / "run.ckpt", folder / "result"
    choose = random.Random(5)
    dead = 0
    while not result.exists():
        lives = choose.randrange(1, 6)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            begun = checkpoint.read(path)["steps"] if path.exists() else 0

            last = begun + lives if kills not in ("none", "at random") else None
            result.write_text(train(path, workers, kills, last))
            os._exit(0)
        if kills == "at random" and dead < 5:
            time.sleep(choose.uniform(0.005, 0.1))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):  # a worker whose parent was gone when it began waits for ever
            os.killpg(child, signal.SIGKILL)
        dead += os.WIFSIGNALED(status)
        assert os.WIFSIGNALED(status) or result.exists(), "a child failed"
    return dead, result.read_text()


def main(folder: str, mode: str) -> None:
    torch.set_num_threads(1)  # so that nothing runs beside the program when it forks
    os.fsync = lambda descriptor: None  # a kill loses nothing that was written, and disks take their time
    if mode == "enabled":
        repdl.enable()
    train(Path(folder) / "first.ckpt", 0, "none", None)  # what is called for the first time takes its time
    for number, (workers, kills) in enumerate(RUNS):
        dead, digest = run(Path(folder) / str(number), workers, kills)
        print(workers, dead, digest, kills, flush=True)  # or the next children would print it too


if __name__ == "__main__":
    main(*sys.argv[1:])
