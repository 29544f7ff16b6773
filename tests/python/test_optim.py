# SPDX-License-Identifier: MIT
"""The optimizers: close to torch's, with its options, states and checkpoints; and RepDL's formula to the bit."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch

import repdl
from support import same_bits

OPTIONS: list[tuple[Any, Any, dict[str, Any]]] = [
    (repdl.optim.Adam, torch.optim.Adam, {}),
    (repdl.optim.Adam, torch.optim.Adam, {"lr": 0.02, "weight_decay": 0.1, "amsgrad": True}),
    (repdl.optim.Adam, torch.optim.Adam, {"betas": (0.5, 0.9), "eps": 1e-3, "maximize": True}),
    (repdl.optim.Adam, torch.optim.Adam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    (repdl.optim.AdamW, torch.optim.AdamW, {}),
    (repdl.optim.AdamW, torch.optim.AdamW, {"lr": torch.tensor(0.02).double(), "weight_decay": 0.3, "amsgrad": True}),
    (repdl.optim.SGD, torch.optim.SGD, {"lr": 0.1}),
    (repdl.optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    (repdl.optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (repdl.optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
]


def problem(dtype: torch.dtype = torch.float32) -> tuple[list[torch.Tensor], Any]:
    generator = torch.Generator().manual_seed(5)
    shapes = [(3, 4), (7,), (2, 3, 2, 2), ()]
    parameters = [torch.randn(s, generator=generator, dtype=dtype).requires_grad_() for s in shapes]
    with torch.no_grad():  # a layout other than row-major
        parameters[0] = parameters[0].T.contiguous().T.requires_grad_()
    targets = [torch.randn(s, generator=generator, dtype=dtype) for s in shapes]

    def loss() -> torch.Tensor:
        return sum(((p - t) ** 2).sum() for p, t in zip(parameters, targets, strict=True))  # type: ignore[return-value]

    return parameters, loss


def run(
    optimizer_type: Any, options: dict[str, Any], steps: int = 5, dtype: torch.dtype = torch.float32
) -> tuple[list[torch.Tensor], Any]:
    parameters, loss = problem(dtype)
    optimizer = optimizer_type(parameters, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return parameters, optimizer


@pytest.mark.parametrize(("ours", "theirs", "options"), OPTIONS)
def test_steps_are_close_to_torchs(ours: Any, theirs: Any, options: dict[str, Any]) -> None:
    for dtype, bound in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
        for a, b in zip(run(ours, options, 5, dtype)[0], run(theirs, options, 5, dtype)[0], strict=True):
            torch.testing.assert_close(a, b, rtol=bound, atol=bound / 10)


@pytest.mark.parametrize(("ours", "theirs", "options"), OPTIONS)
def test_checkpoints_pass_to_and_fro(ours: Any, theirs: Any, options: dict[str, Any]) -> None:
    expected, _ = run(ours, options, steps=4)
    parameters, optimizer = run(ours, options, steps=2)
    state = optimizer.state_dict()
    for kind in (ours, theirs):
        continued, loss = problem()
        with torch.no_grad():
            for p, q in zip(continued, parameters, strict=True):
                p.copy_(q)
        again = kind(continued, **options)
        again.load_state_dict(copy.deepcopy(state))
        for _ in range(2):
            again.zero_grad()
            loss().backward()
            again.step()
        for a, b in zip(continued, expected, strict=True):
            if kind is ours:
                assert same_bits(a.detach(), b.detach())
            else:
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weight_decay", [0.0, 0.05])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_has_the_roundings_of_repdl(weight_decay: float, amsgrad: bool) -> None:
    """Written out in float64 arithmetic that is exact before each single rounding to float32."""
    lr, beta1, beta2, eps = 0.01, 0.9, 0.999, 1e-8
    p = torch.randn(500).requires_grad_()
    optimizer = repdl.optim.Adam([p], lr=lr, weight_decay=weight_decay, amsgrad=amsgrad)
    f32 = lambda x: torch.tensor(x, dtype=torch.float32)  # noqa: E731

    def fma(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        # The product is exact in float64; the sum is rounded twice, which hardly ever shows.
        return (a.double() * b.double() + c.double()).float()

    param, m, v, largest = p.detach().clone(), torch.zeros(500), torch.zeros(500), torch.zeros(500)
    for step in range(1, 6):
        grad = torch.randn(500)
        p.grad = grad.clone()
        optimizer.step()
        if weight_decay:
            grad = fma(f32(weight_decay), param, grad)
        m = fma(f32(1 - beta1), grad, m * f32(beta1))
        v = v * f32(beta2) + (grad * grad) * f32(1 - beta2)
        largest = torch.maximum(largest, v)
        root = (largest if amsgrad else v).double().sqrt().float()
        denominator = root / f32(math.sqrt(1 - beta2**step)) + f32(eps)
        param = param + (m / denominator) * f32(-(lr / (1 - beta1**step)))
        assert (p.detach() == param).float().mean() > 0.999


def test_closures_groups_and_missing_gradients() -> None:
    a, b, c = (torch.ones(3).requires_grad_() for _ in range(3))
    optimizer = repdl.optim.SGD([{"params": [a]}, {"params": [b, c], "lr": 1.0}], lr=0.5)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = a.sum() + b.sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 6.0
    assert a.tolist() == [0.5] * 3 and b.tolist() == [0.0] * 3 and c.tolist() == [1.0] * 3


def test_sparse_gradients_are_refused() -> None:
    embedding = torch.nn.Embedding(5, 2, sparse=True)
    optimizer = repdl.optim.Adam(embedding.parameters())
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match=r"\[Adam\] sparse gradients are not supported; make the gradient dense"):
        optimizer.step()


def test_a_changed_parameter_is_noticed_by_autograd() -> None:
    p = torch.ones(3).requires_grad_()
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    repdl.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("kind", ["Adam", "AdamW", "SGD"])
def test_a_scaler_scales_and_leaves_out_steps(kind: str, fused: bool) -> None:
    def trained(optimizer_type: Any) -> list[torch.Tensor]:
        parameters, loss = problem()
        optimizer = optimizer_type(parameters, lr=0.05, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in range(4):
            optimizer.zero_grad()
            scaler.scale(loss()).backward()
            if step == 1:
                parameters[0].grad[0, 0] = math.inf  # type: ignore[index]
            scaler.step(optimizer)
            scaler.update()
        return [*parameters, torch.tensor(scaler.get_scale())]

    for ours, theirs in zip(trained(getattr(repdl.optim, kind)), trained(getattr(torch.optim, kind)), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_without_momentum_there_is_no_state() -> None:
    parameter = torch.ones(3, requires_grad=True)
    parameter.grad = torch.ones(3)
    optimizer = repdl.optim.SGD([parameter], lr=0.1)
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}
