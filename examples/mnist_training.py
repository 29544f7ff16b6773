# SPDX-License-Identifier: MIT
"""Trains LeNet on MNIST and prints digests that are the same on every machine.

In order `sequential` they are the digests that microsoft/RepDL 0.1 publishes.

    python examples/mnist_training.py --data DIR
    python examples/mnist_training.py --data DIR --device cuda
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import nn
from torch.utils.data import DataLoader, Dataset

import repdl
from datasets import Images, download_mnist, load_digits, load_mnist
from repdl.utils import get_hash

BATCH = 100
EPOCHS = 2

DIGESTS = repdl.conformance.GOLDEN / "lenet.json"
"""What two epochs give: digests from the slow reference, which for MNIST in order sequential are the published ones."""
PUBLISHED = "MNIST, sequential"


class LeNet(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 6, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )


class Samples(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Images and labels that a DataLoader takes a batch at a time."""

    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitems__(self, indices: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        at = torch.tensor(indices)
        return self.images[at], self.labels[at]

    def loader(self, shuffle: bool) -> DataLoader[tuple[torch.Tensor, torch.Tensor]]:
        return DataLoader(self, BATCH, shuffle=shuffle, collate_fn=lambda batch: batch)


def load(directory: Path | None) -> Images:
    if directory == Path("digits"):
        return load_digits()
    if directory is not None:
        return load_mnist(directory)
    directory = Path("data/mnist")
    try:
        download_mnist(directory)
        return load_mnist(directory)
    except OSError as error:
        print(
            f"MNIST cannot be had ({error}); training on scikit-learn's digits. --data DIR names a folder with MNIST."
        )
        return load_digits()


def train(model: nn.Module, samples: Samples, epochs: int, progress: Progress) -> None:
    optimizer = repdl.optim.Adam(model.parameters(), lr=0.01)
    loader = samples.loader(shuffle=True)
    task = progress.add_task("training", total=epochs * len(loader), loss=float("nan"))
    for _ in range(epochs):
        for images, labels in loader:
            loss = repdl.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.update(task, advance=1, loss=loss.item())


@torch.no_grad()
def predict(model: nn.Module, samples: Samples) -> torch.Tensor:
    model.eval()
    return torch.cat([model(images) for images, _ in samples.loader(shuffle=False)])


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with MNIST's IDX files, or digits: scikit-learn's"
    )
    parser.add_argument("--order", choices=("sequential", "blocked"), default="sequential")
    parser.add_argument("--epochs", type=positive, default=EPOCHS, metavar="N")
    parser.add_argument("--threads", type=positive, metavar="N", help="default: torch's number")
    parser.add_argument("--device", default="cpu", metavar="D", help="cpu, or cuda in a build with CUDA kernels")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")
    options = parser.parse_args()

    console = Console(highlight=False, soft_wrap=True)
    repdl.set_order(options.order)
    try:
        if options.threads is not None:
            repdl.set_num_threads(options.threads)
        data = load(options.data)
    except (OSError, ValueError) as error:
        console.print(f"error: {escape(str(error))}", style="red")
        return 2

    torch.manual_seed(0)
    with repdl.random.stream("torch"):
        model = repdl.from_torch_module(LeNet())
    device = torch.device(options.device)
    model.to(device)
    train_samples = Samples(data.train_images.to(device), data.train_labels.to(device))
    test_samples = Samples(data.test_images.to(device), data.test_labels.to(device))
    console.print(
        f"{data.name}: {len(train_samples)} training and {len(test_samples)} test images; order {options.order}, "
        f"{options.epochs} epochs, " + (f"{repdl.get_num_threads()} threads" if device.type == "cpu" else str(device))
    )

    run = f"{data.name}, {options.order}"
    known = json.loads(DIGESTS.read_text())[run] if DIGESTS.exists() and options.epochs == EPOCHS else {}
    origin = "published" if run == PUBLISHED else "expected"
    all_equal = True
    if not known:
        console.print(f"nothing is published to compare with: the digests in {DIGESTS.name} are of {EPOCHS} epochs")

    def report(what: str, value: str | float) -> None:
        nonlocal all_equal
        verdict = ""
        if known:
            equal = value == known[what]
            all_equal = all_equal and equal
            verdict = f"  [green]= {origin}[/]" if equal else f"  [red]differs from the {origin} {known[what]}[/]"
        console.print(f"{what:<14} {value}{verdict}")

    report("initial model", get_hash(model))
    start = time.perf_counter()
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=options.no_progress) as progress:
        train(model, train_samples, options.epochs, progress)
    seconds = time.perf_counter() - start
    report("trained model", get_hash(model))
    logits = predict(model, test_samples)
    accuracy = int((logits.argmax(1) == test_samples.labels).sum()) / len(test_samples)
    report("logits", get_hash(logits))
    report("accuracy", accuracy)
    console.print(f"{'training time':<14} {seconds:.1f} s")
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
