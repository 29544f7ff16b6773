# SPDX-License-Identifier: MIT
"""Where +0 meets -0, and numbers meet NaN: what docs/arithmetic.md says, in every layout and setting."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import product
from typing import Any

import pytest
import torch

import repdl
import zero_calls
from repdl import _core
from support import CAPABILITIES, same_bits

INF, NAN = math.inf, math.nan
NUMBERS = (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-40, -1e-40, 0.5)
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


# What docs/arithmetic.md says, of Python's numbers.


def maximum(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == y:
        return y if math.copysign(1, x) < 0 else x
    return max(x, y)


def minimum(x: float, y: float) -> float:
    return -maximum(-x, -y)


def fmax(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else maximum(x, y)


def fmin(x: float, y: float) -> float:
    return -fmax(-x, -y)


def clamp(x: float, low: float | None, high: float | None) -> float:
    if low is not None and not math.isnan(x) and not x >= low:
        x = low
    if high is not None and not math.isnan(x) and not x <= high:
        x = high
    return x


def pairs(dtype: torch.dtype, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Every number with every other, so often that they come to lie everywhere in vectors and behind them."""
    values = list(product(NUMBERS, repeat=2)) * (size // 100 + 1)
    x, y = torch.tensor(values[:size], dtype=torch.float64).to(dtype).t().contiguous()
    return x, y


def mapped(f: Callable[..., float], *operands: torch.Tensor) -> torch.Tensor:
    rows = zip(*(t.tolist() for t in operands), strict=True)
    return torch.tensor([f(*row) for row in rows], dtype=operands[0].dtype)


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("f", [maximum, minimum, fmax, fmin], ids=lambda f: f.__name__)
def test_one_of_two(f: Callable[..., float], dtype: torch.dtype) -> None:
    of_torch = getattr(torch, f.__name__)
    for size in (1, 7, 307):
        x, y = pairs(dtype, size)
        expected = mapped(f, x, y)
        assert same_bits(of_torch(x, y), expected)
        assert same_bits(of_torch(x, y, out=torch.empty_like(x)), expected)
        if f in (maximum, minimum):
            assert same_bits(getattr(torch, f"_foreach_{f.__name__}")([x], [y])[0], expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_clamp_by_tensors(dtype: torch.dtype) -> None:
    x, y = pairs(dtype, 307)
    zero = torch.zeros((), dtype=dtype)
    assert same_bits(torch.clamp(x, y), mapped(lambda a, b: clamp(a, b, None), x, y))
    assert same_bits(torch.clamp(x, max=y), mapped(lambda a, b: clamp(a, None, b), x, y))
    assert same_bits(torch.clamp(x, zero, y), mapped(lambda a, b: clamp(a, 0.0, b), x, y))
    assert same_bits(torch.clamp(x, y, -zero), mapped(lambda a, b: clamp(a, b, -0.0), x, y))
    assert same_bits(x.clone().clamp_(y, -y), mapped(lambda a, b: clamp(a, b, -b), x, y))
    assert same_bits(torch.clamp_min(x, y), torch.clamp(x, y))
    assert same_bits(x.clone().clamp_max_(y), torch.clamp(x, max=y))
    assert same_bits(torch._foreach_clamp_min([x], [y])[0], torch.clamp(x, y))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_clamp_by_numbers(dtype: torch.dtype) -> None:
    x, _ = pairs(dtype, 307)
    for low, high in product((None, 0.0, -0.0, 0.5, NAN, 2), (None, 0.0, -0.0, -0.5, INF, 0)):
        if low is None and high is None:
            continue
        expected = mapped(lambda a, low=low, high=high: clamp(a, low, high), x)
        assert same_bits(torch.clamp(x, low, high), expected), (low, high)
        assert same_bits(x.clone().clamp_(low, high), expected)
        if high is None:
            assert same_bits(torch.clamp_min(x, low), expected)
            assert same_bits(x.clone().clamp_min_(low), expected)
        if low is None:
            assert same_bits(torch.clamp_max(x, high), expected)
    assert same_bits(torch.relu(x), mapped(lambda a: clamp(a, 0.0, None), x))
    assert same_bits(x.clone().relu_(), torch.relu(x))
    assert same_bits(torch.nn.functional.hardtanh(x, -0.0, 0.5), mapped(lambda a: clamp(a, -0.0, 0.5), x))
    assert same_bits(torch.nn.functional.relu6(x), mapped(lambda a: clamp(a, 0.0, 6.0), x))


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mood", zero_calls.MOODS)
def test_largest_and_smallest(mood: str, dtype: torch.dtype) -> None:
    for shape in ((1, 1), (3, 5), (17, 37), (2, 130), (130, 2)):
        x = zero_calls.drawn(mood, shape, dtype, 1)
        for f, name in ((maximum, "amax"), (minimum, "amin")):
            across = torch.tensor([reduce(f, row) for row in x.tolist()], dtype=dtype)
            down = torch.tensor([reduce(f, row) for row in x.t().tolist()], dtype=dtype)
            of_all = torch.tensor(reduce(f, x.reshape(-1).tolist()), dtype=dtype)
            of_torch = getattr(torch, name)
            assert same_bits(of_torch(x, 1), across) and same_bits(of_torch(x.t(), 0), across)
            assert same_bits(of_torch(x, 0), down) and same_bits(of_torch(x, -2, True), down[None])
            assert same_bits(of_torch(x), of_all) and same_bits(of_torch(x, (0, 1)), of_all)
            assert same_bits(getattr(torch, name[1:])(x), of_all)
            assert same_bits(getattr(torch.aminmax(x), name[1:]), of_all)
            assert same_bits(getattr(torch.aminmax(x, dim=0), name[1:]), down)
            assert same_bits(getattr(torch.aminmax(x, dim=1, keepdim=True), name[1:]), across[:, None])
            assert same_bits(torch._foreach_max([x])[0], torch.max(x))
            # By index, into one row.
            index = torch.zeros_like(x, dtype=torch.int64)
            start = torch.full((1, shape[1]), -0.0 if name == "amax" else 0.0, dtype=dtype)
            with_start = torch.tensor(
                [f(a, b) for a, b in zip(down.tolist(), start[0].tolist(), strict=True)], dtype=dtype
            )
            for source in (x, x.t().contiguous().t()):
                for found, wanted in (
                    (start.scatter_reduce(0, index, source, name), with_start),
                    (start.scatter_reduce(0, index, source, name, include_self=False), down),
                    (start.clone().scatter_reduce_(0, index[:, :1].expand(shape), source, name), with_start),
                    (start.index_reduce(0, index[:, 0], source, name), with_start),
                ):
                    assert same_bits(found[0], wanted)


def test_gradients() -> None:
    """Equal numbers share the gradient; a number that equals its bound gets it; NaN gets it."""
    x, y = (t.requires_grad_() for t in pairs(torch.float32, 307))
    of_maximum = torch.autograd.grad(torch.maximum(x, y).nan_to_num().sum(), (x, y))
    for a, b, to_a, to_b in zip(x.tolist(), y.tolist(), *map(torch.Tensor.tolist, of_maximum), strict=True):
        if not math.isinf(maximum(a, b)) and not math.isnan(maximum(a, b)):
            assert (to_a, to_b) == ((0.5, 0.5) if a == b else (1, 0) if a > b else (0, 1))
    rows = torch.tensor([[0.0, -0.0, -1.0], [2.0, 1.0, 2.0]], requires_grad=True)
    for largest in (rows.amax(1), rows.amax(1, True)):
        assert torch.autograd.grad(largest.sum(), rows)[0].tolist() == [[0.5, 0.5, 0], [0.5, 0, 0.5]]
    assert torch.autograd.grad(rows.max(1).values.sum(), rows)[0].tolist() == [[1, 0, 0], [1, 0, 0]]
    edge = torch.tensor([-0.0, 0.0, -1.0, 1.0, 2.0, NAN], requires_grad=True)
    assert torch.autograd.grad(edge.clamp(0.0, 1.0).sum(), edge)[0].tolist() == [1, 1, 0, 1, 0, 0]
    hard = torch.autograd.grad(torch.nn.functional.hardtanh(edge, 0.0, 1.0).sum(), edge)[0]
    assert hard.tolist() == [0, 0, 0, 0, 0, 1]


def test_integers_and_mixed_types() -> None:
    """They are torch's, and what it makes of types."""
    whole, x = torch.tensor([-3, 0, 5]), torch.tensor([0.5, -0.0, 7.0])
    assert torch.maximum(whole, whole.flip(0)).tolist() == [5, 0, 5]
    assert same_bits(torch.maximum(whole, x), torch.tensor([0.5, 0.0, 7.0]))
    assert same_bits(torch.clamp(whole, 0.5), torch.tensor([0.5, 0.5, 5.0]))
    assert torch.clamp(whole, 0, 1).tolist() == [0, 0, 1] and whole.amax() == 5 and whole.relu().tolist() == [0, 0, 5]
    assert torch.maximum(x.bfloat16(), x).dtype == torch.float32
    assert torch.maximum(x.bfloat16(), torch.tensor(1.0)).dtype == torch.bfloat16
    assert torch.maximum(x, torch.tensor(1.0, dtype=torch.float64)).dtype == torch.float32
    assert torch.clamp(x, torch.tensor(0), x.double()).dtype == torch.float64
    with pytest.raises(RuntimeError):
        torch.clamp(x)
    for call in (lambda: x[:0].amax(), lambda: x[:0].max(), lambda: x.reshape(3, 1)[:, :0].amin(1)):
        with pytest.raises((RuntimeError, IndexError)):
            call()
    assert x.reshape(3, 1)[:0].amin(1).shape == (0,)


def settings() -> list[dict[str, str]]:
    capabilities, targets = CAPABILITIES, _core.supported_targets()
    return [
        {"ATEN_CPU_CAPABILITY": capabilities[0], "REPDL_TARGET": targets[0], "OMP_NUM_THREADS": "1"},
        {"ATEN_CPU_CAPABILITY": capabilities[-1], "REPDL_TARGET": targets[-1], "OMP_NUM_THREADS": "2"},
    ]


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    processes = [
        subprocess.Popen(
            [sys.executable, zero_calls.__file__],
            env=os.environ | setting | {"OMP_WAIT_POLICY": "passive"},
            stdout=subprocess.PIPE,
        )
        for setting in settings()
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert not any(process.returncode for process in processes)
    return [json.loads(output) for output in outputs]


def test_layouts_parts_and_threads(runs: list[dict[str, Any]]) -> None:
    assert [run["different"] for run in runs] == [{}, {}]


def test_instruction_sets(runs: list[dict[str, Any]]) -> None:
    first, second = (run["digests"] for run in runs)
    assert len(first) > 1000
    assert {call for call in first if first[call] != second[call]} == set()


def test_calls_that_raise(runs: list[dict[str, Any]]) -> None:
    assert [run["failed"] for run in runs] == [{}, {}]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_nan_counts_as_positive(dtype: torch.dtype) -> None:
    """Which sign it has is another in another lane, and on another CPU."""
    nan = torch.full((70, 2), NAN)
    with repdl.reproducible():
        for x in (nan.to(dtype), (-nan).to(dtype), nan[:, 0].to(dtype), (nan - nan).to(dtype)[:3], nan.to(dtype).t()):
            ones = torch.ones_like(x)
            assert not x.signbit().any()
            assert torch.equal(torch.copysign(ones, x), ones)
            assert torch.equal(ones.clone().copysign_(x), ones)
            assert torch.equal(torch.copysign(-ones, -NAN), ones)
        assert torch.tensor([-0.0, 0.0, -INF, NAN, -1.0], dtype=dtype).signbit().tolist() == [1, 0, 1, 0, 1]
