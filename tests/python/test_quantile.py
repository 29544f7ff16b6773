# SPDX-License-Identifier: MIT
"""Quantiles: ranks are taken in float64 with every version of torch, and all else is torch's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from support import same_bits

WAYS = ("linear", "lower", "higher", "midpoint", "nearest")
FUNCTIONS = (torch.quantile, torch.nanquantile)


def by_hand(numbers: list[float], q: float, way: str, dtype: Any) -> Any:
    """From the definition, for numbers in order. The lerp starts from the nearer end."""
    rank = float(dtype(q)) * (len(numbers) - 1)
    if way in ("lower", "higher", "nearest"):
        return dtype(numbers[int({"lower": np.floor, "higher": np.ceil, "nearest": np.round}[way](rank))])
    below = int(rank)
    a, b = dtype(numbers[below]), dtype(numbers[int(np.ceil(rank))])
    weight = dtype(0.5 if way == "midpoint" else rank - below)
    return a + weight * (b - a) if weight < 0.5 else b - (b - a) * (dtype(1) - weight)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 90, 10_007])
def test_the_rank_is_taken_in_float64(count: int, way: str) -> None:
    for dtype, numpy in ((torch.float32, np.float32), (torch.float64, np.float64)):
        x = (torch.arange(count).mul(7919).remainder(10_007).to(dtype) - 4_000) / 3
        ordered = x.sort().values.tolist()
        qs = [0.0, 0.3, 0.5, 0.77, 0.999, 1.0]
        expected = torch.tensor([by_hand(ordered, q, way, numpy) for q in qs], dtype=dtype)
        with repdl.reproducible():
            assert same_bits(torch.quantile(x, torch.tensor(qs, dtype=dtype), interpolation=way), expected)
            twice = torch.quantile(x.expand(2, -1).mT, 0.3, 0, interpolation=way)
            assert same_bits(twice, expected[1].expand(2))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shapes_and_nan_are_those_of_torch(function: Callable[..., Any]) -> None:
    calls: list[tuple[Any, ...]] = []
    for shape, dtype in (
        ((5,), torch.float32),
        ((3, 4, 2), torch.float32),
        ((), torch.float32),
        ((3, 2), torch.float64),
    ):
        x = torch.arange(torch.Size(shape).numel(), dtype=dtype).mul(37).remainder(11).reshape(shape)
        with_nan = torch.where(x == x.max(), torch.nan, x)
        qs = (0.25, torch.tensor(0.5, dtype=dtype), torch.tensor([0.0, 0.75], dtype=dtype))
        calls += itertools.product((x, with_nan), qs, (None, 0, -1), (False, True))
    stock = [function(*call) for call in calls]
    with repdl.reproducible():
        ours = [function(*call) for call in calls]
        written = [function(*call, out=call[0].new_empty(0)) for call in calls]
    for a, b, c in zip(stock, ours, written):
        assert a.shape == b.shape == c.shape and a.stride() == b.stride()
        assert torch.allclose(a, b, equal_nan=True)
        assert torch.equal(b.nan_to_num(), c.nan_to_num())


def test_gradients_go_to_the_neighbours_and_to_q() -> None:
    x = torch.tensor([3.0, 1.0, 2.0, 5.0], requires_grad=True)
    q = torch.tensor(0.5, requires_grad=True)
    with repdl.reproducible():
        to_x, to_q = torch.autograd.grad(x.quantile(q), (x, q))
    assert to_x.tolist() == [0.5, 0.0, 0.5, 0.0]
    assert to_q.item() == 3.0  # (3 - 2) * (4 - 1)


REFUSED: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "no numbers": lambda f: f(torch.empty(0), 0.5),
    "whole numbers": lambda f: f(torch.arange(3), 0.5),
    "bfloat16": lambda f: f(torch.ones(3, dtype=torch.bfloat16), 0.5),
    "q above one": lambda f: f(torch.ones(3), 1.5),
    "q below zero": lambda f: f(torch.ones(3), torch.tensor([0.5, -0.1])),
    "q is NaN": lambda f: f(torch.ones(3), torch.tensor([torch.nan])),
    "q of another type": lambda f: f(torch.ones(3), torch.tensor(0.5, dtype=torch.float64)),
    "q of two dimensions": lambda f: f(torch.ones(3), torch.full((1, 1), 0.5)),
    "no such dimension": lambda f: f(torch.ones(3), 0.5, 1),
    "no such way": lambda f: f(torch.ones(3), 0.5, interpolation="cubic"),
    "out of another type": lambda f: f(torch.ones(3), 0.5, out=torch.empty(0, dtype=torch.float64)),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_refuses(name: str, function: Callable[..., Any]) -> None:
    with pytest.raises((RuntimeError, IndexError)) as stock:
        REFUSED[name](function)
    with repdl.reproducible(), pytest.raises(type(stock.value)) as ours:
        REFUSED[name](function)
    assert str(ours.value).partition("\n")[0] == str(stock.value).partition("\n")[0]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_place_that_all_entries_share_is_looked_at(function: Any) -> None:
    x, outside = torch.arange(5.0), torch.tensor([0.5, 1.5])
    with repdl.reproducible(), pytest.raises(RuntimeError, match="must be in the range"):
        torch.vmap(lambda row: function(row, outside))(x.expand(3, 5))
