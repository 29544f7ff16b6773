# SPDX-License-Identifier: MIT
"""Tangents that torch computes with ops of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # from the first import of torch's jvp


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).float()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_tangents_of_glu(dim: int) -> None:
    x, dx = _numbers(300, 4, 500), _numbers(300, 4, 500).flip(0)

    def tangent(x: torch.Tensor, dx: torch.Tensor) -> torch.Tensor:
        (found,) = torch.func.jvp(lambda x: F.glu(x, dim), (x,), (dx,))[1:]
        return found

    wide = tangent(x.double(), dx.double())
    with repdl.reproducible():
        repdl.set_num_threads(1)
        expected = tangent(x, dx)
        assert torch.allclose(expected.double(), wide, rtol=1e-6, atol=1e-6)
        for threads in (2, 7):
            repdl.set_num_threads(threads)
            assert same_bits(tangent(x, dx), expected)
        turned = x.transpose(0, 2).contiguous().transpose(0, 2)
        assert same_bits(tangent(turned, dx), expected)
        if dim != 0:
            assert same_bits(tangent(x[7:8], dx[7:8]), expected[7:8])


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_second_derivatives_of_glu() -> None:
    x = _numbers(12)

    def second(x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.hessian(lambda x: F.glu(x).sin().sum())(x)
        return found

    wide = second(x.double())
    with repdl.reproducible():
        assert torch.allclose(second(x).double(), wide, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("loss", [F.mse_loss, F.huber_loss, F.smooth_l1_loss])
def test_second_derivatives_of_losses(loss: Callable[..., torch.Tensor], reduction: str) -> None:
    """Of some gradients torch has a tangent for a batch alone."""
    x, target = _numbers(12), _numbers(2, 12)[1]

    def second(x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.hessian(lambda x: loss(x.sin(), target.to(x.dtype), reduction=reduction))(x)
        return found

    wide = second(x.double())
    with repdl.reproducible():
        found = second(x)
        assert torch.allclose(found.double(), wide, rtol=1e-5, atol=1e-6)
        assert same_bits(torch.func.vmap(second)(torch.stack([x, target]))[0], found)
