# SPDX-License-Identifier: MIT
"""Gradients that can be differentiated, of ops of which one operand is another one or is computed from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import repdl

Loss = Callable[[], torch.Tensor]

X = torch.randn(1, 2, 5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
SEQUENCE = torch.randn(6, 2, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def in_steps(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value


@contextmanager
def attention_in_steps() -> Iterator[None]:
    """Stock attention has no second gradient."""
    with mock.patch.object(F, "scaled_dot_product_attention", in_steps):
        yield


def attend(*operands: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(*operands).square().sum()


def _attention(name: str) -> tuple[Loss, torch.Tensor]:
    x = X.clone().requires_grad_()
    linear = nn.Linear(4, 4).double()
    losses: dict[str, tuple[Loss, torch.Tensor]] = {
        "all are one": (lambda: attend(x, x, x), x),
        "key and value": (lambda: attend(X, x, x), x),
        "key of query": (lambda: attend(x, linear(x), X), x),
        "value of key": (lambda: attend(X, key := linear(X), F.normalize(key, dim=-1)), linear.weight),
    }
    return losses[name]


def _recurrent(name: str) -> tuple[Loss, torch.Tensor]:
    kind, _, how = name.partition(" ")
    model = getattr(nn, kind)(3, 3).double()
    if how == "tied":
        model.weight_ih_l0 = model.weight_hh_l0

    def in_two_parts() -> torch.Tensor:
        _, states = model(SEQUENCE[:3])
        return model(SEQUENCE[3:], states)[0].square().sum()

    return in_two_parts, model.weight_hh_l0


CASES = {
    **dict.fromkeys(("all are one", "key and value", "key of query", "value of key"), _attention),
    **dict.fromkeys(("GRU", "LSTM", "RNN", "GRU tied", "LSTM tied"), _recurrent),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_that_cannot_be_differentiated(name: str) -> None:
    torch.manual_seed(0)
    loss, leaf = CASES[name](name)

    def gradients() -> list[torch.Tensor]:
        (first,) = torch.autograd.grad(loss(), leaf, create_graph=True)
        return [first.detach(), *torch.autograd.grad(first.square().sum(), leaf)]

    with attention_in_steps():
        stock = gradients()
    with repdl.reproducible():
        (alone,) = torch.autograd.grad(loss(), leaf)
        ours = gradients()
    assert torch.equal(ours[0], alone)
    torch.testing.assert_close(ours, stock)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_gradients_of_a_transform() -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        return attend(x, x, x)

    with attention_in_steps():
        stock = torch.func.grad(loss)(X), torch.func.hessian(loss)(X)
    with repdl.reproducible():
        ours = torch.func.grad(loss)(X), torch.func.hessian(loss)(X)
    torch.testing.assert_close(ours, stock)
