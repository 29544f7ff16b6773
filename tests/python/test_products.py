# SPDX-License-Identifier: MIT
"""Gradients of `prod` have one formula, whatever is 0 elsewhere and whoever looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # from the first import of torch's jvp

Function = Callable[[torch.Tensor], torch.Tensor]


@pytest.fixture(scope="module", autouse=True)
def _enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


class Watched(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).float()


def gradient(function: Function, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


def second_gradient(function: Function, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_()
    (first,) = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
    return torch.autograd.grad(first.square().sum(), x)[0]


def tangent(function: Function, x: torch.Tensor) -> torch.Tensor:
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(function(forward_ad.make_dual(x, x.cos()))).tangent
    assert found is not None
    return found


FORMS: dict[str, Function] = {
    "along": lambda x: x.prod(1),
    "kept": lambda x: x.prod(-1, keepdim=True),
    "whole": lambda x: x[:2, :3].prod(),
    "float64": lambda x: x.double().prod(1),
    "to float64": lambda x: x.prod(1, dtype=torch.float64),
    "bfloat16": lambda x: x.bfloat16().prod(1),
    "complex": lambda x: torch.complex(x, x.flip(0)).prod(1).abs(),
    "one": lambda x: x[:, :1].prod(1),
    "none": lambda x: x[:, :0].prod(1) + x[:, 0],
    "scalars": lambda x: x[0, 0].prod(0) + x[0, 1].prod(),
}


@pytest.mark.parametrize("take", [gradient, second_gradient, tangent])
@pytest.mark.parametrize("form", FORMS)
def test_a_mode_changes_nothing(form: str, take: Callable[..., torch.Tensor]) -> None:
    x = numbers(3, 8)
    found = take(FORMS[form], x)
    with Watched():  # type: ignore[no-untyped-call]
        assert same_bits(take(FORMS[form], x), found)
    expected = take(FORMS[form], x.double())
    tolerance = 0.05 if form == "bfloat16" else 1e-5
    assert torch.allclose(found.double(), expected.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("take", [gradient, second_gradient, tangent])
def test_a_row_alone(take: Callable[..., torch.Tensor]) -> None:
    x = numbers(3, 8)
    x[2, 3] = 0

    def prod(x: torch.Tensor) -> torch.Tensor:
        return x.prod(1)

    whole = take(prod, x)
    for i in range(3):
        assert same_bits(take(prod, x[i : i + 1]), whole[i : i + 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("take", [gradient, second_gradient, tangent])
def test_a_row_alone_of_cumulative_products(take: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    x = numbers(4, 8).to(dtype)
    x[2, 3] = x[3, 0] = x[3, 6] = 0

    def cumprod(x: torch.Tensor) -> torch.Tensor:
        return x.cumprod(1) * numbers(8)

    whole = take(cumprod, x)
    assert all(same_bits(take(cumprod, x[i : i + 1]), whole[i : i + 1]) for i in range(4))


def test_second_gradients_of_cumulative_products() -> None:
    x = numbers(3, 5).double()
    x[1, 2] = x[2, 0] = x[2, 4] = 0
    for rows in (x, torch.complex(x, x.flip(0) * x)):
        rows.requires_grad_()
        assert torch.autograd.gradgradcheck(lambda x: x.cumprod(1), rows)
        assert torch.autograd.gradgradcheck(lambda x: x.t().cumprod(0), rows)


def test_a_transform_changes_nothing() -> None:
    x = numbers(3, 8)
    for form in (FORMS["along"], FORMS["whole"]):
        assert same_bits(torch.func.grad(lambda x, form=form: form(x).sum())(x), gradient(form, x))


def test_gradients_where_numbers_are_0() -> None:
    x = numbers(4, 5).double()
    x[1, 2] = x[2, 0] = x[2, 4] = 0
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: x.prod(1), x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: x.prod(1), x)
    assert torch.autograd.gradcheck(lambda x: x[:2].prod(), x)
