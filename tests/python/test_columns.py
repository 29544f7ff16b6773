# SPDX-License-Identifier: MIT
"""Rows that lie across memory have the bits of the same rows side by side: in a batch, alone, and with any threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import repdl
from repdl import ops

SHAPES = ((1, 2, 2), (3, 5, 17), (2, 64, 16), (2, 65, 33), (5, 130, 3), (1, 8200, 3), (2, 21, 1000), (3, 20, 1030))
HOSTILE = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-40, -1e-40, 88.0, -104.0, 3e38, -3e38, 1.0)


def drawn(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """A third of the rows are normal, a third have zeros and ties only, and the others have all hostile numbers."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator, dtype=dtype) * 3
    ties = torch.tensor((0.0, -0.0, 1.0), dtype=dtype)[torch.randint(0, 3, shape, generator=generator)]
    hostile = torch.tensor(HOSTILE, dtype=dtype)[torch.randint(0, len(HOSTILE), shape, generator=generator)]
    hostile = torch.where(torch.rand(shape, generator=generator) < 0.1, hostile, x)
    kind = torch.randint(0, 3, (shape[0], 1, shape[2]), generator=generator)
    return torch.where(kind == 0, x, torch.where(kind == 1, ties, hostile))


def bits(x: torch.Tensor) -> torch.Tensor:
    """With one NaN for all."""
    x = torch.where(x.isnan(), torch.full((), float("nan"), dtype=x.dtype), x).contiguous()
    return x.view(torch.int64 if x.dtype == torch.float64 else torch.int32)


@pytest.fixture(params=(1, 2, 3, 7))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = repdl.get_num_threads()
    repdl.set_num_threads(request.param)
    yield request.param
    repdl.set_num_threads(before)


SOFTMAX: dict[str, tuple[int, Callable[..., Any]]] = {
    "softmax": (1, ops.softmax),
    "log_softmax": (1, ops.log_softmax),
    "softmax_grad": (2, ops.softmax_grad),
    "log_softmax_grad": (2, ops.log_softmax_grad),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", SOFTMAX)
@pytest.mark.parametrize("order", ["blocked", "sequential"])
def test_softmax(name: str, order: str, dtype: torch.dtype, threads: int) -> None:
    count, op = SOFTMAX[name]
    for shape in SHAPES if threads == 1 else SHAPES[-1:]:
        across = [drawn(shape, dtype, seed) for seed in range(count)]
        rows = [x.mT.contiguous() for x in across]
        expected = bits(op(*rows, dim=2, order=order).mT)
        assert torch.equal(bits(op(*across, dim=1, order=order)), expected)
        spread = [x.new_zeros(*shape, 2)[..., 0].copy_(x) for x in across]
        assert torch.equal(bits(op(*spread, dim=1, order=order)), expected)
        alone = op(*(x[:1, :, 1:2] for x in across), dim=1, order=order)
        assert torch.equal(bits(alone), expected[:1, :, 1:2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", ["classes", "weighted", "smoothed", "probabilities"])
def test_cross_entropy(kind: str, dtype: torch.dtype, threads: int) -> None:
    for shape in SHAPES if threads == 1 else SHAPES[-1:]:
        x = drawn(shape, dtype, 1)
        generator = torch.Generator().manual_seed(2)
        settings: dict[str, Any] = {"reduction": "none"}
        if kind == "probabilities":
            target = torch.rand(shape, generator=generator, dtype=dtype)
            target_of_rows = target.mT.reshape(-1, shape[1])
        else:
            target = torch.randint(0, shape[1], (shape[0], shape[2]), generator=generator)
            target_of_rows = target.reshape(-1)
            settings["ignore_index"] = int(target[0, 0])
        if kind != "classes":
            settings["weight"] = torch.rand(shape[1], generator=generator, dtype=dtype)
        if kind in ("smoothed", "probabilities"):
            settings["label_smoothing"] = 0.1
        grad = torch.randn((shape[0], shape[2]), generator=generator, dtype=dtype)
        rows = x.mT.reshape(-1, shape[1])
        losses = ops.cross_entropy(rows, target_of_rows, **settings)
        assert torch.equal(bits(ops.cross_entropy(x, target, **settings)), bits(losses.reshape(grad.shape)))
        slopes = ops.cross_entropy_grad(grad.reshape(-1), rows, target_of_rows, **settings)
        expected = slopes.reshape(shape[0], shape[2], shape[1]).mT
        assert torch.equal(bits(ops.cross_entropy_grad(grad, x, target, **settings)), bits(expected))
