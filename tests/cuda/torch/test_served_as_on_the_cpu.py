# SPDX-License-Identifier: MIT
"""What is torch's own on the CPU and ours on a device: hostile numbers, single ones, forms in place, gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from support_cuda import bits, to_cuda
from torch.nn import functional as F

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
INF = float("inf")
SPECIAL = torch.tensor(
    [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        2.5,
        -2.5,
        3,
        -3,
        6,
        7,
        1e-45,
        1e38,
        -1e38,
        INF,
        -INF,
        float("nan"),
        0.1,
        -7.3,
        123456.7,
    ]
)
PAIRS = [t.reshape(-1).contiguous() for t in torch.meshgrid(SPECIAL, SPECIAL, indexing="ij")]
INDEX = torch.randint(0, 5, (30, 7), generator=torch.Generator().manual_seed(1))


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


def whole(*shape: int) -> torch.Tensor:
    return torch.randint(1, 100, shape, generator=torch.Generator().manual_seed(3))


def same(call: Callable[..., Any], *args: Any) -> None:
    expected = call(*(a.clone() if isinstance(a, torch.Tensor) else a for a in args))
    assert bits(call(*map(to_cuda, args))) == bits(expected)


def with_gradient(call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> Any:
    x = x.detach().requires_grad_()
    y = call(x)
    return y.detach(), torch.autograd.grad(y.sum(), x)


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one_number(dtype: torch.dtype) -> None:
    x = SPECIAL.to(dtype)
    for function in (F.hardswish, F.hardsigmoid):
        for y in (x, x[3], x.expand(3, -1).t()):
            same(function, y)
            same(partial(function, inplace=True), y.contiguous())
            same(partial(with_gradient, function), y)
    for function in (torch.angle, torch.round, partial(torch.round, decimals=2)):
        same(function, x)
    same(lambda x: torch.max(x.reshape(3, 7), 1, out=(x.new_empty(3), x.new_empty(3, dtype=torch.int64))), x)


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["floor", "trunc", None])
def test_quotients(dtype: torch.dtype, mode: str | None) -> None:
    x, y = (t.to(dtype) for t in PAIRS)
    div = partial(torch.div, rounding_mode=mode)
    for other in (y, y[6], y[6:7], torch.tensor(0.3), torch.tensor(257), 0.3, -7, INF, 0.0, whole(len(x))):
        same(div, x, other)
        same(div, x[19], other)
    same(lambda x, y: x.div_(y, rounding_mode=mode), x, y)
    same(lambda y: 7 // y, y)
    same(torch.mul, x, torch.tensor(0.3))


@pytest.mark.usefixtures("enabled")
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_reductions_by_index(dtype: torch.dtype, how: str, include_self: bool) -> None:
    self, src = random(6, 8).to(dtype), random(31, 9).to(dtype)
    self[0], src[3], src[4], src[9, 1] = -0.0, 0.0, -0.0, float("nan")
    reduce = partial(torch.scatter_reduce, reduce=how, include_self=include_self)
    same(reduce, self, 0, INDEX, src)
    same(reduce, self.t(), 1, INDEX.t(), src.t())
    same(reduce, self, 0, INDEX[:0], src)
    same(reduce, self[0, 0], 0, torch.tensor(0), src[0, 0])
    if how != "sum":
        same(
            lambda x, i, y: x.index_reduce_(-1, i, y, how, include_self=include_self),
            self, INDEX[:, 0].contiguous(), random(6, 30).to(dtype),
        )  # fmt: skip
    same(torch.scatter_add, self[0, 0], 0, torch.zeros(7, dtype=torch.int64), src[0, :7])
    same(partial(torch.index_add, alpha=0.3), self[0, 0], 0, torch.tensor(0), src[0, 0])
    for name in ("add", "multiply"):
        same(lambda x, i, y, name=name: x.scatter_(0, i, y, reduce=name), self, INDEX, src)
        same(lambda x, i, name=name: x.scatter(0, i, 0.3, reduce=name), self, INDEX)


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: torch.dtype) -> None:
    a, b, c = whole(7, 33).to(dtype), whole(33, 5).to(dtype), whole(5).to(dtype)
    same(torch.mm, a, b)
    same(torch.mm, a[:, :0], b[:0])
    same(torch.bmm, a.expand(3, 7, 33), b.expand(3, 33, 5))
    same(partial(torch.addmm, beta=2, alpha=3), c, a, b)
    same(F.linear, a, b.t(), c)
    same(torch.mv, a, b[:, 0])
    same(torch.dot, b[:, 0], b[:, 1])
    same(partial(torch.index_add, alpha=3), a, 0, INDEX[0], b[:7, :1].expand(7, 33))
    same(torch.relu, a)
    same(lambda x: torch.bincount(x.reshape(-1), minlength=120), a)
    for call in (torch.gcd, torch.lcm, torch.fmax, torch.fmin, torch.floor_divide):
        same(call, a[:, :5], b[:7])


@pytest.mark.usefixtures("enabled")
def test_products_of_integers_larger_than_a_tile() -> None:
    a, b = whole(3, 40, 70) << 58, whole(3, 70, 35)
    same(torch.bmm, a, b)
    same(torch.bmm, a.to(torch.uint8).transpose(1, 2).contiguous().mT, b.to(torch.uint8).mT.contiguous().mT)


@pytest.mark.usefixtures("enabled")
def test_unique_slices() -> None:
    for x in (random(2, 3, 40).sign(), (random(2, 40).sign() - 1).neg(), whole(2, 40) % 2 == 0, whole(40)):
        same(lambda x: torch.unique(x, dim=-1, return_inverse=True, return_counts=True), x)


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_equal_neighbours(dim: int | None, enabled: None) -> None:
    line = torch.tensor([0.0, -0.0, float("nan"), float("nan"), 1, 1, -0.0, 0.0, 2])
    find = partial(torch.unique_consecutive, return_inverse=True, return_counts=True, dim=dim)
    for x in (line.reshape(3, 3), torch.stack([line, line]), torch.stack([line, line], 1), torch.ones(2, 2).bool()):
        same(find, x)
    if dim is None:
        same(find, torch.empty(0, 0))


def test_signs_of_float16(enabled: None) -> None:
    x, y = (t.half() for t in PAIRS)
    for turned in (y, -y):
        same(torch.signbit, turned)
        same(torch.copysign, x, turned)
        same(lambda x: torch.copysign(x, -1.0), turned)
