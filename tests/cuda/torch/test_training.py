# SPDX-License-Identifier: MIT
"""Steps of training on the device leave the weights, gradients and losses that they leave on the CPU."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import device
import pytest
import torch
import torch.nn.functional as F
from support_cuda import bits
from torch import nn
from torch.utils.checkpoint import checkpoint

import repdl


class Transformer(nn.Module):
    """Two layers of attention and a product each, with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 16)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 11)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.tokens(x)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(self.norm(hidden)).flatten(0, 1)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Dropout(0.2), nn.Linear(20, 5))


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4, track_running_stats=False),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 5),
    )


def batch(model: nn.Module, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    seed = torch.Generator().manual_seed(number)
    if isinstance(model, Transformer):
        x = torch.randint(11, (3, 7), generator=seed)
        return x, x.roll(-1, 1).flatten()
    shape = (4, 1, 6, 6) if isinstance(model[0], nn.Conv2d) else (4, 12)  # type: ignore[index]
    return torch.randn(shape, generator=seed), torch.randint(5, (4,), generator=seed)


MODELS = {"mlp": mlp, "convolutional": convolutional, "transformer": Transformer}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, 0.01),
    "adamw of lists": lambda p: torch.optim.AdamW(p, 0.01, foreach=True),
    "fused adamw": lambda p: torch.optim.AdamW(p, 0.01, fused=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, 0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5),
    "nadam": lambda p: torch.optim.NAdam(p, 0.01),
    "radam": lambda p: torch.optim.RAdam(p, 0.01),
    "adamax": lambda p: torch.optim.Adamax(p, 0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p, 0.5),
    "asgd": lambda p: torch.optim.ASGD(p, 0.1),
    "rprop": lambda p: torch.optim.Rprop(p, 0.01),
}


def batches(model: nn.Module, steps: range) -> list[list[torch.Tensor]]:
    """Those of these numbers, on the device of the model."""
    place = next(model.parameters()).device
    return [[t.to(place) for t in batch(model, number)] for number in steps]


def train(model: nn.Module, optimizer: torch.optim.Optimizer, given: list[list[torch.Tensor]]) -> list[Any]:
    losses = []
    for x, y in given:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return losses


def state(model: nn.Module) -> Any:
    return bits([t for p in model.parameters() for t in (p.detach(), p.grad)] + list(model.buffers()))


@pytest.mark.parametrize(
    ("kind", "optimizer"),
    [("mlp", name) for name in OPTIMIZERS] + [("convolutional", "sgd"), ("transformer", "adamw of lists")],
)
def test_training(kind: str, optimizer: str, enabled: None) -> None:
    torch.manual_seed(1)
    on_cpu = MODELS[kind]()
    on_cuda = copy.deepcopy(on_cpu).to("cuda")
    results = []
    for model in (on_cpu, on_cuda):
        torch.manual_seed(2)
        given, update = batches(model, range(2)), OPTIMIZERS[optimizer](model.parameters())
        # The steps of a fused optimizer are counted on the device, and each is read; so are the rates of ASGD. Rprop
        # writes by masks.
        with nullcontext() if optimizer in ("fused adamw", "asgd", "rprop") else device.nothing_waits():
            losses = train(model, update, given)
        results.append((bits(losses), state(model)))
    assert next(on_cuda.parameters()).is_cuda
    assert results[0] == results[1]


def test_a_model_that_moves_goes_on_with_the_same_bits(enabled: None) -> None:
    results = []
    for moves in (False, True):
        torch.manual_seed(3)  # weights, and then the masks of dropout: wherever they are drawn
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        train(model, optimizer, batches(model, range(2)))
        if moves:
            model.to("cuda")
            optimizer.load_state_dict(optimizer.state_dict())  # which brings the state to the parameters
        train(model, optimizer, batches(model, range(2, 4)))
        if moves:
            model.to("cpu")
            optimizer.load_state_dict(optimizer.state_dict())
        train(model, optimizer, batches(model, range(4, 5)))
        results.append(state(model))
    assert results[0] == results[1]


@pytest.mark.parametrize("order", ["blocked", "sequential"])
def test_a_backward_pass_has_the_order_of_its_caller(order: str, enabled: None) -> None:
    """It runs in a thread of its own, which torch has for each device."""
    results = []
    for place in ("cpu", "cuda"):
        w = torch.randn(3, 2000, generator=torch.Generator().manual_seed(1)).to(place).requires_grad_()
        x = torch.randn(2000, 2000, generator=torch.Generator().manual_seed(2)).to(place)
        loss = (w @ x).sum()
        with repdl.order(order):
            loss.backward()
        results.append(bits(w.grad))
    assert results[0] == results[1]


def test_checkpointing_draws_the_masks_again(enabled: None) -> None:
    def run(place: str, again: bool) -> Any:
        torch.manual_seed(4)
        model = mlp().to(place)
        torch.manual_seed(5)
        x = torch.randn(4, 12, generator=torch.Generator().manual_seed(6)).to(place)
        result = checkpoint(model, x, use_reentrant=False) if again else model(x)
        result.square().sum().backward()
        return state(model)

    assert run("cuda", True) == run("cuda", False) == run("cpu", False) == run("cpu", True)


def test_autocast_and_scaled_gradients(enabled: None) -> None:
    def run(place: str) -> Any:
        torch.manual_seed(4)
        model = mlp().to(place)
        torch.manual_seed(5)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        scaler = torch.amp.GradScaler(place, init_scale=1024.0, growth_interval=2)
        scales = []
        for number in range(3):
            x, y = (t.to(place) for t in batch(model, number))
            optimizer.zero_grad()
            with torch.autocast(place, dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x).float(), y)  # which only on a device torch does by itself
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        return scales, state(model)

    assert run("cuda") == run("cpu")
