# SPDX-License-Identifier: MIT
"""Steps of training of many models: forward, backward, clipping of gradients and AdamW, against stock torch."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

import torch
import torch.nn.functional as F
from rich.table import Table
from torch import nn

import repdl

Step = Callable[[], object]


def step_of(model: nn.Module, loss_of: Callable[[nn.Module], torch.Tensor]) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> object:
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step


def _import_torchvision() -> None:
    """Before those that import it, also beside a torch for which it was not compiled."""
    tests = str(Path(__file__).resolve().parent.parent / "tests/python")
    if tests not in sys.path:
        sys.path.append(tests)
    import_module("torchvision_for_any_torch")


def transformers(dropout: float) -> dict[str, Step]:
    """4 layers, width 256, batch 8, sequence 128 (ViT: 65)."""
    _import_torchvision()
    import transformers as t

    tokens = torch.randint(0, 1000, (8, 128))
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    dropped = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    gpt2 = t.GPT2Config(
        vocab_size=1000, n_embd=256, n_layer=4, n_head=4, n_positions=128, bos_token_id=0, eos_token_id=1,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout,
    )  # fmt: skip
    bert = t.BertConfig(vocab_size=1000, max_position_embeddings=128, **sizes, **dropped)
    vit = t.ViTConfig(image_size=128, patch_size=16, num_labels=10, **sizes, **dropped)
    images, labels = torch.rand(8, 3, 128, 128), torch.arange(8)
    return {
        "GPT-2": step_of(t.GPT2LMHeadModel(gpt2), lambda m: m(input_ids=tokens, labels=tokens).loss),
        "BERT": step_of(t.BertForMaskedLM(bert), lambda m: m(input_ids=tokens, labels=tokens).loss),
        "ViT": step_of(t.ViTForImageClassification(vit), lambda m: m(pixel_values=images, labels=labels).loss),
    }


class UNet(nn.Module):
    """Two levels down and up, group norm and SiLU, as the networks of diffusion models have them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.down = nn.ModuleList([self.block(width, 2 * width), self.block(2 * width, 4 * width)])
        self.up = nn.ModuleList([self.block(6 * width, 2 * width), self.block(3 * width, width)])

    @staticmethod
    def block(channels: int, into: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(channels, into, 3, padding=1), nn.GroupNorm(8, into), nn.SiLU(),
            nn.Conv2d(into, into, 3, padding=1), nn.GroupNorm(8, into), nn.SiLU(),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        left = []
        for block in self.down:
            left.append(x)
            x = block(F.avg_pool2d(x, 2))
        for block in self.up:
            x = block(torch.cat((F.interpolate(x, scale_factor=2.0), left.pop()), 1))
        return self.last(x)


class LanguageModel(nn.Module):
    """An LSTM of two layers."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(self.layers(self.tokens(ids))[0]).flatten(0, 1), ids.flatten())


def others() -> dict[str, Step]:
    """Networks of images, and a recurrent one."""
    _import_torchvision()
    import timm

    def classifier(name: str, batch: int) -> Step:
        images, labels = torch.rand(batch, 3, 112, 112), torch.arange(batch)
        model = timm.create_model(name, num_classes=10)
        return step_of(model, lambda m: F.cross_entropy(m(images), labels))

    noisy, noise = torch.rand(4, 3, 64, 64), torch.rand(4, 3, 64, 64)
    ids = torch.randint(0, 1000, (32, 64))
    return {
        "ResNet-18, 8 images of 112²": classifier("resnet18", 8),
        "ResNet-50, 4 images of 112²": classifier("resnet50", 4),
        "MobileNetV3, 8 images of 112²": classifier("mobilenetv3_large_100", 8),
        "U-Net of width 32, 4 images of 64²": step_of(UNet(32), lambda m: F.mse_loss(m(noisy), noise)),
        "LSTM, 2 layers of 256, 32 × 64 tokens": step_of(LanguageModel(1000, 256), lambda m: m(ids)),
    }


def models() -> Iterator[tuple[str, Step]]:
    """All of them, those of a kind made when the first one is asked for."""
    for words, dropout in (("", 0.0), (", dropout 0.1", 0.1)):
        yield from ((f"{name}{words}", step) for name, step in transformers(dropout).items())
    yield from others().items()


def measure(threads: int, rounds: int = 7) -> dict[str, dict[str, float]]:
    """Milliseconds of torch and ours, the best of the turns, and their ratio, by name."""
    torch.set_num_threads(threads)
    repdl.set_num_threads(threads)
    torch.manual_seed(0)
    clock = time.thread_time if threads == 1 else time.perf_counter
    measured = {}
    for name, step in models():
        best = {"torch": float("inf"), "ours": float("inf")}
        step()
        for _ in range(rounds):  # in turn, since the machine is noisy
            best["torch"] = min(best["torch"], _milliseconds(step, clock))
            with repdl.reproducible():
                best["ours"] = min(best["ours"], _milliseconds(step, clock))
        measured[name] = best | {"ratio": best["torch"] / best["ours"]}
    return measured


def _milliseconds(step: Step, clock: Callable[[], float]) -> float:
    start = clock()
    step()
    return 1e3 * (clock() - start)


def table(measured: dict[str, dict[str, float]], threads: int) -> Table:
    """A row a model, and the geometric mean."""
    title = f"Steps of training, {threads} thread{'s' if threads > 1 else ''}"
    made = Table("a step", "torch, ms", "repdl.enable(), ms", "ratio", title=title)
    for name, of in measured.items():
        made.add_row(name, f"{of['torch']:.0f}", f"{of['ours']:.0f}", f"{of['ratio']:.2f}")
    made.add_row("geometric mean", "", "", f"{statistics.geometric_mean(of['ratio'] for of in measured.values()):.2f}")
    return made
