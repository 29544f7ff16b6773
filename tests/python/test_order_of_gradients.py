# SPDX-License-Identifier: MIT
"""Composites whose gradients C++ adds in an order that its compiler chooses: here in one that it cannot choose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl

CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.detach().flip(0)),
    "cosine_similarity of itself": lambda x: F.cosine_similarity(x, x),
    "diff": torch.diff,
    "diff twice, prepended": lambda x: torch.diff(x, 2, 0, prepend=x.detach()[:1]),
    "trapezoid": lambda x: torch.trapezoid(x, dx=0.3),
    "trapezoid of points": lambda x: torch.trapezoid(x, torch.arange(7.0).square(), dim=1),
    "gradient": torch.gradient,
    "gradient along one": lambda x: torch.gradient(x, spacing=0.3, dim=1),
    "gradient of points": lambda x: torch.gradient(x, spacing=[torch.arange(6.0) * 0.3, torch.arange(7.0).square()]),
    "gradient of second order": lambda x: torch.gradient(x, spacing=[0.3, 0.7], edge_order=2),
    "gradient of second order of points": lambda x: torch.gradient(
        x, spacing=(torch.arange(7.0).square(),), dim=1, edge_order=2
    ),
}


def operand() -> torch.Tensor:
    return torch.arange(42.0).mul(37).remainder(101).div(50).sub(1).reshape(6, 7).requires_grad_()


def outputs(result: Any) -> list[torch.Tensor]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def into_leaves(result: Any) -> set[str]:
    """Names of the nodes whose gradients are added in those of the leaves."""
    seen, todo, found = set(), [x.grad_fn for x in outputs(result)], defaultdict(set)
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for after, _ in node.next_functions:
            if after is not None:
                found[after.name()].add(node.name())
                todo.append(after)
    return found["torch::autograd::AccumulateGrad"] | found["struct torch::autograd::AccumulateGrad"]


@pytest.mark.parametrize("name", CALLS)
def test_gradients_meet_behind_a_view(name: str) -> None:
    stock = into_leaves(CALLS[name](operand()))
    with repdl.reproducible():
        ours = into_leaves(CALLS[name](operand()))
    assert ours == {"ViewBackward0"} | ({"SliceBackward0"} if "of points" in name and "gradient" in name else set())
    assert ours != stock


@pytest.mark.parametrize("name", CALLS)
def test_like_torch(name: str) -> None:
    def run() -> list[torch.Tensor]:
        x = operand()
        results = outputs(CALLS[name](x))
        (grad,) = torch.autograd.grad(results, x, [torch.cos(y.detach()) for y in results])
        return [*results, grad]

    stock = run()
    with repdl.reproducible():
        ours = run()
    for a, b in zip(ours, stock, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.gradient(x, dim=[0, 0]),
        lambda x: torch.gradient(x, spacing=[1.0], dim=[0, 1]),
        lambda x: torch.gradient(x, edge_order=3),
        lambda x: torch.gradient(x[:1]),
        lambda x: torch.gradient(x, dim=5),
        lambda x: torch.diff(x, -1),
        lambda x: torch.diff(x, prepend=x[0]),
        lambda x: torch.trapezoid(x, torch.arange(3.0)),
    ],
)
def test_errors_are_torchs(call: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises((RuntimeError, IndexError)) as stock:
        call(operand())
    with repdl.reproducible(), pytest.raises((RuntimeError, IndexError)) as ours:
        call(operand())
    assert str(ours.value) == str(stock.value)


def test_no_dimension() -> None:
    with repdl.reproducible():
        assert list(torch.gradient(torch.ones(4), dim=[])) == []
