# SPDX-License-Identifier: MIT
"""What `repdl.enable()` costs: to switch, beside a converted model, and where the time of a step of training goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import torch
import torch.nn.functional as F
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

import repdl
from calls import chosen
from steps import transformers


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
    for name, step in transformers(0.0).items():
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
