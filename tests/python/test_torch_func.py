# SPDX-License-Identifier: MIT
"""The transforms of torch.func, of functions that an op of ours computes above autograd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # from the first import of torch's jvp

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
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_gradients_that_are_traced(function: Function, mode: str) -> None:
    x, one = _numbers(2, 5, 6), torch.func.grad(_loss(function))
    with repdl.reproducible():
        for traced in (one, torch.func.vmap(one)):
            given = x if traced is one else torch.stack([x, x.flip(0)])
            graph = make_fx(traced, tracing_mode=mode)(given)
            assert same_bits(graph(given), traced(given))


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


Transform = Callable[[Function], Function]

_LINE = _numbers(6)
# What a transform gives, and a function of the line: torch.func's own rules meet kernels of ours there.
TRANSFORMED: dict[str, tuple[Transform, Function]] = {
    "tangents of a dot product": (torch.func.jacfwd, lambda x: torch.dot(x, _LINE.to(x.dtype))),
    "tangents of a product with a vector": (torch.func.jacfwd, lambda x: x[None].expand(3, 6) @ _LINE.to(x.dtype)),
    "tangents of vdot": (torch.func.jacfwd, lambda x: torch.vdot(_LINE.to(x.dtype), x)),
    "tangents by the place of a quantile": (
        lambda f: torch.func.jacfwd(f),
        lambda x: torch.quantile(_LINE.to(x.dtype), x.sigmoid()),
    ),
    "gradients by the places of quantiles": (
        lambda f: lambda x: torch.vmap(torch.func.grad(f))(x[:, None]),
        lambda x: torch.quantile(_LINE.to(x.dtype), x.sigmoid()).sum(),
    ),
    "tangents of logsigmoid of single numbers": (
        lambda f: lambda x: torch.stack([torch.func.jacfwd(f)(number) for number in x]),
        F.logsigmoid,
    ),
    "gradients of logits in batches of batches": (
        lambda f: lambda x: torch.vmap(torch.vmap(torch.func.grad(f)))(x.reshape(3, 2, 1)),
        lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3)),
    ),
    **{
        f"Jacobian of distances of order {p}": (
            torch.func.jacrev,
            lambda x, p=p: torch.cdist(x.reshape(3, 2), _LINE.to(x.dtype).reshape(3, 2).flip(0), p=p),  # type: ignore[misc]
        )
        for p in (1.0, 2.0, 3.0)
    },
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_rules_of_torch(name: str) -> None:
    transform, function = TRANSFORMED[name]
    x = _numbers(12)[6:]
    with repdl.reproducible():
        found, wide = transform(function)(x), transform(function)(x.double())
        expected = _by_differences(function, x.double(), wide)
    assert torch.allclose(wide, expected, rtol=1e-5, atol=1e-6)
    assert torch.allclose(found.double(), wide, rtol=1e-4, atol=1e-5)


def _by_differences(function: Function, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The Jacobian; of functions of each number alone what lies on its diagonal."""
    step = 1e-6
    columns = [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in torch.eye(6, dtype=x.dtype)]
    found = torch.stack(columns, -1)
    if like.numel() < found.numel():
        found = found.diagonal()
    elif found.dim() == 1 and like.dim() > 1:  # a mean over one number in each entry
        found = found if function is TRANSFORMED["gradients by the places of quantiles"][1] else found * 6
    return found.reshape(like.shape)


def test_gradients_of_zeros_that_take_no_memory() -> None:
    """The gradient of a sign is one."""
    x = _numbers(3, 6).requires_grad_()
    with repdl.reproducible():
        for y in (F.rms_norm(x, (6,)), F.scaled_dot_product_attention(x, x, x), F.layer_norm(x, (6,))):
            torch.sgn(y).sum().backward(retain_graph=True)
            torch.sgn(torch.cat([torch.ones(1, 6), y])).sum().backward()  # from behind the first element
    assert x.grad is not None
    assert same_bits(x.grad, torch.zeros(3, 6))


def test_gradient_after_disabling() -> None:
    x = _numbers(50).requires_grad_()
    with repdl.reproducible():
        y = F.logsigmoid(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.allclose(x.grad, torch.sigmoid(-x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_leaves_bilinear_alone(dtype: torch.dtype) -> None:
    x, y, weight = _numbers(3, 4).to(dtype), _numbers(3, 5).to(dtype), _numbers(2, 4, 5).to(dtype)
    with repdl.reproducible():
        expected = F.bilinear(x, y, weight)
        with torch.autocast("cpu", torch.bfloat16):
            assert same_bits(F.bilinear(x, y, weight), expected)


def test_a_tangent_that_is_missing_makes_nothing_of_infinities() -> None:
    x, y = torch.tensor([1.0, 2.0, torch.inf]), torch.tensor([3.0, 4.0, 5.0])
    with repdl.reproducible(), forward_ad.dual_level():
        for product in (torch.dot, torch.vdot, torch.matmul):
            found = forward_ad.unpack_dual(product(forward_ad.make_dual(x, torch.ones(3)), y)).tangent
            assert found is not None
            assert found.item() == 12
