# SPDX-License-Identifier: MIT
"""torch.export under `repdl.enable()`, with sizes that are symbols: the program has the bits of the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits


class Attention(torch.nn.Module):
    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.inside = torch.nn.Linear(8, 24)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        query, key, value = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in self.inside(x).chunk(3, -1))
        return F.scaled_dot_product_attention(query, key, value, mask, **self.settings)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + self.attention(x, x, x)[0])


MODELS = {"causal": lambda: Attention(is_causal=True), "scaled": lambda: Attention(scale=0.3), "encoder": Encoder}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("length", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_symbolic_sizes(name: str, length: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    model = MODELS[name]().eval().to(dtype)
    sizes = {0: torch.export.Dim("batch", min=2, max=64)} | ({1: torch.export.Dim("length", min=2)} if length else {})
    with repdl.reproducible():
        program = torch.export.export(model, (torch.randn(3, 5, 8, dtype=dtype),), dynamic_shapes=(sizes,)).module()
        for batch in (2, 3, 8):
            x = torch.randn(batch, 9 if length else 5, 8, dtype=dtype)
            assert same_bits(program(x), model(x))


def test_mask() -> None:
    torch.manual_seed(1)
    model, batch = Attention().eval(), torch.export.Dim("batch", min=2, max=64)
    mask = torch.rand(3, 1, 5, 5) > 0.3
    with repdl.reproducible():
        shapes = ({0: batch}, {0: batch})
        program = torch.export.export(model, (torch.randn(3, 5, 8), mask), dynamic_shapes=shapes).module()
        x, other = torch.randn(7, 5, 8), torch.rand(7, 1, 5, 5) > 0.3
        assert same_bits(program(x, other), model(x, other))
