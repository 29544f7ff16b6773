# SPDX-License-Identifier: MIT
"""`torch.autograd.grad(..., is_grads_batched=True)`, by which vectorized Jacobians are taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.functional import jacobian

import repdl

Function = Callable[[torch.Tensor], torch.Tensor]


def _layer(layer: nn.Module) -> Function:
    return lambda x: layer(x)[0] if isinstance(layer, nn.RNNBase) else layer(x)


def _attention() -> Function:
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    return lambda x: layer(x, x, x, need_weights=False)[0]


FUNCTIONS: dict[str, Callable[[], Function]] = {
    "rms_norm": lambda: _layer(nn.RMSNorm(4)),
    "layer_norm": lambda: _layer(nn.LayerNorm(4)),
    "attention": lambda: lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "MultiheadAttention": _attention,
    "TransformerEncoderLayer": lambda: _layer(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)),
    **{kind.__name__: lambda kind=kind: _layer(kind(4, 3)) for kind in (nn.LSTM, nn.GRU, nn.RNN)},
    "softmax": lambda: lambda x: torch.softmax(x, -1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_has_the_bits_of_each_alone(name: str) -> None:
    torch.manual_seed(0)
    function, x = FUNCTIONS[name](), torch.randn(2, 3, 4)
    stock = jacobian(function, x)
    with repdl.reproducible():
        together, alone = jacobian(function, x, vectorize=True), jacobian(function, x)
    assert torch.equal(together, alone)
    torch.testing.assert_close(together, stock)


def test_what_has_no_data_is_refused_as_before() -> None:
    with pytest.raises(TypeError, match="rms_norm"):
        repdl.ops.rms_norm(torch.ones(2, 3).to_sparse(), (3,))
