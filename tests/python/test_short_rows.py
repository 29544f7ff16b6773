# SPDX-License-Identifier: MIT
"""Broadcast operands whose last dimensions are short give the bits of operands that were written out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits, torch_threads

CALLS: dict[str, Callable[..., torch.Tensor]] = {
    "sub": lambda x, y, z: torch.sub(x, y),
    "div": lambda x, y, z: torch.div(x, y),
    "atan2": lambda x, y, z: torch.atan2(x, y),
    "addcmul": lambda x, y, z: torch.addcmul(x, y, z, value=0.3),
    "lerp": lambda x, y, z: torch.lerp(x, y, z),
}


def _operand(shape: list[int], dtype: torch.dtype, chosen: random.Random, made: torch.Generator) -> torch.Tensor:
    """Of a part of the dimensions; those that are left lie in any order, and may be spread or behind an odd number."""
    own = [1 if chosen.random() < 0.4 else size for size in shape][chosen.choice([0, 0, 1]) :]
    order = chosen.sample(range(len(own)), len(own)) if chosen.random() < 0.5 else list(range(len(own)))
    spread = chosen.choice([1, 1, 2, 3])
    room = torch.randn([own[dim] for dim in order[:-1]] + [own[order[-1]] * spread + 1], generator=made).to(dtype)
    hard = torch.tensor([0.0, -0.0, torch.inf, torch.nan, 1e-40, -3e38], dtype=dtype)
    room.view(-1)[:: chosen.randint(3, 40)] = hard[chosen.randrange(len(hard))]
    return room[..., 1::spread].permute([order.index(dim) for dim in range(len(own))])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", CALLS)
def test_of_any_shape_and_layout(name: str, dtype: torch.dtype) -> None:
    chosen, made = random.Random(name + str(dtype)), torch.Generator().manual_seed(3)
    calls = []
    for turn in range(150):
        sizes = [1, 2, 3, 5, 8, 16, 17, 33, 63, 64, 65]
        shape = [chosen.choice([1, 2, 3, 7, 40]) for _ in range(chosen.randint(1, 3))] + [chosen.choice(sizes)]
        if turn % 15 == 0:
            shape[0] = 20_000 // shape[-1]  # so many that threads share them
        x, y, z = (_operand(shape, dtype, chosen, made) for _ in range(3))
        operands = (x, y, z) if name in ("addcmul", "lerp") else (x, y, y)
        whole = torch.broadcast_shapes(*(t.shape for t in operands))
        calls.append((operands, [t.expand(whole).contiguous() for t in operands]))
    with repdl.reproducible():
        with torch_threads(1):
            expected = [CALLS[name](*written_out) for _, written_out in calls]
        with torch_threads(3):
            found = [CALLS[name](*operands) for operands, _ in calls]
    for (operands, _), one, other in zip(calls, found, expected, strict=True):
        assert same_bits(one, other), [(t.shape, t.stride()) for t in operands]


REDUCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "prod": lambda x: x.prod(-1),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(-1),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.int64), reduction="none"),
}


def _rows(count: int, n: int, dtype: torch.dtype, made: torch.Generator) -> torch.Tensor:
    rows = torch.randn(count, n, generator=made).to(dtype)
    hard = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-40, -3e38], dtype=dtype)
    for of_every, places in ((3, 7), (7, 13)):  # single ones, and rows of nothing else
        chosen = torch.randint(len(hard), (len(rows[::places]), n), generator=made)
        keeps = torch.rand(chosen.shape, generator=made) < 1 / of_every
        rows[::places] = torch.where(keeps, rows[::places], hard[chosen])
    rows[::5] = -0.0
    return rows


@pytest.mark.parametrize("order", ["blocked", "sequential"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_rows_alone_and_in_a_batch(
    name: str, dtype: torch.dtype, order: Literal["blocked", "sequential"]
) -> None:
    made = torch.Generator().manual_seed(4)
    reduction = REDUCTIONS[name]
    with repdl.reproducible(order=order):
        for n in (1, 3, 8, 12, 16, 17):
            rows = _rows(41, n, dtype, made)
            alone = torch.cat([reduction(row[None]) for row in rows])
            spread = torch.stack([rows, rows], -1)[..., 0]
            for threads, batch in ((1, rows), (1, spread), (1, rows.t().contiguous().t()), (3, rows.repeat(300, 1))):
                with torch_threads(threads):
                    found = reduction(batch)
                assert same_bits(found, alone.repeat(len(batch) // 41, *(1,) * (alone.dim() - 1))), (n, batch.stride())
