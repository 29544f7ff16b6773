# SPDX-License-Identifier: MIT
"""Two steps of training in stock torch, of a model that is named, with so many threads."""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn import functional as F


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        first, second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, stride=2)
        self.body = nn.Sequential(first, nn.BatchNorm2d(16), nn.ReLU(), second, nn.ReLU())
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(self.body(x).mean((2, 3))), torch.arange(len(x)) % 10)


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.encoder(x) - x).square().mean()


MODELS = {"convolutions": (Convolutions, (16, 3, 32, 32)), "transformer": (Transformer, (8, 64, 64))}


def main(name: str, threads: str) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(int(threads))
    kind, shape = MODELS[name]
    model, x = kind(), torch.randn(shape)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
