# SPDX-License-Identifier: MIT
"""Training for quantised numbers under `repdl.enable()`: what stock torch gives, observers, gradients and errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import repdl
from repdl import _core, ops

X = torch.linspace(-3, 4, 30).reshape(5, 6)
SCALES = torch.linspace(0.1, 0.9, 6)
ZEROS = torch.tensor([0, 1, -3, 2, 5, 7])


def per_channel(zeros: torch.Tensor) -> Callable[..., torch.Tensor]:
    return lambda x: torch.fake_quantize_per_channel_affine(x, SCALES, zeros, 1, -8, 7)


CALLS: dict[str, tuple[Callable[..., torch.Tensor], list[torch.Tensor]]] = {
    "per tensor": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor([0.3]), torch.tensor([1]).int(), -8, 7),
        [X],
    ),
    "per channel": (per_channel(ZEROS.int()), [X]),
    "per channel, a zero in between": (per_channel(ZEROS + 0.3), [X]),
    "per channel of float16": (per_channel(ZEROS.int()), [X.half()]),
    "learned": (
        lambda x, s, z: torch._fake_quantize_learnable_per_tensor_affine(x, s, z, -8, 7, 0.7),
        [X, torch.tensor([0.3]), torch.tensor([-2.6])],
    ),
    "learned per channel": (
        lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 1, -8, 7, 0.7),
        [X, SCALES, ZEROS + 0.5],
    ),
}


def result_and_gradients(name: str) -> list[torch.Tensor]:
    function, operands = CALLS[name]
    leaves = [t.clone().requires_grad_() for t in operands]
    result = function(*leaves)
    return [result.detach(), *torch.autograd.grad(result.float().square().sum(), leaves)]


@pytest.mark.parametrize("name", CALLS)
def test_like_torch(name: str) -> None:
    stock = result_and_gradients(name)
    with repdl.reproducible():
        ours = result_and_gradients(name)
    for a, b in zip(ours, stock, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=1e-6)


def observed(x: torch.Tensor, first: int, last: int, per_row: bool, symmetric: bool) -> list[torch.Tensor]:
    shape = (0,) if per_row else (1,)
    low, high, scale = torch.full(shape, math.inf), torch.full(shape, -math.inf), torch.ones(shape)
    zero, on, found = torch.zeros(shape, dtype=torch.int32), torch.tensor([1]), []
    for step in (x, x * 1.5):
        leaf = step.clone().requires_grad_()
        numbers = (0.01, first, last, 0, per_row, symmetric)
        result = torch.fused_moving_avg_obs_fake_quant(leaf, on, on, low, high, scale, zero, *numbers)
        result.sum().backward()
        found += [result.detach(), leaf.grad, *(t.clone() for t in (low, high, scale, zero))]
    return found


@pytest.mark.parametrize("size", [0.0, 1e-38, 1e-6, 1.0, 1e9])
def test_observers_choose_the_steps_that_torch_chooses(size: float) -> None:
    ranges = ((0, 255), (-128, 127), (-8, 7))
    calls = [
        (x * size, first, last, per_row, symmetric)
        for x in (X, X.abs(), -X.abs(), X + 3.5)
        for (first, last), per_row, symmetric in itertools.product(ranges, (False, True), (False, True))
    ]
    stock = [observed(*call) for call in calls]
    with repdl.reproducible():
        ours = [observed(*call) for call in calls]
    for a, b in zip(itertools.chain(*ours), itertools.chain(*stock), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*deprecated", "ignore:.*reduce_range")
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_a_model_trains(backend: str) -> None:
    quantization = torch.ao.quantization
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2)).train()
    net = quantization.fuse_modules_qat(net, [["0", "1", "2"]])
    net.qconfig = quantization.get_default_qat_qconfig(backend)
    quantization.prepare_qat(net, inplace=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x, y = torch.randn(8, 1, 6, 6), torch.arange(8) % 2
    losses = []
    with repdl.reproducible():
        for _ in range(6):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.apply(quantization.disable_observer)
        assert losses[-1] < losses[0] and net(x).isfinite().all()
        net.apply(quantization.disable_fake_quant)
        assert net(x).isfinite().all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", _core.supported_targets())
def test_halves_and_their_neighbours(target: str, dtype: type[np.floating[Any]]) -> None:
    """Zeros keep their sign, and no addition of a half goes wrong, in the step before 1 or where halves end."""
    _core.set_target(target)
    most = 2.0 ** np.finfo(dtype).nmant
    halves = np.concatenate([np.arange(-9, 10) / 2, most / 2 + np.arange(-5, 6) / 2, most + np.arange(-5, 6)])
    halves = np.concatenate([halves, -halves]).astype(dtype)
    x = np.concatenate([halves, np.nextafter(halves, dtype(np.inf)), np.nextafter(halves, dtype(-np.inf))])
    one, zero = np.ones((), dtype), np.zeros((), dtype)
    bits = np.int32 if dtype == np.float32 else np.int64
    values, mask = ops.fake_quantize(x, one, zero, -(2**62), 2**62, True)
    assert np.array_equal(values.view(bits), np.rint(x + zero).view(bits)) and mask.all() and mask.dtype == np.bool_
    assert np.array_equal(ops.quantize(x, one, zero, -3, 4), np.clip(np.rint(x), -3, 4))
    assert np.array_equal(ops.fake_quantize(x, one, zero, -3, 4)[1], abs(np.rint(x) - 0.5) <= 3.5)


def test_gradients_go_to_numbers_between_the_ends() -> None:
    x, scale, zero = X.clone().requires_grad_(), SCALES.clone().requires_grad_(), ZEROS.float()
    output, mask = ops.fake_quantize(x, scale.detach(), zero, -8, 7)
    assert not mask.requires_grad and 0 < mask.sum() < mask.numel()
    output.backward(X)
    assert x.grad is not None and torch.equal(x.grad, X.masked_fill(~mask, 0.0))
    with pytest.raises(NotImplementedError, match=r"\[fake_quantize\] has no gradient by scale"):
        ops.fake_quantize(x, scale, zero, -8, 7)[0].sum().backward()


BAD: dict[str, Callable[[], Any]] = {
    "scales": lambda: torch.fake_quantize_per_channel_affine(X, SCALES[:5], ZEROS[:5].int(), 1, -8, 7),
    "zeros outside": lambda: torch.fake_quantize_per_channel_affine(X, SCALES, ZEROS.int() * 9, 1, -8, 7),
    "a wide zero": lambda: torch.fake_quantize_per_channel_affine(X, SCALES, ZEROS, 1, -8, 7),
    "an axis from the end": lambda: torch.fake_quantize_per_channel_affine(X, SCALES, ZEROS.int(), -1, -8, 7),
    "falling ends": lambda: torch.fake_quantize_per_channel_affine(X, SCALES, ZEROS.int(), 1, 7, -8),
    "falling ends, of tensors": lambda: torch.fake_quantize_per_tensor_affine(
        X, torch.tensor([0.3]), torch.tensor([1]).int(), 7, -8
    ),
    "rows along another axis": lambda: torch.fused_moving_avg_obs_fake_quant(
        X, *(torch.tensor([1]),) * 2, *(torch.ones(6),) * 3, ZEROS.int(), 0.01, -8, 7, 1, True
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_as_torch_does(name: str) -> None:
    with pytest.raises(RuntimeError) as stock:
        BAD[name]()
    with repdl.reproducible(), pytest.raises(RuntimeError) as ours:
        BAD[name]()
    assert not isinstance(ours.value, repdl.NotReproducibleError)
    assert type(ours.value) is type(stock.value)
