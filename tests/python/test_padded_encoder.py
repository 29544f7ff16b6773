# SPDX-License-Identifier: MIT
"""Padded places of nn.TransformerEncoder, which torch's fused path leaves out, and its single operations do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import repdl

X = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(1))
PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] + [True] * 4])


def encoder(norm: bool = False, **options: Any) -> nn.TransformerEncoder:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8, eps=1e-3) if norm else None, **options).eval()
    if norm:
        nn.init.normal_(model.norm.bias)  # type: ignore[union-attr]
    return model


PADDINGS = {
    "truth values": PADDING,
    "numbers": torch.zeros(PADDING.shape).masked_fill(PADDING, -torch.inf),
    "not at the end": PADDING.flip(1),
    "none": None,
}


@pytest.mark.filterwarnings(
    "ignore:.*nested tensors is in prototype stage:UserWarning", "ignore:.*mismatched:UserWarning"
)
@pytest.mark.parametrize("mask", [None, torch.zeros(5, 5)], ids=["no mask", "mask"])
@pytest.mark.parametrize("grad", [False, True], ids=["", "with gradients"])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(
    "options", [{}, {"norm": True}, {"enable_nested_tensor": False}, {"mask_check": False}], ids=str
)
def test_padded_places_are_those_of_torch(
    options: dict[str, Any], padding: str, grad: bool, mask: torch.Tensor | None
) -> None:
    if padding == "not at the end" and options == {"mask_check": False} and not grad and mask is None:
        return  # torch then takes other places for padded ones
    model = encoder(**options)
    with torch.set_grad_enabled(grad):
        stock = model(X, mask, PADDINGS[padding])
        with repdl.reproducible():
            ours = model(X, mask, PADDINGS[padding])
    torch.testing.assert_close(ours, stock)


def test_training_leaves_padded_places() -> None:
    model = encoder().train()
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
        elif isinstance(layer, nn.MultiheadAttention):
            layer.dropout = 0.0
    stock = model(X, src_key_padding_mask=PADDING)
    with repdl.reproducible():
        torch.testing.assert_close(model(X, src_key_padding_mask=PADDING), stock)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_it_can_be_scripted() -> None:
    model = encoder()
    with repdl.reproducible():
        scripted = torch.jit.script(model)
        assert torch.equal(scripted(X), model(X))


def test_a_program_without_the_fused_path_has_its_numbers() -> None:
    model = encoder()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            stock = model(X, src_key_padding_mask=PADDING)
            with repdl.reproducible():
                ours = model(X, src_key_padding_mask=PADDING)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    assert (stock[2, 1:] != 0).all()
    torch.testing.assert_close(ours, stock)
