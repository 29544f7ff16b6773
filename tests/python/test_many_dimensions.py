# SPDX-License-Identifier: MIT
"""Tensors of more dimensions than a view of the core has: the bits of the same numbers in fewer dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits

SHAPE = (2, 3, 1, 2, 2, 3, 2, 1, 2, 2, 3)
ORDER = (5, 0, 10, 3, 1, 8, 2, 9, 4, 7, 6)
"""Of dimensions in memory."""


def numbers(dtype: torch.dtype = torch.float32, seed: int = 1) -> torch.Tensor:
    """With zeros of both signs, NaN, infinities and subnormal numbers among them."""
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    special = torch.tensor([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-40, -1e-42], dtype=torch.float64)
    x.reshape(-1)[::97][: len(special)] = special
    return x.to(dtype)


def scattered(x: torch.Tensor) -> torch.Tensor:
    """The same numbers in another order of strides, with gaps, so that no two dimensions can be taken together."""
    turned = x.permute(ORDER)
    wide = x.new_zeros([n * 2 for n in turned.shape])[tuple(slice(None, None, 2) for _ in turned.shape)]
    wide.copy_(turned)
    return wide.permute([ORDER.index(d) for d in range(x.dim())])


def turned(x: torch.Tensor) -> torch.Tensor:
    """The same numbers in another order of strides, without gaps."""
    return x.permute(ORDER).contiguous().permute([ORDER.index(d) for d in range(x.dim())])


X = numbers()
FINITE = X.nan_to_num(0.0, 1.0, -1.0)

# A call, and the same numbers by a call of fewer dimensions.
Pair = tuple[Callable[[torch.Tensor], Any], Callable[[torch.Tensor], Any]]


def reduced(f: Callable[..., torch.Tensor], *dims: int) -> Pair:
    """A reduction of these dimensions, and of one that holds them."""
    kept = [d for d in range(len(SHAPE)) if d not in dims]

    def rows(x: torch.Tensor) -> torch.Tensor:
        count = torch.Size(SHAPE[d] for d in dims).numel()
        return f(x.permute(*kept, *dims).reshape(-1, count), (1,)).reshape([SHAPE[d] for d in kept])

    return (lambda x: f(x, dims)), rows


def flat(f: Callable[..., torch.Tensor]) -> Pair:
    return f, lambda x: f(x.reshape(-1)).reshape(x.shape)


def lines(f: Callable[..., torch.Tensor], dim: int) -> Pair:
    return (
        lambda x: f(x, dim)
    ), lambda x: f(x.movedim(dim, -1).reshape(-1, SHAPE[dim]), 1).reshape(x.movedim(dim, -1).shape).movedim(-1, dim)


def in_lines(x: torch.Tensor) -> torch.Tensor:
    """(before, along, after) of the sixth dimension."""
    return x.reshape(24, 3, -1)


TO = torch.arange(X.numel()).reshape(SHAPE) * 7 % 5 % 3
WEIGHT = torch.linspace(-1, 2, 12).reshape(2, 2, 3)
PAIRS: dict[str, Pair] = {
    "exp": flat(torch.exp),
    "fake_quantize": flat(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)),
    "add": flat(lambda x: torch.add(x, x.sin(), alpha=0.3)),
    "broadcast": ((lambda x: x[:1].atan2(x[:, :1])), lambda x: torch.stack([x[0].atan2(y[:1]) for y in x])),
    "pow": flat(lambda x: x.abs() ** 2.5),
    "in place": flat(lambda x: x.clone().tanh_()),
    "sum": reduced(torch.sum, 0, 3, 5, 10),
    "sum of all": ((lambda x: x.sum()), lambda x: x.reshape(-1).sum()),
    "sum kept": ((lambda x: x.sum((1, 4), True)), lambda x: reduced(torch.sum, 1, 4)[1](x)[:, None].unsqueeze(4)),
    "mean": reduced(torch.mean, 2, 6, 10),
    "var": reduced(lambda x, dims: torch.var(x, dims, correction=0), 1, 5),
    "std": reduced(lambda x, dims: torch.std(x, dims), 0, 9),
    "norm": reduced(lambda x, dims: torch.linalg.vector_norm(x, 2, dims), 1, 3, 8),
    "amax of all": ((lambda x: x.amax()), lambda x: x.reshape(-1).amax()),
    "amax of all, kept": ((lambda x: x.amax((), True)), lambda x: x.reshape(-1).amax().reshape([1] * len(SHAPE))),
    "aminmax": ((lambda x: torch.stack(torch.aminmax(x))), lambda x: torch.stack(torch.aminmax(x.reshape(-1)))),
    "logsumexp": reduced(torch.logsumexp, 0, 6, 10),
    "cdist": (
        lambda x: torch.cdist(x, x[:1], p=1.5),
        lambda x: torch.cdist(x.reshape(2, -1, 2, 3), x[:1].reshape(1, -1, 2, 3), p=1.5).reshape(*SHAPE[:-1], 2),
    ),
    "index_add": (
        lambda x: x.index_add(5, torch.tensor([2, 0, 2]), x, alpha=0.3),
        lambda x: in_lines(x).index_add(1, torch.tensor([2, 0, 2]), in_lines(x), alpha=0.3).reshape(x.shape),
    ),
    "scatter_add": (
        lambda x: x.scatter_add(5, TO, x),
        lambda x: in_lines(x).scatter_add(1, in_lines(TO), in_lines(x)).reshape(x.shape),
    ),
    "mean of places": (
        lambda x: x.scatter_reduce(5, TO, x, "mean"),
        lambda x: in_lines(x).scatter_reduce(1, in_lines(TO), in_lines(x), "mean").reshape(x.shape),
    ),
    "gather": ((lambda x: x.gather(5, TO)), lambda x: in_lines(x).gather(1, in_lines(TO)).reshape(x.shape)),
    "segment_reduce": (
        lambda x: torch.segment_reduce(x.contiguous(), "sum", lengths=torch.tensor([2, 0]), axis=0),
        lambda x: torch.segment_reduce(x.reshape(2, -1), "sum", lengths=torch.tensor([2, 0])).reshape(x.shape),
    ),
    "embedding": (
        lambda x: F.embedding(TO, x.reshape(-1, 3)[:3]),
        lambda x: F.embedding(TO.reshape(-1), x.reshape(-1, 3)[:3]).reshape(*SHAPE, 3),
    ),
    "softmax": lines(torch.softmax, 5),
    "log_softmax": lines(torch.log_softmax, -1),
    "layer_norm": (
        lambda x: F.layer_norm(x, (2, 2, 3), WEIGHT.to(x), -WEIGHT.to(x)),
        lambda x: F.layer_norm(x.reshape(-1, 12), (12,), *(w.reshape(-1).to(x) for w in (WEIGHT, -WEIGHT))).reshape(
            SHAPE
        ),
    ),
    "rms_norm": (
        lambda x: F.rms_norm(x, (2, 3), eps=1e-3),
        lambda x: F.rms_norm(x.reshape(-1, 6), (6,), eps=1e-3).reshape(x.shape),
    ),
    "group_norm": (
        lambda x: F.group_norm(x, 3, WEIGHT[0, 0].to(x), -WEIGHT[0, 0].to(x)),
        lambda x: F.group_norm(x.reshape(2, 3, -1), 3, WEIGHT[0, 0].to(x), -WEIGHT[0, 0].to(x)).reshape(SHAPE),
    ),
    "batch_norm": (
        lambda x: F.batch_norm(x, None, None, WEIGHT[0, 0].to(x), training=True),
        lambda x: F.batch_norm(x.reshape(2, 3, -1), None, None, WEIGHT[0, 0].to(x), training=True).reshape(x.shape),
    ),
    "weight_norm": (
        lambda x: torch._weight_norm(x, WEIGHT[0, 0, :2].to(x).reshape([2] + [1] * 10)),
        lambda x: torch._weight_norm(x.reshape(2, -1), WEIGHT[0, 0, :2].to(x)[:, None]).reshape(SHAPE),
    ),
    "matmul": (
        lambda x: x @ x.mT,
        lambda x: (x.reshape(-1, 2, 3) @ x.reshape(-1, 2, 3).mT).reshape(*SHAPE[:-1], 2),
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, (x[:, 0] > 0).long()),
        lambda x: F.cross_entropy(x.reshape(2, 3, -1), (x[:, 0] > 0).long().reshape(2, -1)),
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", PAIRS)
def test_bits_of_fewer_dimensions(name: str, dtype: torch.dtype) -> None:
    of_many, of_few = PAIRS[name]
    hostile, finite = X.to(dtype), FINITE.to(dtype)
    with repdl.reproducible():
        for x in (hostile, finite):
            expected = of_few(x)
            for layout in (x, scattered(x)):
                assert same_bits(of_many(layout), expected)
        operands = finite.clone().requires_grad_(), finite.clone().requires_grad_()
        for function, operand in zip((of_many, of_few), operands, strict=True):
            torch.autograd.backward(function(operand * 1).square().sum())
    assert same_bits(operands[0].grad, operands[1].grad)  # type: ignore[arg-type]


def test_empty_tensors() -> None:
    x = torch.ones([1] * 7 + [0, 3, 2])
    with repdl.reproducible():
        assert x.sum().item() == 0 and x.sum(7).shape == x.shape[:7] + x.shape[8:]
        assert x.exp().shape == x.softmax(8).shape == x.cumsum(7).shape == x.shape
        with pytest.warns(UserWarning, match="degrees of freedom"):
            assert torch.isnan(x.var())
        assert torch.equal(x.logsumexp(7), torch.full([1] * 7 + [3, 2], -torch.inf))
        assert torch.cdist(x, x).shape == (*x.shape[:-1], 3)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_steps(name: str) -> None:
    found = []
    with repdl.reproducible():
        for shape in (lambda x: x, turned, lambda x: x.reshape(-1)):
            parameter = shape(FINITE).clone().requires_grad_()
            optimizer = getattr(torch.optim, name)([parameter], lr=0.1, fused=True)
            for _ in range(2):
                parameter.grad = shape(FINITE) * 0.3
                optimizer.step()
            found.append(parameter.detach().reshape(-1))
    assert all(same_bits(x, found[0]) for x in found)
    assert not torch.equal(found[0], FINITE.reshape(-1))


def test_more_than_twenty() -> None:
    """As simulators of quantum circuits have them: a state of 22 qubits, and a gate on two of them."""
    parts = torch.randn(2, 2**22, generator=torch.Generator().manual_seed(2))
    gate = torch.randn(2, 2, 2, 2, dtype=torch.complex64, generator=torch.Generator().manual_seed(3))
    with repdl.reproducible():
        state = torch.complex(*parts)
        state = state / torch.linalg.vector_norm(state)
        many = torch.tensordot(gate, state.reshape([2] * 22), dims=([2, 3], [4, 17]))
        few = state.reshape(16, 2, 2**12, 2, 16).permute(1, 3, 0, 2, 4).reshape(4, -1)
        assert same_bits(torch.view_as_real(many).reshape(-1), torch.view_as_real(gate.reshape(4, 4) @ few).reshape(-1))
        assert float(many.abs().square().sum()) > 0


COMPLEX: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "abs": torch.abs,
    "mul": lambda z: z * z,
    "sum": lambda z: z.sum((1, 3)),
    "norm": lambda z: torch.linalg.vector_norm(z, dim=(1, 3)),
    "var": lambda z: z.var((1, 3)),
    "prod": lambda z: z.prod(3),
    "cumsum": lambda z: z.cumsum(3),
    "cumprod": lambda z: z.cumprod(1),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_of_many_dimensions(name: str) -> None:
    """As of four, the others having size 1; eight are those of pairs with nine."""
    few = torch.randn(3, 5, 2, 7, dtype=torch.complex64, generator=torch.Generator().manual_seed(4))
    with repdl.reproducible():
        expected = COMPLEX[name](few)
        for rank in (8, 10):
            many = few.reshape(*few.shape, *[1] * (rank - 4))
            for layout in (many, many.mT.contiguous().mT):
                assert torch.equal(COMPLEX[name](layout).flatten(), expected.flatten())


def test_wrong_calls_say_what_is_wrong() -> None:
    x = torch.zeros([1] * 9)
    with repdl.reproducible(), pytest.raises(RuntimeError, match="match"):
        torch.atan2(x.expand(2, *[1] * 8), x.expand(3, *[1] * 8))
    with repdl.reproducible(), pytest.raises(IndexError):
        x.sum(9)
