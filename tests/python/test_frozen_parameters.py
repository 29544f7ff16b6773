# SPDX-License-Identifier: MIT
"""Gradients of layers of which some parameters are frozen: the bits of those that are left do not change, and what
nobody asks for is not computed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import repdl
from repdl.interception.aten import normalization
from support import same_bits

LAYERS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[int, ...]]] = {
    "layer_norm": (lambda: torch.nn.LayerNorm((3, 7)), (300, 3, 7)),
    "rms_norm": (lambda: torch.nn.RMSNorm(21), (300, 21)),
    "group_norm": (lambda: torch.nn.GroupNorm(2, 6), (5, 6, 9, 5)),
    "instance_norm": (lambda: torch.nn.InstanceNorm2d(6, affine=True), (5, 6, 9, 5)),
    "batch_norm": (lambda: torch.nn.BatchNorm2d(6), (5, 6, 9, 5)),
    "batch_norm_eval": (lambda: torch.nn.BatchNorm2d(6).eval(), (5, 6, 9, 5)),
    "batch_norm_eval_of_rows": (lambda: torch.nn.BatchNorm1d(6).eval(), (70, 6)),
    "conv": (lambda: torch.nn.Conv2d(6, 4, 3), (5, 6, 9, 5)),
    "linear": (lambda: torch.nn.Linear(21, 5), (70, 21)),
    "prelu": (lambda: torch.nn.PReLU(6), (5, 6, 9, 5)),
}


def _input(shape: tuple[int, ...], dtype: torch.dtype, hostile: bool) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)
    if hostile:
        values = (0.0, -0.0, torch.nan, torch.inf, -torch.inf, torch.finfo(dtype).smallest_normal / 4, 1e30)
        x.flatten()[:: x.numel() // len(values)][: len(values)] = torch.tensor(values, dtype=dtype)
    return x


def _gradients(layer: torch.nn.Module, x: torch.Tensor, needed: tuple[bool, ...]) -> list[torch.Tensor | None]:
    leaves = [x.detach().clone(), *layer.parameters()]
    for leaf, wanted in zip(leaves, needed, strict=True):
        leaf.grad = None
        leaf.requires_grad_(wanted)
    output = layer(leaves[0])
    output.backward(torch.randn(output.shape, generator=torch.Generator().manual_seed(2)).to(output.dtype))
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_the_other_gradients_stay(name: str, dtype: torch.dtype) -> None:
    make, shape = LAYERS[name]
    with repdl.reproducible():
        for hostile in (False, True):
            torch.manual_seed(0)
            layer = make().to(dtype)
            with torch.no_grad():
                for parameter in layer.parameters():
                    parameter.normal_()
            x = _input(shape, dtype, hostile)
            count = 1 + len(list(layer.parameters()))
            whole = _gradients(layer, x, (True,) * count)
            for needed in itertools.product((False, True), repeat=count):
                if not any(needed):
                    continue
                for grad, expected, wanted in zip(_gradients(layer, x, needed), whole, needed, strict=True):
                    assert (grad is not None) == wanted
                    assert grad is None or same_bits(grad, expected)


def _only(name: str, op: Callable[..., Any]) -> dict[str, Any]:
    """Ops of which an override may call one alone."""
    return {name: op}


def test_gradients_of_parameters_are_not_computed() -> None:
    x, row = torch.randn(8, 6), torch.ones(8, 1)
    by_input = lambda *args: args[0].clone()  # noqa: E731
    mask = [True, False, False]
    layer = normalization.native_layer_norm_backward(
        x, x, [6], row, row, None, None, mask, ops=_only("layer_norm_grad_input", by_input)
    )
    group = normalization.native_group_norm_backward(
        x, x, row, row, None, 8, 6, 1, 1, mask, ops=_only("group_norm_grad_input", by_input)
    )
    for grads in (layer, group):
        assert same_bits(grads[0], x)
        assert grads[1:] == (None, None)
