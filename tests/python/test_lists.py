# SPDX-License-Identifier: MIT
"""Lists of tensors: fused and foreach steps of optimizers have the bits of single tensors, and what lists may hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import _core
from support import same_bits, torch_threads

SHAPES = ((), (0,), (3,), (7, 5), (130, 70))
OPTIONS: dict[str, tuple[Any, tuple[dict[str, Any], ...]]] = {
    "Adam": (torch.optim.Adam, ({}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True, "betas": (0.3, 0.99)})),
    "AdamW": (torch.optim.AdamW, ({}, {"amsgrad": True, "weight_decay": 0.3}, {"lr": 0.1, "maximize": True})),
    "SGD": (
        torch.optim.SGD,
        (
            {"lr": 0.1},
            {"lr": 0.1, "momentum": 0.9, "nesterov": True},
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1, "maximize": True},
        ),
    ),
    "Adagrad": (torch.optim.Adagrad, ({}, {"lr_decay": 0.1, "weight_decay": 0.1})),
}


def _parameters(dtype: torch.dtype, turned: bool, spread: bool = False) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    made = []
    for i, shape in enumerate(SHAPES):
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        if turned and len(shape) > 1:
            x = x.transpose(0, 1)
        made.append(torch.nn.Parameter(x.to(dtype)))
        grad = torch.randn(made[-1].shape, generator=generator, dtype=torch.float64).to(dtype)
        if i == 4:  # equal rows, which may be one in memory
            grad = grad[:1].repeat(grad.shape[0], 1)
        made[-1].grad = grad
        if spread and i == 4:
            made[-1].grad = grad[:1].expand(grad.shape)
    hard = torch.tensor([0.0, -0.0, float("inf"), float("nan"), 1e-40, 3e38], dtype=dtype)
    made[3].grad.view(-1)[:6] = hard  # type: ignore[union-attr]
    return made


def _steps(
    make: Any, dtype: torch.dtype, turned: bool = False, spread: bool = False, **options: Any
) -> list[torch.Tensor]:
    parameters = _parameters(dtype, turned)
    optimizer = make(parameters, **options)
    for _ in range(2):
        for p, fresh in zip(parameters, _parameters(dtype, turned, spread), strict=True):
            p.grad = fresh.grad  # some forms change it
        optimizer.step()
    state = [v for p in parameters for v in optimizer.state[p].values() if isinstance(v, torch.Tensor)]
    return [p.detach() for p in parameters] + state


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_forms_of_an_optimizer_have_the_same_bits(name: str, dtype: torch.dtype) -> None:
    make, settings = OPTIONS[name]
    with repdl.reproducible():
        for options in settings:
            for turned in (False, True):
                single = _steps(make, dtype, turned, foreach=False, **options)
                for form in ("foreach", "fused"):
                    if form == "foreach" and name == "Adagrad" and dtype.itemsize == 2:
                        continue  # rounds once more
                    found = _steps(make, dtype, turned, turned and form == "fused", **{form: True}, **options)
                    for got, expected in zip(found, single, strict=True):
                        assert same_bits(got, expected), (options, turned, form)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_threads_do_not_show(n: int) -> None:
    def run() -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(2)
        make = [torch.randn(40000, generator=generator) for _ in range(6)]
        p, grad = torch.nn.Parameter(make[0]), make[1]
        p.grad = grad
        optimizer = torch.optim.AdamW([p], fused=True, amsgrad=True)
        optimizer.step()
        norm = torch.nn.utils.clip_grad_norm_([p], 1.0)
        return [p.detach(), norm, grad, torch.cumsum(make[2].view(200, 200), 1), torch.logcumsumexp(make[3], 0),
                torch.prod(1 + make[4] * 1e-3), torch.cumprod(1 + make[5].view(200, 200) * 1e-3, 0)]  # fmt: skip

    with repdl.reproducible():
        with torch_threads(1):
            expected = run()
        with torch_threads(n):
            got = run()
    assert all(same_bits(a, b) for a, b in zip(got, expected, strict=True))


def test_fused_options_of_torch() -> None:
    """A rate in a tensor, scaled gradients, and a step that is left out."""

    def step(**options: Any) -> list[torch.Tensor]:
        p = torch.linspace(-1, 1, 50)
        grad, mean, square, count = p * 3, p * 0.1, p * p, torch.tensor(2.0)
        named = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": False}
        torch._fused_adam_([p], [grad], [mean], [square], [], [count], **{"lr": 0.125, **named, **options})
        return [p, grad, mean, square]

    with repdl.reproducible():
        plain = step()
        assert all(same_bits(a, b) for a, b in zip(step(lr=torch.tensor(0.125)), plain, strict=True))
        scaled = step(grad_scale=torch.tensor(2.0), found_inf=torch.tensor(0.0))
        assert same_bits(scaled[1], torch.linspace(-1, 1, 50) * 3 / 2)
        assert not same_bits(scaled[0], plain[0])
        left_out = step(grad_scale=torch.tensor(2.0), found_inf=torch.tensor(1.0))
        assert same_bits(left_out[0], torch.linspace(-1, 1, 50))


def test_unequal_lists_and_dtypes_raise() -> None:
    x, options = torch.ones(3), {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False}
    options |= {"maximize": False, "is_first_step": False}
    with repdl.reproducible():
        with pytest.raises(RuntimeError, match="as many gradients"):
            torch._fused_sgd_([x, x], [x], [], **options)
        with pytest.raises((RuntimeError, TypeError), match="grad"):
            torch._fused_sgd_([x], [x.double()], [], **options)
        with pytest.raises(RuntimeError):
            torch._foreach_add([x, x], [x])
        with pytest.raises(RuntimeError):
            torch._foreach_mul_([], 2.0)
    assert x.tolist() == [1, 1, 1]


def _of_first(function: Any) -> Any:
    return lambda first, second: function(first)


FOREACH: dict[str, tuple[Any, Any]] = {
    "add": (lambda a, b: torch._foreach_add(a, b, alpha=0.5), lambda x, y: torch.add(x, y, alpha=0.5)),
    "add number": (lambda a, b: torch._foreach_add(a, 0.3), lambda x, y: x + 0.3),
    "add numbers": (lambda a, b: torch._foreach_add(a, [0.3] * len(a)), lambda x, y: x + 0.3),
    "sub": (torch._foreach_sub, torch.sub),
    "mul": (torch._foreach_mul, torch.mul),
    "mul number": (lambda a, b: torch._foreach_mul(a, 0.3), lambda x, y: x * 0.3),
    "div": (torch._foreach_div, torch.div),
    "div numbers": (lambda a, b: torch._foreach_div(a, [0.3] * len(a)), lambda x, y: x / 0.3),
    "addcmul": (lambda a, b: torch._foreach_addcmul(a, b, a, 0.3), lambda x, y: torch.addcmul(x, y, x, value=0.3)),
    "addcdiv": (
        lambda a, b: torch._foreach_addcdiv(a, b, a, [0.3] * len(a)),
        lambda x, y: torch.addcdiv(x, y, x, value=0.3),
    ),
    "lerp": (lambda a, b: torch._foreach_lerp(a, b, 0.3), lambda x, y: torch.lerp(x, y, 0.3)),
    "norm": (lambda a, b: torch._foreach_norm(a), lambda x, y: torch.linalg.vector_norm(x)),
    "norm 1": (lambda a, b: torch._foreach_norm(a, 1), lambda x, y: torch.linalg.vector_norm(x, 1)),
    "norm double": (
        lambda a, b: torch._foreach_norm(a, dtype=torch.float64),
        lambda x, y: torch.linalg.vector_norm(x, dtype=torch.float64),
    ),
    "clone": (lambda a, b: torch._foreach_clone(a), lambda x, y: x.clone()),
    "powsum": (lambda a, b: torch._foreach_powsum(a), lambda x, y: x.square().sum()),
    "powsum 3": (lambda a, b: torch._foreach_powsum(a, 3), lambda x, y: x.abs().pow(3).sum()),
    **{
        name: (_of_first(getattr(torch, f"_foreach_{name}")), _of_first(getattr(torch, name)))
        for name in ("acos", "asin", "atan", "cosh", "lgamma", "sinh", "sqrt")
    },
}


@pytest.mark.parametrize("name", FOREACH)
def test_foreach_is_each(name: str) -> None:
    """Of several dtypes in one list, layouts, sizes, and special numbers."""
    of_lists, of_one = FOREACH[name]
    generator = torch.Generator().manual_seed(3)
    first = [torch.randn(shape, generator=generator) for shape in SHAPES]
    second = [torch.randn(shape, generator=generator) for shape in SHAPES]
    first[2][:] = torch.tensor([float("nan"), -0.0, float("inf")])
    first += [first[3].double(), first[3].bfloat16(), first[4].mT, first[3].half()]
    second += [second[3].double(), second[3].bfloat16(), second[4].mT, second[3].half()]
    with repdl.reproducible():
        if name == "norm double":  # which torch refuses for what it would narrow or for empty lists of other types
            first, second = first[:7], second[:7]
        got = of_lists(first, second)
        for result, x, y in zip(got, first, second, strict=True):
            expected = of_one(x, y)
            assert same_bits(result, expected) and result.stride() == expected.stride()


def test_foreach_of_matrices() -> None:
    a, b = [torch.randn(3, 4), torch.randn(2, 300)], [torch.randn(4, 5), torch.randn(300, 2)]
    with repdl.reproducible():
        for result, x, y in zip(torch._foreach_mm(a, b), a, b, strict=True):
            assert same_bits(result, x @ y)


def test_foreach_in_place_and_with_gradients() -> None:
    with repdl.reproducible():
        x = [torch.ones(3, 2).T, torch.arange(4.0)]
        version = x[0]._version
        assert torch._foreach_add_(x, 1.5) is None or x[0].tolist() == [[2.5] * 3] * 2
        assert x[0].tolist() == [[2.5] * 3] * 2 and x[1].tolist() == [1.5, 2.5, 3.5, 4.5]
        assert x[0]._version == version + 1
        with pytest.raises(RuntimeError):
            torch._foreach_add_([torch.arange(3)], 1.5)
        leaf = torch.ones(3, requires_grad=True)
        torch._foreach_mul([leaf], [leaf])[0].sum().backward()
        assert leaf.grad is not None and leaf.grad.tolist() == [2, 2, 2]


def test_a_float_may_be_a_tensor() -> None:
    """Of one number of float32 or float64; others as Python's float() takes them."""
    p = torch.ones(4)
    expected = p.clone()
    _core.ops["fused_sgd_step"](expected, p, None, False, 0.25)
    for lr in (torch.tensor(0.25), torch.tensor([0.25], dtype=torch.float64), torch.tensor(0.25).bfloat16()):
        q = torch.ones(4)
        _core.ops["fused_sgd_step"](q, p, None, False, lr)
        assert same_bits(q, expected)
    with pytest.raises(TypeError, match="lr must be a number"):
        _core.ops["fused_sgd_step"](p, p, None, False, torch.ones(2))


