# SPDX-License-Identifier: MIT
"""One training step of the example's LeNet, batch 100, against stock torch: ratios above 1 are faster than torch."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from rich.table import Table
from torch import nn

import repdl
from timing import time_in_turn

ORDERS = ("blocked", "sequential")


def model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, kernel_size=5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def step_of(
    network: nn.Module, optimizer: torch.optim.Optimizer, loss_of: Callable[..., torch.Tensor], order: str | None = None
) -> Callable[[], None]:
    images, labels = torch.rand(100, 1, 28, 28), torch.randint(0, 10, (100,))

    def step() -> None:
        if order is not None:
            repdl.set_order(order)
        loss = loss_of(network(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def measure(threads: int) -> dict[str, float]:
    """Milliseconds of torch and of each order, and the ratios of these."""
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    repdl.set_num_threads(threads)
    network = model()
    contenders = {
        "torch": step_of(network, torch.optim.Adam(network.parameters(), lr=0.01), nn.functional.cross_entropy)
    }
    for order in ORDERS:
        network = repdl.from_torch_module(copy.deepcopy(network))
        optimizer = repdl.optim.Adam(network.parameters(), lr=0.01)
        contenders[order] = step_of(network, optimizer, repdl.nn.functional.cross_entropy, order)
    times = time_in_turn(contenders, seconds=2.0)
    repdl.set_order("blocked")
    ratios = {f"ratio {order}": times["torch"] / times[order] for order in ORDERS}
    return {name: 1e3 * seconds for name, seconds in times.items()} | ratios


def table(measured: dict[int, dict[str, float]]) -> Table:
    """A row a number of threads."""
    made = Table(title="LeNet, one training step of batch 100: milliseconds, and ratio to stock torch")
    for column in ("threads", "torch", *ORDERS, *(f"ratio {order}" for order in ORDERS)):
        made.add_column(column, justify="right")
    for threads, of in measured.items():
        made.add_row(str(threads), *(f"{value:.2f}" for value in of.values()))
    return made
