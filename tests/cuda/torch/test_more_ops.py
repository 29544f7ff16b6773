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

MODULES: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {
    "LSTM": lambda: (nn.LSTM(5, 7, num_layers=2, bidirectional=True), torch.randn(4, 3, 5)),
    "GRU": lambda: (nn.GRU(5, 7, batch_first=True), torch.randn(3, 4, 5)),
    "RNN": lambda: (nn.RNN(5, 7, nonlinearity="relu"), torch.randn(4, 3, 5)),
    "LSTMCell": lambda: (nn.LSTMCell(5, 7), torch.randn(3, 5)),
    "GRUCell": lambda: (nn.GRUCell(5, 7), torch.randn(3, 5)),
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
    "svd": lambda x: list(torch.linalg.svd(x[:, :4])),
    "svd of pairs": lambda x: [
        torch.view_as_real(torch.linalg.svd(torch.complex(x, x.mT))[0]),
        torch.linalg.svdvals(torch.complex(x, x.mT)),
    ],
    "eigh": lambda x: list(torch.linalg.eigh(x + x.mT)),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x + x.mT, UPLO="U"),
    "lstsq": lambda x: torch.linalg.lstsq(x[:, :4], x[:, 4:]).solution,
    "pinv": torch.linalg.pinv,
    "matrix_rank": torch.linalg.matrix_rank,
    "ldl_solve": lambda x: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(x + x.mT), x),
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


@pytest.mark.usefixtures("enabled")
def test_gradients_of_decompositions_have_the_bits_of_the_cpu() -> None:
    torch.manual_seed(3)
    x = torch.randn(5, 5, dtype=torch.float64)
    results = []
    for operand in (x.clone().requires_grad_(), to_cuda(x).requires_grad_()):
        values, vectors = torch.linalg.eigh(operand + operand.mT)
        u, s, vh = torch.linalg.svd(operand)
        (values.square().sum() + vectors.abs().sum() + (u * vh).sum() + s.sum()).backward()
        results.append(bits(operand.grad))
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


HOSTILE = torch.tensor([3.0, 0.0, -0.0, NAN, 1, INF, NAN, 3, -0.0, -INF, 1, 1])
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


