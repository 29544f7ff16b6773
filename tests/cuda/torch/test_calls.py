# SPDX-License-Identifier: MIT
"""Ops and calls of torch on tensors of the device give the bits that they give on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import device
import pytest
import torch
import torch.nn.functional as F
from support_cuda import bits, to_cuda

import repdl
import repdl.ops

HOSTILE = [0.0, -0.0, 1.0, -1.5, float("nan"), float("inf"), -float("inf"), 1e-45, -1e-40, 3e38, 0.1, 7.0]


def hostile(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))
    flat = numbers.view(-1)
    flat[: len(HOSTILE)] = torch.tensor(HOSTILE)[: flat.numel()]
    return numbers.to(dtype)


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def agree(call: Callable[..., Any], *args: Any) -> None:
    """On the device too, where nothing waits for it meanwhile."""
    copies = to_cuda(args)
    expected = call(*args)
    with device.nothing_waits():
        got = call(*copies)
    for result in got if isinstance(got, (list, tuple)) else [got]:
        assert not isinstance(result, torch.Tensor) or result.is_cuda
    assert bits(got) == bits(expected)
    assert bits(copies) == bits(args)  # those that the call changes, too


OPS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "mm": (repdl.ops.mm, [normal(33, 300), normal(300, 5)]),
    "mm of steps": (repdl.ops.mm, [normal(40, 66)[::2, ::2], normal(33, 5).t().contiguous().t()]),
    "softmax": (repdl.ops.softmax, [hostile(4, 70)]),
    "exp": (repdl.ops.exp, [hostile(5, 7)]),
    "add": (repdl.ops.add, [hostile(5, 7), normal(7)]),
    "sort": (repdl.ops.sort, [hostile(3, 40)]),
    "layer_norm": (repdl.ops.layer_norm, [normal(6, 33), (33,), normal(33), normal(33)]),
    "conv2d": (repdl.ops.conv2d, [normal(2, 3, 7, 6), normal(4, 3, 3, 3)]),
}


@pytest.mark.parametrize("name", OPS)
def test_ops(name: str) -> None:
    call, args = OPS[name]
    agree(call, *args)


def test_gradients_of_ops() -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> list[torch.Tensor]:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        repdl.ops.mm(repdl.ops.gelu(x), w).backward(torch.ones(4, 3, device=x.device))
        assert x.grad is not None and w.grad is not None
        return [x.grad, w.grad]

    agree(step, normal(4, 70), normal(70, 3))


def in_place(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.exp_().mul_(y).add_(y, alpha=0.3).clamp_(min=-1.0)


def into(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.add(x, y, out=torch.empty_like(x))


CALLS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "exp": (torch.exp, [hostile(5, 7)]),
    "exp of float64": (torch.exp, [hostile(5, 7, dtype=torch.float64)]),
    "exp of bfloat16": (torch.exp, [hostile(5, 7, dtype=torch.bfloat16)]),
    "exp of integers": (torch.exp, [torch.arange(6)]),
    "exp of steps": (torch.exp, [hostile(6, 8).t()[::2]]),
    "add": (torch.add, [hostile(5, 7), hostile(7)]),
    "add of a number": (lambda x: x + 0.1, [hostile(5, 7)]),
    "add of a number to float64": (lambda x: 0.1 + x, [hostile(5, 7, dtype=torch.float64)]),
    "alpha": (lambda x, y: torch.add(x, y, alpha=0.3), [hostile(5, 7), normal(5, 7)]),
    "mul of a number": (lambda x: x * 0.1, [hostile(5, 7)]),
    "mul of bfloat16 and a number": (lambda x: x * 0.1, [hostile(5, 7, dtype=torch.bfloat16)]),
    "mul of integers": (lambda x: x * 3, [torch.arange(7)]),
    "mul of types": (torch.mul, [hostile(5, 7, dtype=torch.bfloat16), hostile(5, 7)]),
    "div by a number": (lambda x: x / 3, [hostile(5, 7)]),
    "div of integers": (lambda x: x / 3, [torch.arange(7)]),
    "div of types": (torch.div, [hostile(5, 7, dtype=torch.float16), normal(5, 7)]),
    "reciprocal": (torch.reciprocal, [hostile(5, 7)]),
    "mul of complex numbers": (
        torch.mul,
        [torch.complex(hostile(30), normal(30)), torch.complex(normal(30), normal(30, seed=3))],
    ),
    "exp of complex numbers": (torch.exp, [torch.complex(normal(5, 6), normal(5, 6, seed=3)).t()]),
    "a complex number": (lambda x: x * (2 + 1j), [torch.complex(normal(30), normal(30, seed=3))]),
    "pow": (lambda x: x**2 + x**0.5 + x**1.7, [hostile(5, 7)]),
    "in place": (in_place, [normal(5, 7), normal(5, 7, seed=2)]),
    "out": (into, [hostile(5, 7), normal(5, 7)]),
    "where": (lambda x, y: torch.where(x > y, x, y), [hostile(5, 7), normal(5, 7)]),
    "sum": (lambda x: [x.sum(), x.sum(0), x.mean(1), x.var(), x.norm()], [normal(20, 130)]),
    "sum of integers": (lambda x: [x.sum(), x.cumsum(0)], [torch.arange(50)]),
    "max": (lambda x: [x.amax(1), x.max(), x.clamp(-0.5, 0.5)], [normal(5, 70)]),
    "sort": (lambda x: [*x.sort(1), *x.topk(3)], [hostile(3, 40)]),
    "matmul": (torch.matmul, [normal(2, 5, 300), normal(2, 300, 4)]),
    "addmm": (torch.addmm, [normal(4), normal(5, 30), normal(30, 4)]),
    "addmm of bfloat16": (torch.addmm, [normal(4).bfloat16(), normal(5, 30).bfloat16(), normal(30, 4).bfloat16()]),
    "softmax": (lambda x: [x.softmax(1), x.log_softmax(0)], [hostile(4, 70)]),
    "layer_norm": (lambda x, w: F.layer_norm(x, (33,), w, w), [normal(6, 33), normal(33)]),
    "group_norm": (lambda x: F.group_norm(x, 2), [normal(3, 4, 5, 5)]),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), [normal(3, 4, 5, 5)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (33,), w), [normal(6, 33), normal(33)]),
    "conv": (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
        [normal(2, 3, 7, 6), normal(4, 3, 3, 3), normal(4)],
    ),
    "conv_transpose": (F.conv_transpose2d, [normal(2, 3, 4, 5), normal(3, 2, 3, 3)]),
    "pool": (lambda x: [F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 2)], [hostile(2, 3, 6, 6)]),
    "embedding": (F.embedding, [torch.tensor([[1, 4], [4, 0]]), normal(5, 8)]),
    "losses": (
        lambda x, y, t: [F.cross_entropy(x, t), F.mse_loss(x, y), F.smooth_l1_loss(x, y)],
        [normal(6, 9), normal(6, 9, seed=2), torch.arange(6)],
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [normal(2, 2, 9, 8, seed=s) for s in (1, 2, 3)],
    ),
    "attention with a mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        [*(normal(2, 2, 9, 8, seed=s) for s in (1, 2, 3)), normal(9, 9) > -0.5],
    ),
    "index_add": (lambda x, i, y: x.index_add(0, i, y), [normal(4, 3), torch.tensor([1, 1, 0, 3, 1]), normal(5, 3)]),
    "index_put": (
        lambda x, i, y: x.index_put((i,), y, accumulate=True),
        [normal(4, 3), torch.tensor([1, 1, 0, 3, 1]), normal(5, 3)],
    ),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), [normal(1, 2, 4, 5)]),
    "nine dimensions": (torch.exp, [normal(1, 2, 1, 2, 1, 2, 1, 2, 2)]),
    "linspace": (lambda x: torch.linspace(0.0, 1.0, 7, device=x.device), [normal(1)]),
    "a number on the CPU": (lambda x: torch.pow(x, torch.tensor(1.7)) * torch.tensor(0.3), [normal(5, 7)]),
    "lists": (lambda x, y: torch._foreach_add([x, y], [y, x], alpha=0.5), [normal(5), normal(5, seed=2)]),
    "exp of lists": (lambda x, y: torch._foreach_exp([x, y]), [normal(5), normal(5, seed=2)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_torch(name: str, enabled: None) -> None:
    call, args = CALLS[name]
    agree(call, *args)


@pytest.mark.parametrize("order", ["blocked", "sequential"])
def test_the_order_is_that_in_force(order: str) -> None:
    with repdl.reproducible(order=order):
        agree(torch.mm, normal(3, 2000), normal(2000, 2))
        agree(torch.sum, normal(5000))
