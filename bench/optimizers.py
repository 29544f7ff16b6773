# SPDX-License-Identifier: MIT
"""Steps of torch.optim, `clip_grad_norm_` and cumulative calls under `repdl.enable()` against torch's own kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from rich.table import Table

from float64 import against_torch

_BLOCK = ((768, 256), (768,), (256, 256), (256,), (1024, 256), (1024,), (256, 1024), *5 * [(256,)])
MODELS = {
    "LeNet": ((6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 256), (120,), (84, 120), (84,), (10, 84), (10,)),
    "transformer, 9 million": 12 * _BLOCK + ((256,), (256,), (1000, 256)),
}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "Adam, foreach": lambda p: torch.optim.Adam(p, foreach=True),
    "AdamW, fused": lambda p: torch.optim.AdamW(p, fused=True),
    "SGD, foreach": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, foreach=True),
    "SGD, fused": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, fused=True),
    "RMSprop, foreach": lambda p: torch.optim.RMSprop(p, foreach=True),
}


def _calls() -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    calls: dict[str, Callable[[], object]] = {}
    for model, shapes in MODELS.items():
        for name, make in OPTIMIZERS.items():
            parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
            for p in parameters:
                p.grad = torch.randn_like(p)
            calls[f"{name}, {model}"] = make(parameters).step
        calls[f"clip_grad_norm_, {model}"] = lambda p=parameters: torch.nn.utils.clip_grad_norm_(p, 1.0)  # type: ignore[misc]
    x, long = torch.rand(40, 3000), torch.rand(10**6)
    calls |= {
        "cumsum, 40x3000": lambda: x.cumsum(1),
        "cumsum, 3000x40 along the first": lambda: x.view(3000, 40).cumsum(0),
        "cumsum, 10^6": lambda: long.cumsum(0),
        "cumprod, 40x3000": lambda: x.cumprod(1),
        "logcumsumexp, 40x3000": lambda: x.logcumsumexp(1),
        "prod, 40x3000": lambda: x.prod(1),
        "prod, 10^6": lambda: long.prod(),
    }
    return calls


def run(threads: int) -> Table:
    """A row a call."""
    torch.set_num_threads(threads)
    return against_torch("optimizers and cumulative calls", _calls(), threads)
