# SPDX-License-Identifier: MIT
"""What the fused path of nn.TransformerEncoder does beside its arithmetic: padded places of the result are zeros."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import nn

Forward = Callable[..., torch.Tensor]


def with_zeros_for_padding(original: Forward) -> Forward:
    """`forward` of nn.TransformerEncoder in single operations, with the zeros of the calls that torch fuses.

    torch.jit.script reads the source of the original, in whose names the function has to live for that.
    """
    pads, padded = _pads, _padded

    def forward(
        self: Any, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None
    ) -> torch.Tensor:
        if mask is not None or src_key_padding_mask is None or not pads(self, src, src_key_padding_mask):
            return original(self, src, mask, src_key_padding_mask, is_causal)
        return padded(original, self, src, src_key_padding_mask, is_causal)

    among_its_names = FunctionType(
        forward.__code__, original.__globals__, "forward", forward.__defaults__, forward.__closure__
    )
    return update_wrapper(among_its_names, original)


def _padded(
    original: Forward, encoder: nn.TransformerEncoder, src: torch.Tensor, padding: torch.Tensor, is_causal: Any
) -> torch.Tensor:
    layers_alone = SimpleNamespace(layers=encoder.layers, norm=None)
    result = original(layers_alone, src, None, padding, is_causal).masked_fill(_is_padded(padding)[..., None], 0.0)
    return result if encoder.norm is None else encoder.norm(result)


def _is_padded(padding: torch.Tensor) -> torch.Tensor:
    return padding if padding.dtype == torch.bool else padding != 0


def _pads(encoder: nn.TransformerEncoder, src: torch.Tensor, padding: torch.Tensor) -> bool:
    """Whether torch converts the input to a nested tensor, of which nothing is computed for padded places."""
    if not getattr(encoder, "use_nested_tensor", False) or encoder.layers[0].training or src.dim() != 3:
        return False
    if src.is_nested or torch.is_autocast_enabled() or torch.compiler.is_compiling():
        return False
    if torch._C._are_functorch_transforms_active():
        return False
    operands = (src, *encoder.layers[0].parameters())
    if torch.overrides.has_torch_function(operands):
        return False
    if torch.is_grad_enabled() and any(t.requires_grad for t in operands):
        return False
    is_there = ~_is_padded(padding)
    return not getattr(encoder, "mask_check", True) or bool((is_there[:, 1:] <= is_there[:, :-1]).all())
