# SPDX-License-Identifier: MIT
"""Operands of two dtypes raise where torch refuses them, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F

import repdl

Call = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
FLOATS = (torch.float32, torch.float64, torch.bfloat16)
CLASSES = torch.tensor([0, 1, 2])
PLACES = torch.zeros(3, 4, dtype=torch.int64)

CALLS: dict[str, Call] = {
    "binary_cross_entropy": F.binary_cross_entropy,
    "binary_cross_entropy, weight": lambda a, b: F.binary_cross_entropy(a, a, b),
    "binary_cross_entropy, gradient": lambda a, b: _gradient(a, lambda x: F.binary_cross_entropy(x, a, b)),
    "attention": lambda a, b: F.scaled_dot_product_attention(a, b, a),
    "attention, mask": lambda a, b: F.scaled_dot_product_attention(a, a, a, b[:, :3]),
    "attention, mask of gradients": lambda a, b: _gradient(
        a, lambda x: F.scaled_dot_product_attention(x, a, a, b[:, :3])
    ),
    "histogram": lambda a, b: torch.histogram(a, 4, weight=b)[0],
    "histogram, bins": lambda a, b: torch.histogram(a, torch.tensor([0, 0.5, 1]).to(a.dtype), weight=b)[0],
    "histogramdd": lambda a, b: torch.histogramdd(a, 4, weight=b[:, 0])[0],
    "nll_loss": lambda a, b: F.nll_loss(a, CLASSES, b[0]),
    "multi_margin_loss": lambda a, b: F.multi_margin_loss(a, CLASSES, weight=b[0]),
    "lerp": lambda a, b: torch.lerp(a, b, 0.5),
    "lerp_": lambda a, b: a.clone().lerp_(b, 0.5),
    "_foreach_lerp": lambda a, b: torch._foreach_lerp([a], [b], 0.5)[0],
    "cross": lambda a, b: torch.linalg.cross(a[:, :3], b[:, :3]),
    "layer_norm": lambda a, b: F.layer_norm(a, (4,), b[0], b[0]),
    "group_norm": lambda a, b: F.group_norm(a, 2, b[0], b[0]),
    "batch_norm": lambda a, b: F.batch_norm(a, None, None, b[0], b[0], training=True),
    "batch_norm, running": lambda a, b: F.batch_norm(a, b[0], b[0]),
    "grid_sample": lambda a, b: F.grid_sample(a[None, None], b[None, None, :, :2], align_corners=False),
    "embedding_bag": lambda a, b: F.embedding_bag(
        PLACES[:1, :2], a, per_sample_weights=b[:1, :2].contiguous(), mode="sum"
    ),
    "index_add": lambda a, b: a.index_add(0, CLASSES, b),
    "scatter_add": lambda a, b: a.scatter_add(0, PLACES, b),
    "index_put": lambda a, b: a.index_put((CLASSES,), b, accumulate=True),
    "solve": lambda a, b: torch.linalg.solve(a[:, :3] + torch.eye(3).to(a.dtype), b),
    "cdist": torch.cdist,
    "weight_norm": lambda a, b: torch._weight_norm(a, b[:, :1]),
    "batch_norm without parameters": lambda a, b: F.batch_norm(a, None, None, training=True),
    "lerp by a number": lambda a, b: torch.lerp(a, a, b[0, 0]),
    "lerp by numbers": lambda a, b: torch.lerp(a, a, b),
}
NOT_BY_US = {("cdist", torch.bfloat16, torch.bfloat16), ("solve", torch.bfloat16, torch.bfloat16)}
NOT_BY_US |= {("multi_margin_loss", torch.bfloat16, torch.bfloat16)}
NOT_BY_US |= {(name, torch.bfloat16, torch.bfloat16) for name in ("histogram", "histogram, bins", "histogramdd")}
"""What torch has no kernel for and we have one."""

OF_INTEGERS: list[Call] = [
    torch.hypot,
    torch.logaddexp,
    lambda a, b: torch.lerp(a, b, 0.5),
    lambda a, b: torch.addcdiv(a.float(), a, b),
    lambda a, b: torch.sub(a.float(), b.bool(), alpha=2),
    lambda a, b: F.scaled_dot_product_attention(a.float()[:, None], a.float()[:, None], a.float()[:, None], b),
    lambda a, b: torch.histogram(a.float(), 4, weight=b)[0],
    lambda a, b: torch.bincount(a.bool(), b),
    lambda a, b: F.binary_cross_entropy(a.float() / 4, a.float() / 4, b.to(torch.complex64)),
]

TAKEN: dict[str, Call] = {
    "binary_cross_entropy": lambda a, b: F.binary_cross_entropy(a, a, b),
    "binary_cross_entropy, gradient": lambda a, b: _gradient(a, lambda x: F.binary_cross_entropy(x, a, b)),
    "lerp by a number": lambda a, b: torch.lerp(a, a.flip(0), b[1, 1]),
}
"""Calls that torch takes integers in, which count as the floating-point numbers that they are."""


def _gradient(of: torch.Tensor, call: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    x = of.clone().requires_grad_()
    call(x).sum().backward()
    assert x.grad is not None
    return x.grad


@pytest.fixture(scope="module")
def stock() -> dict[tuple[str, torch.dtype, torch.dtype], bool]:
    return {(name, a, b): _is_taken(name, a, b) for name in CALLS for a in FLOATS for b in FLOATS}


def _is_taken(name: str, first: torch.dtype, second: torch.dtype) -> bool:
    numbers = (torch.arange(12).reshape(3, 4) % 3 + 1).div(4)
    try:
        CALLS[name](numbers.to(first), numbers.to(second))
    except RuntimeError:
        return False
    return True


@pytest.fixture(scope="module")
def ours(stock: dict[tuple[str, torch.dtype, torch.dtype], bool]) -> Iterator[dict[object, bool]]:
    with repdl.reproducible():
        yield {call: _is_taken(*call) for call in stock}


@pytest.mark.parametrize("name", CALLS)
def test_floats(name: str, stock: dict[tuple[str, torch.dtype, torch.dtype], bool], ours: dict[object, bool]) -> None:
    different = {call for call in stock if call[0] == name and stock[call] != ours[call]}
    assert different <= NOT_BY_US


def test_integers() -> None:
    numbers = torch.arange(1, 4)
    for call in OF_INTEGERS:
        with pytest.raises(RuntimeError) as stock:
            call(numbers, numbers)
        with repdl.reproducible(), pytest.raises(RuntimeError) as raised:
            call(numbers, numbers)
        assert str(raised.value) == str(stock.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", TAKEN)
def test_integers_among_floats(name: str, dtype: torch.dtype) -> None:
    a = (torch.arange(12).reshape(3, 4) % 5).div(7).to(dtype)
    for other in (torch.int64, torch.uint8, torch.bool):
        b = (torch.arange(12).reshape(3, 4) % 4).to(other)
        with repdl.reproducible():
            result = TAKEN[name](a, b)
            expected = TAKEN[name](a, b.to(dtype))
        stock = TAKEN[name](a, b)
        assert result.dtype == stock.dtype and torch.equal(result, expected)
        torch.testing.assert_close(result, stock, rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_weights_of_a_loss_leave_its_dtype(dtype: torch.dtype) -> None:
    """Rounded once, of numbers that are converted to the widest type."""
    a = (torch.arange(12).reshape(3, 4) % 5).div(7).to(dtype)
    weight = torch.linspace(0.1, 1, 12, dtype=torch.float64).reshape(3, 4)
    with repdl.reproducible():
        result = F.binary_cross_entropy(a, a, weight, reduction="none")
        assert torch.equal(result, F.binary_cross_entropy(a.double(), a.double(), weight, reduction="none").to(dtype))
    assert result.dtype == dtype
