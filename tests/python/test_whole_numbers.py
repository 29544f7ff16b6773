# SPDX-License-Identifier: MIT
"""Calls of integers alone, which torch's own kernels do, and numbers beside tensors of them."""

from __future__ import annotations

import pytest
import torch

import repdl

INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_sums_products_and_remainders_are_torchs(dtype: torch.dtype) -> None:
    x = torch.arange(1, 100).to(dtype)

    def all_of() -> list[torch.Tensor]:
        numbers = (0, 1, -1, 3, 100, 1000, 2**40)
        return [y for n in numbers for y in (x + n, x * n, n - x, x.bitwise_xor(n), torch.remainder(x, n % 100 or 7))]

    stock = all_of()
    with repdl.reproducible():
        first, again = all_of(), all_of()
    for ours in (first, again):
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(ours, stock, strict=True))


def test_a_truth_value_and_a_fraction_are_no_whole_numbers() -> None:
    x = torch.arange(4)
    with repdl.reproducible():
        assert (x + 1).dtype == (x + True).dtype == torch.int64
        assert (x + 1.0).dtype == torch.float32 and (x * (1 + 0j)).dtype == torch.complex64
        assert (torch.tensor([True]) + 1).dtype == torch.int64 and (torch.tensor([True]) + True).dtype == torch.bool


def _calls(x: torch.Tensor) -> list[torch.Tensor]:
    wide = x.t()
    return [
        *(
            x + x,
            x - x,
            x * 3,
            7 - x,
            x.abs(),
            x.neg(),
            x.sum(),
            x.sum(0),
            x.prod(1),
            x.max(),
            x.cumsum(1),
            x.cumprod(0),
        ),
        *(x.clamp(2, 5), x.clamp_min(3), torch.maximum(x, x.flip(0)), torch.fmod(x, 3), torch.remainder(x, 3), x @ x),
        *(torch.add(x, x, alpha=2), torch.rsub(x, x, alpha=3), x.clone().add_(x, alpha=2), x.clone().mul_(5)),
        torch.add(x, x, out=torch.empty(0, dtype=x.dtype)),
        torch.cumsum(x, 0, out=torch.empty(0, dtype=x.dtype)),
        torch.sum(x, 0, out=torch.empty(0, dtype=torch.int64)),
        # What makes the result another is left to the kernels of floating-point numbers.
        *(x.sum(dtype=torch.float32), x.cumsum(0, dtype=torch.float64), x.float().sum(), x * 0.5, x / 2, 0.5 - x),
        *(x.clamp(max=2.5), torch.fmod(x, 0.75), x + torch.tensor(0.25), torch.sum(x, 0, dtype=torch.bfloat16)),
        torch.add(x, x, out=torch.empty(0)),
        *(wide + x, wide.abs(), wide.clamp(0, 3), wide.cumsum(0)),
        *(torch.arange(5), torch.arange(2, 30, 3), torch.arange(0, 1, 0.25)),
    ]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_calls_of_integers_are_torchs(dtype: torch.dtype) -> None:
    x = torch.arange(16).reshape(4, 4).to(dtype)
    stock = _calls(x)
    with repdl.reproducible():
        ours = _calls(x)
    for a, b in zip(ours, stock, strict=True):
        assert a.dtype == b.dtype
        assert a.stride() == b.stride()
        torch.testing.assert_close(a, b)


def test_refused_as_torch_refuses_them() -> None:
    x = torch.arange(4)
    calls = [
        lambda: torch.add(x, x, alpha=0.5),
        lambda: x.mean(),
        lambda: torch.softmax(x, 0),
        lambda: x.add_(0.5),
        lambda: torch.remainder(x, 0),
        lambda: torch.sub(x > 1, x > 1),
        lambda: torch.cumsum(x, 2),
    ]
    for call in calls:
        with pytest.raises(Exception) as stock:  # noqa: PT011 (its type is what is asked for)
            call()
        with repdl.reproducible(), pytest.raises(stock.type):
            call()


def test_results_may_go_over_operands() -> None:
    """torch's own kernels of sums and products read what they have written by then, and on threads in any order."""
    y = torch.arange(360_000).remainder(7).reshape(600, 600)
    writes = [
        lambda x: torch.mm(x, x, out=x),
        lambda x: torch.sum(x, 1, out=x[300]),
        lambda x: torch.sum(x, 0, out=x[:, 3]),
        lambda x: torch.mv(x, x[5], out=x[5]),
        lambda x: torch.cumsum(x, 0, out=x),
        lambda x: torch.cumsum(x[:-1], 0, out=x[1:]),
        lambda x: torch.cumprod(x.t(), 0, out=x),
        lambda x: torch.amax(x, 1, out=x[2]),
        lambda x: x.add_(x),
        lambda x: torch.mul(x, x, out=x),
    ]
    expected = [
        y @ y,
        y.sum(1),
        y.sum(0),
        y @ y[5],
        y.cumsum(0),
        y[:-1].cumsum(0),
        y.t().cumprod(0),
        y.amax(1),
        y + y,
        y * y,
    ]
    with repdl.reproducible():
        for write, result in zip(writes, expected, strict=True):
            assert torch.equal(write(y.clone()), result)


@pytest.mark.parametrize("mode", ["trunc", "floor", None])
def test_quotients_of_two_python_numbers_are_torchs(mode: str | None) -> None:
    numbers = (9, -9, 7.5, -1, 2)

    def all_of() -> list[torch.Tensor]:
        return [torch.div(a, b, rounding_mode=mode) for a in numbers for b in numbers]

    stock = all_of()
    with repdl.reproducible():
        ours = all_of()
    assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(ours, stock, strict=True))
