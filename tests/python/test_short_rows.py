# SPDX-License-Identifier: MIT
"""Broadcast operands whose last dimensions are short give the bits of operands that were written out."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

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
