# SPDX-License-Identifier: MIT
"""Modules and calls beyond the training steps: on the device they give the bits of the CPU, or raise by name."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support_cuda import bits, to_cuda
from torch import nn
from torch.nn import functional as F

from repdl.interception import NotReproducibleError

MODULES: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {
    "LSTM": lambda: (nn.LSTM(5, 7, num_layers=2, bidirectional=True), torch.randn(4, 3, 5)),
    "GRU": lambda: (nn.GRU(5, 7, batch_first=True), torch.randn(3, 4, 5)),
    "RNN": lambda: (nn.RNN(5, 7, nonlinearity="relu"), torch.randn(4, 3, 5)),
    "BatchNorm1d": lambda: (nn.BatchNorm1d(5), torch.randn(8, 5)),
}


def on_cuda(module: nn.Module) -> nn.Module:
    moved = copy.deepcopy(module)
    for part in moved.modules():
        for name, parameter in part._parameters.items():
            part._parameters[name] = None if parameter is None else nn.Parameter(to_cuda(parameter.data))
        for name, buffer in part._buffers.items():
            part._buffers[name] = None if buffer is None else to_cuda(buffer)
        if isinstance(part, nn.RNNBase):
            part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]
    return moved


def trained(module: nn.Module, x: torch.Tensor) -> list[Any]:
    """The output, the gradients and the buffers."""
    x = x.clone().requires_grad_()
    y = module(x)
    y = y[0] if isinstance(y, tuple) else y
    y.square().sum().backward()
    return [y, x.grad, *(p.grad for p in module.parameters()), *module.buffers()]


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("name", MODULES)
def test_modules_have_the_bits_of_the_cpu(name: str) -> None:
    torch.manual_seed(0)
    module, x = MODULES[name]()
    moved, moved_x = on_cuda(module), to_cuda(x)
    assert bits(trained(moved, moved_x)) == bits(trained(module, x))


@pytest.mark.usefixtures("enabled")
def test_recurrent_steps_are_refused() -> None:
    """torch takes others on a device, with other bits."""
    packed = nn.utils.rnn.pack_sequence([torch.randn(4, 5), torch.randn(2, 5)])
    packed = packed._replace(data=to_cuda(packed.data))
    with pytest.raises(NotReproducibleError, match="device"):
        on_cuda(nn.GRU(5, 7))(packed)
    with pytest.raises(NotReproducibleError, match="device"):
        on_cuda(nn.LSTM(5, 7, proj_size=3))(to_cuda(torch.randn(4, 3, 5)))


CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "rfft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x)),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mT + 3 * torch.eye(6, device=x.device)),
    "solve": lambda x: torch.linalg.solve(x, x.mT),
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "qr": lambda x: list(torch.linalg.qr(x)),
    "matrix_exp": torch.linalg.matrix_exp,
    "cdist": lambda x: torch.cdist(x, x.mT),
    "sort": lambda x: list(x.sort(1)),
    "topk": lambda x: list(x.topk(3)),
    "median": torch.median,
    "randperm": lambda x: torch.randperm(9, device=x.device),
    "multinomial": lambda x: torch.multinomial(x.abs(), 3),
    "accuracy": lambda x: (x.argmax(1) == torch.arange(6, device=x.device)).float().mean(),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(6, device=x.device)),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None], 2),
    "var": lambda x: x.var(1),
    "norm": torch.norm,
}


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_bits_of_the_cpu(name: str) -> None:
    torch.manual_seed(1)
    x = torch.randn(6, 6)
    results = []
    for operand in (x, to_cuda(x)):
        torch.manual_seed(2)
        results.append(bits(CALLS[name](operand)))
    assert results[0] == results[1]


NAN, INF = math.nan, math.inf
TIES = [[0.0, -0.0, 3, 3, 1], [NAN, 2, NAN, 5, 5], [-0.0, 0.0, -0.0, 0, 0], [-1, -1, 7, 7, -1], [INF, 1, -INF, -INF, 1]]


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8], ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_are_the_first_of_equals(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor(TIES)
    x = (x if dtype.is_floating_point else x.nan_to_num(9, 9, 0).abs()).to(dtype)
    moved = to_cuda(x)
    of, place = getattr(torch, name), getattr(torch, f"arg{name}")
    for dim in (0, 1, -1):
        for keepdim in (False, True):
            assert bits(list(of(moved, dim, keepdim))) == bits(list(of(x, dim, keepdim)))
            assert bits(place(moved, dim, keepdim)) == bits(place(x, dim, keepdim))
    for keepdim in (False, True):
        assert bits(place(moved, keepdim=keepdim)) == bits(place(x, keepdim=keepdim))
    assert bits(list(of(moved[1, 0], 0))) == bits(list(of(x[1, 0], 0)))