def of_dtype(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return (x if dtype.is_floating_point else x.nan_to_num(9, 9, 0).abs()).to(dtype)


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique_numbers(dtype: torch.dtype) -> None:
    for x in (HOSTILE, HOSTILE.flip(0).reshape(3, 4), HOSTILE[:1], HOSTILE[:0], torch.cat([HOSTILE] * 90)):
        x = of_dtype(x, dtype)
        for inverse, counts in ((False, False), (True, False), (False, True), (True, True)):
            expected = torch.unique(x, return_inverse=inverse, return_counts=counts)
            assert bits(torch.unique(to_cuda(x), return_inverse=inverse, return_counts=counts)) == bits(expected)
        assert bits(list(torch._unique(to_cuda(x), True, True))) == bits(list(torch._unique(x, True, True)))


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(name: str, dtype: torch.dtype) -> None:
    of = getattr(torch, name)
    for x in (HOSTILE, HOSTILE.reshape(3, 4), HOSTILE.reshape(4, 3).t(), HOSTILE[:1], HOSTILE[:0], HOSTILE[0]):
        x = of_dtype(x, dtype)
        for dim in range(-x.dim(), x.dim()):
            assert bits(list(of(to_cuda(x), dim))) == bits(list(of(x, dim)))
    x = torch.randn(5, 7)
    moved, x = to_cuda(x).requires_grad_(), x.requires_grad_()
    for operand in (x, moved):
        of(operand, 1)[0].square().sum().backward()
    assert bits(moved.grad) == bits(x.grad)


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_last_of_several_writes_stays(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(5)
    for shape, of_index, dim in (
        ((6,), (50,), 0),
        ((4, 5), (9, 3), 0),
        ((4, 5), (2, 90), 1),
        ((3, 4, 2), (3, 40, 1), -2),
    ):
        x = of_dtype(torch.randn(shape, generator=generator) * 9, dtype)
        index = torch.randint(0, shape[dim], of_index, generator=generator)
        src = of_dtype(torch.randn([n + 1 for n in of_index], generator=generator) * 9, dtype)
        moved, places, terms = to_cuda(x), to_cuda(index), to_cuda(src)
        expected = x.scatter(dim, index, src)
        assert bits(moved.scatter(dim, places, terms)) == bits(expected)
        assert bits(torch.scatter(moved, dim, places, terms, out=torch.empty_like(moved))) == bits(expected)
        assert bits(moved.clone().scatter_(dim, places, terms)) == bits(expected)
        assert bits(moved.scatter(dim, places, 1)) == bits(x.scatter(dim, index, 1))
        rows, of_rows = index.reshape(-1)[:40], src.reshape(-1)[:40]
        if dim == 0 and len(shape) == 1:
            for operand, at, values in ((x, rows, of_rows), (moved, to_cuda(rows), to_cuda(of_rows))):
                operand[at] = values
            assert bits(moved) == bits(x)


@pytest.mark.usefixtures("enabled")
def test_writes_that_do_not_fit_are_refused() -> None:
    x = torch.zeros(3, 4)
    for index, src in (
        (torch.tensor([[0, 1]]), torch.ones(1, 1)),
        (torch.tensor([[0]]), torch.ones(1, 1, dtype=torch.float64)),
        (torch.tensor([0]), torch.ones(1)),
    ):
        with pytest.raises(RuntimeError):
            to_cuda(x).scatter_(0, to_cuda(index), to_cuda(src))


PACKED: dict[str, Callable[[], nn.RNNBase]] = {
    "GRU": lambda: nn.GRU(5, 7),
    "two layers of GRU": lambda: nn.GRU(5, 7, num_layers=2, bidirectional=True),
    "LSTM": lambda: nn.LSTM(5, 7, bidirectional=True),
    "LSTM without biases": lambda: nn.LSTM(5, 7, num_layers=2, bias=False),
    "RNN": lambda: nn.RNN(5, 7, bidirectional=True),
    "RNN of relu": lambda: nn.RNN(5, 7, nonlinearity="relu"),
}


IN_STEPS: dict[str, Callable[[], nn.RNNBase]] = {
    "projected LSTM": lambda: nn.LSTM(5, 7, proj_size=3),
    "two layers of projected LSTM": lambda: nn.LSTM(5, 7, num_layers=2, bidirectional=True, proj_size=3),
    "projected LSTM without biases": lambda: nn.LSTM(5, 7, bias=False, batch_first=True, proj_size=3),
    "LSTM of bfloat16": lambda: nn.LSTM(5, 7, num_layers=2, bidirectional=True, dtype=torch.bfloat16),
    "projected LSTM of float16": lambda: nn.LSTM(5, 7, proj_size=3, dtype=torch.float16),
    "GRU of bfloat16": lambda: nn.GRU(5, 7, bidirectional=True, dtype=torch.bfloat16),
    "GRU of float16": lambda: nn.GRU(5, 7, num_layers=2, batch_first=True, dtype=torch.float16),
    "RNN of bfloat16": lambda: nn.RNN(5, 7, dtype=torch.bfloat16),
    "RNN of relu of float16": lambda: nn.RNN(5, 7, bidirectional=True, nonlinearity="relu", dtype=torch.float16),
}


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("is_packed", [False, True], ids=["whole", "packed"])
@pytest.mark.parametrize("name", IN_STEPS)
def test_recurrent_steps_have_the_bits_of_the_cpu(name: str, is_packed: bool) -> None:
    """On the CPU they are torch's; those that it takes on a device have other bits."""
    torch.manual_seed(4)
    module = IN_STEPS[name]()
    x = torch.randn(3, 4, 5, dtype=next(module.parameters()).dtype)
    packed = nn.utils.rnn.pack_sequence([x[0], x[1, :2], x[2, :1]])
    results = []
    for of_place, of_host in ((module, torch.clone), (on_cuda(module), to_cuda)):
        data = of_host(packed.data if is_packed else x).requires_grad_()
        output, last = of_place(packed._replace(data=data) if is_packed else data)
        output, last = output.data if is_packed else output, last if isinstance(last, tuple) else (last,)
        (output.square().sum() + sum((2 * state).sum() for state in last)).backward()
        results.append(bits([output, *last, data.grad, *(p.grad for p in of_place.parameters())]))
    assert results[0] == results[1]


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("lengths", [[4, 2], [3, 3, 1], [1], [5, 4, 4, 2, 1, 1]], ids=str)
def test_packed_sequences_have_the_bits_of_the_cpu(name: str, lengths: list[int]) -> None:
    torch.manual_seed(4)
    module = PACKED[name]()
    packed = nn.utils.rnn.pack_sequence([torch.randn(n, 5) for n in lengths])
    results = []
    for of_place, data in ((module, packed.data.clone()), (on_cuda(module), to_cuda(packed.data))):
        data.requires_grad_()
        output, last = of_place(packed._replace(data=data))
        last = last if isinstance(last, tuple) else (last,)
        (output.data.square().sum() + sum(state.sum() for state in last)).backward()
        results.append(bits([output.data, *last, data.grad, *(p.grad for p in of_place.parameters())]))
    assert results[0] == results[1]


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_activations_in_pieces_have_the_bits_of_the_cpu(dtype: torch.dtype) -> None:
    hostile = torch.cat([HOSTILE, torch.tensor([-3.0, 3.0, 2.9999998, -2.9999998, 1e-40]), torch.randn(99) * 4])
    x = hostile.to(dtype).reshape(4, 29).T
    weight = torch.randn(4).to(dtype)
    results = []
    for operand, slope in ((x, weight), (to_cuda(x), to_cuda(weight))):
        found = []
        for function in (F.hardswish, F.hardsigmoid, lambda a, w=slope: F.prelu(a, w)):
            leaf = operand.detach().requires_grad_()
            result = function(leaf)
            result.backward(operand.detach())
            found += [result.detach(), leaf.grad]
        found += [F.hardswish(operand.clone(), inplace=True), F.hardsigmoid(operand.clone(), inplace=True)]
        results.append(bits(found))
    assert results[0] == results[1]
