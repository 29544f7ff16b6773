# SPDX-License-Identifier: MIT
"""The transforms of torch.func, of functions that an op of ours computes above autograd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

import repdl
from support import same_bits

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),  # from the first import of torch's jvp
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # vmap calls an op of ours once for each entry
]

Function = Callable[[torch.Tensor], torch.Tensor]

FUNCTIONS: dict[str, Function] = {
    "attention": lambda x: F.scaled_dot_product_attention(x, x.flip(-2), x),
    "causal attention of heads": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "rms_norm": lambda x: F.rms_norm(x, (6,), x[..., 0, 0, :]),
    "quantile": lambda x: x.quantile(torch.tensor([0.3, 0.8], dtype=x.dtype), -1),
    "nanquantile": lambda x: x.nanquantile(0.4, -2),
}

each_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).float()


def _loss(function: Function) -> Function:
    return lambda x: function(x).sin().sum()


@each_function
def test_gradients_are_those_of_backward(function: Function) -> None:
    x = _numbers(3, 2, 5, 6)
    one = torch.func.grad(_loss(function))
    with repdl.reproducible():
        expected = []
        for row in x:
            watched = row.clone().requires_grad_()
            expected += torch.autograd.grad(_loss(function)(watched), watched)
        assert all(same_bits(one(row), grad) for row, grad in zip(x, expected, strict=True))
        assert same_bits(torch.func.vmap(one)(x), torch.stack(expected))


@each_function
def test_gradients_after_the_function_has_returned(function: Function) -> None:
    x = _numbers(2, 5, 6)
    with sdpa_kernel(SDPBackend.MATH):
        wide = torch.func.jacrev(function)(x.double())
    with repdl.reproducible():
        watched = x.clone().requires_grad_()
        result = function(watched)
        (expected,) = torch.autograd.grad(result, watched, result.detach())
        output, pull_back = torch.func.vjp(function, x)
        assert same_bits(pull_back(output)[0], expected)
        assert torch.allclose(torch.func.jacrev(function)(x).double(), wide, rtol=1e-4, atol=1e-5)


@each_function
def test_second_derivatives(function: Function) -> None:
    x = _numbers(2, 5, 6)

    def of_gradient(x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda x: torch.func.grad(_loss(function))(x).square().sum())(x)  # type: ignore[no-any-return]

    with sdpa_kernel(SDPBackend.MATH):  # the one of torch's whose gradient has gradients, and tangents
        wide = of_gradient(x.double())
    with repdl.reproducible():
        assert torch.allclose(of_gradient(x).double(), wide, rtol=1e-4, atol=1e-5)


@each_function
def test_tangents(function: Function) -> None:
    x, dx = _numbers(2, 5, 6), _numbers(2, 5, 6).flip(0)
    with sdpa_kernel(SDPBackend.MATH):
        _, wide = torch.func.jvp(function, (x.double(),), (dx.double(),))
    with repdl.reproducible():
        output, tangent = torch.func.jvp(function, (x,), (dx,))
        assert function is FUNCTIONS["rms_norm"] or same_bits(output, function(x))  # which then goes other steps
        assert torch.allclose(tangent.double(), wide, rtol=1e-5, atol=1e-5)
        with forward_ad.dual_level():
            assert same_bits(forward_ad.unpack_dual(function(forward_ad.make_dual(x, dx))).tangent, tangent)