def test_cumulative_calls_of_torch() -> None:
    """Integers are exact, and dtypes, layouts and errors are torch's."""
    x = torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(4))
    with repdl.reproducible():
        for f in (torch.cumsum, torch.cumprod, torch.logcumsumexp):
            for dim in (0, 1, -1):
                whole = f(x, dim)
                assert same_bits(f(x.transpose(0, 2), 2 - dim % 3), whole.transpose(0, 2).contiguous())
                for i in range(x.shape[(dim + 1) % 3]):
                    line = x.select((dim + 1) % 3, i)
                    at = dim % 3 - ((dim + 1) % 3 < dim % 3)
                    assert same_bits(f(line, at), whole.select((dim + 1) % 3, i).contiguous())
            with pytest.raises(IndexError):
                f(x, 3)
        many = torch.full((40,), 3, dtype=torch.int32)
        assert torch.cumprod(many, 0)[-1] == torch.prod(many) == 3**40
        assert torch.cumsum(many, 0, dtype=torch.float64).dtype == torch.float64
        assert torch.prod(torch.empty(0)) == 1 and torch.prod(torch.empty(2, 0), 1).tolist() == [1, 1]
        assert torch.prod(torch.ones(2, 3, dtype=torch.bfloat16), 1, keepdim=True).shape == (2, 1)
        assert torch.signbit(torch.prod(torch.tensor([-0.0, 2.0])))
        y = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
        torch.prod(y).backward()
        assert y.grad is not None and y.grad.tolist() == [0, 6, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_logcumsumexp_is_as_accurate_as_torch(dtype: torch.dtype) -> None:
    if dtype == torch.float64 and np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double is no wider than double here")
    x = torch.randn(40, 3000, generator=torch.Generator().manual_seed(5), dtype=dtype)
    wide = x.numpy().astype(np.longdouble)
    exact = np.log(np.cumsum(np.exp(wide), 1))
    stock = np.abs(torch.logcumsumexp(x, 1).numpy() - exact)
    with repdl.reproducible():
        ours = np.abs(torch.logcumsumexp(x, 1).numpy() - exact)
        small = torch.logcumsumexp(torch.tensor([0.0, -40.0], dtype=dtype), 0)
    assert ours.max() <= stock.max() and ours.mean() <= stock.mean()
    assert small[1] == torch.tensor(-40.0, dtype=torch.float64).exp().to(dtype)
