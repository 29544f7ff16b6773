# SPDX-License-Identifier: MIT
"""What `repdl.enable()` costs: to switch, beside a converted model, and in steps of training of models not our own."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

import torch
import torch.nn.functional as F
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

import repdl
from calls import chosen


def _best(call: Callable[[], object], calls: int, rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def beside_a_model(rounds: int = 25) -> Table:
    """Calls in torch's own kernels, outside of a converted model while it lives."""
    torch.set_num_threads(1)
    small = {name: partial(function, *operands) for _, name, function, operands in chosen("4×4")}
    best = [dict.fromkeys(small, float("inf")) for _ in range(2)]
    for so_far in best:
        model = repdl.from_torch_module(torch.nn.Dropout()) if so_far is best[1] else None
        for _ in range(rounds):  # in turn, since the machine is noisy
            for name, call in small.items():
                so_far[name] = min(so_far[name], _best(call, 1000, 1))
        del model
    table = Table("4×4, 1 thread", "torch, µs", "more beside a converted model, µs", title="Beside a converted model")
    for name in small:
        before, beside = (1e6 * of[name] for of in best)
        table.add_row(name, f"{before:.2f}", f"{beside - before:.2f}")
    return table


def _step(model: torch.nn.Module, loss_of: Callable[[torch.nn.Module], torch.Tensor]) -> Callable[[], object]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> object:
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step


def _models(dropout: float) -> dict[str, Callable[[], object]]:
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/python"))
    import_module("torchvision_for_any_torch")  # before transformers
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
        "GPT-2": _step(t.GPT2LMHeadModel(gpt2), lambda m: m(input_ids=tokens, labels=tokens).loss),
        "BERT": _step(t.BertForMaskedLM(bert), lambda m: m(input_ids=tokens, labels=tokens).loss),
        "ViT": _step(t.ViTForImageClassification(vit), lambda m: m(pixel_values=images, labels=labels).loss),
    }


def steps(threads: int, rounds: int = 7) -> Table:
    """Forward, backward, clipping and AdamW: 4 layers, width 256, sequence 128 (ViT: 65), batch 8."""
    torch.set_num_threads(threads)
    table = Table("a step of training", "torch, ms", "repdl.enable(), ms", "ratio", title=f"Steps, {threads} threads")
    dropouts = {"without dropout": _models(0.0), "dropout 0.1": _models(0.1)}
    named = {f"{model}, {dropout}": step for dropout, models in dropouts.items() for model, step in models.items()}
    for name, step in named.items():
        best = {False: float("inf"), True: float("inf")}
        step()
        for _ in range(rounds):  # in turn, since the machine is noisy
            best[False] = min(best[False], _best(step, 1, 1))
            with repdl.reproducible():
                best[True] = min(best[True], _best(step, 1, 1))
        stock, ours = best[False] * 1e3, best[True] * 1e3
        table.add_row(name, f"{stock:.0f}", f"{ours:.0f}", f"{stock / ours:.2f}")
    return table


SHARES = {
    "products": ("aten::mm", "aten::addmm"),
    "mul, pow": ("aten::mul", "aten::pow"),
    "tanh, gelu and their gradients": ("aten::tanh", "aten::tanh_backward", "aten::gelu", "aten::gelu_backward"),
    "gradient of layer_norm": ("aten::native_layer_norm_backward",),
}


def _profiled(step: Callable[[], object]) -> dict[str, float]:
    """Milliseconds of each share in a step."""
    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    own = {event.key: event.self_cpu_time_total / 1e3 for event in profiler.key_averages()}
    return {share: sum(own.get(name, 0.0) for name in names) for share, names in SHARES.items()}


def _attention(length: int, causal: bool) -> Callable[[], object]:
    """That of a step of four layers, forward and backward."""
    q, k, v = (torch.randn(8, length, 4, 64).transpose(1, 2).requires_grad_() for _ in range(3))
    grad = torch.randn(8, 4, length, 64)

    def attend() -> None:
        for _ in range(4):
            torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=causal), (q, k, v), grad)

    return attend


def shares(rounds: int = 10) -> Table:
    """Where the time of a step without dropout goes, on one thread."""
    torch.set_num_threads(1)
    table = Table("torch → repdl.enable(), ms", title="Shares of a step, 1 thread")
    cells: dict[str, list[str]] = {share: [] for share in (*SHARES, "attention, alone")}
    attentions = {"GPT-2": (128, True), "BERT": (128, False), "ViT": (65, False)}
    for name, step in _models(0.0).items():
        table.add_column(name)
        attend = _attention(*attentions[name])
        best = [dict.fromkeys(cells, float("inf")) for _ in range(2)]
        for _ in range(rounds):
            for enabled, so_far in enumerate(best):
                with repdl.reproducible() if enabled else nullcontext():
                    times = _profiled(step) | {"attention, alone": 1e3 * _best(attend, 1, 2)}
                so_far.update({share: min(so_far[share], times[share]) for share in cells})
        for share in cells:
            cells[share].append(f"{best[0][share]:.1f} → {best[1][share]:.1f}")
    for share, row in cells.items():
        table.add_row(share, *row)
    return table


def switching() -> Table:
    """enable() and disable(), the first time and after."""
    table = Table("", "ms", title="Switching")
    for name in ("first enable()", "enable()"):
        table.add_row(name, f"{_best(repdl.enable, 1, 1) * 1e3:.0f}")
        table.add_row("disable()", f"{_best(repdl.disable, 1, 1) * 1e3:.1f}")
    return table
