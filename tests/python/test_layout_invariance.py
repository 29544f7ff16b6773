# SPDX-License-Identifier: MIT
"""Results and gradients of torch's ops do not depend on strides, threads or the batch, nor on the machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import torch_threads

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
PRECISE = DTYPES[:2]

Call = tuple[Callable[..., Any], tuple[torch.Tensor, ...], tuple[torch.dtype, ...]]
CALLS: dict[str, Call] = {}
ROWS: set[str] = set()
"""Calls whose operands and results have the samples of a batch first."""


def drawn(*shape: int) -> torch.Tensor:
    """Numbers of many sizes, drawn as integers: torch's normal numbers differ between instruction sets."""
    generator = torch.Generator().manual_seed(sum(shape))
    bits = torch.randint(-(2**23), 2**23, shape, generator=generator).double() / 2.0**21
    return bits * 2.0 ** torch.randint(-3, 3, shape, generator=generator).double()


def call(
    name: str, function: Callable[..., Any], *operands: torch.Tensor, dtypes: Any = DTYPES, rows: bool = False
) -> None:
    CALLS[name] = function, operands, dtypes
    if rows:
        ROWS.add(name)


WEIGHT, BIAS = drawn(17, 33), drawn(17)
SQUARES = drawn(3, 12, 12) + 8 * torch.eye(12, dtype=torch.float64)
SYMMETRIC = SQUARES @ SQUARES.mT
IMAGES, LINES = drawn(3, 4, 13, 15), drawn(3, 4, 61)


def cell_weights(gates: int, dtype: torch.dtype) -> list[torch.Tensor]:
    return [
        t.to(dtype) / 4 for t in (drawn(10 * gates, 12), drawn(10 * gates, 10), drawn(10 * gates), drawn(gates * 10))
    ]


def recurrent(kind: str, x: torch.Tensor) -> Any:
    state = x.new_zeros(1, len(x), 10)
    rest = True, 1, 0.0, False, False, True
    if kind == "lstm":
        return torch.lstm(x, (state, state), cell_weights(4, x.dtype), *rest)
    if kind == "gru":
        return torch.gru(x, state, cell_weights(3, x.dtype), *rest)
    return torch.rnn_tanh(x, state, cell_weights(1, x.dtype), *rest)


def attended(x: torch.Tensor) -> Any:
    weights = [t.to(x.dtype) / 4 for t in (drawn(36, 12), drawn(36), drawn(12, 12), drawn(12))]
    taken = weights[0], weights[1], None, None, False, 0.0, weights[2], weights[3]
    return F.multi_head_attention_forward(*[x.transpose(0, 1)] * 3, 12, 3, *taken)[0].transpose(0, 1)  # type: ignore[arg-type]


for _shape in ((33,), (9, 33), (5, 9, 33), (2, 5, 9, 33)):
    call(f"linear {len(_shape)}", F.linear, drawn(*_shape), WEIGHT, BIAS, rows=len(_shape) > 1)
call("linear of a vector", F.linear, drawn(5, 9, 33), WEIGHT[0], BIAS[0], rows=True)
call("linear with a wide bias", F.linear, drawn(5, 9, 33), WEIGHT, drawn(9, 17))
for _name in ("lstm", "gru", "rnn"):
    call(_name, lambda x, kind=_name: recurrent(kind, x), drawn(4, 6, 12) / 8, rows=True)
call("attention of heads", attended, drawn(4, 6, 12), rows=True)
call("matmul", torch.matmul, drawn(4, 5, 33), drawn(33, 6))
call("matmul of batches", torch.matmul, drawn(4, 1, 5, 33), drawn(4, 33, 6))
call("inner", torch.inner, drawn(300), drawn(300))
call("inner of rows", torch.inner, drawn(4, 5, 300), drawn(6, 300))
call("tensordot", lambda a, b: torch.tensordot(a, b, dims=([1, 2], [1, 0])), drawn(4, 5, 30), drawn(30, 5, 6))
call("tensordot of all", lambda a, b: torch.tensordot(a, b, dims=3), drawn(4, 5, 30), drawn(4, 5, 30))
call("tensordot with 1", lambda a, b: torch.tensordot(a, b, dims=2), drawn(4, 5, 30), drawn(5, 1, 6))
call("einsum", lambda a, b: torch.einsum("bij,bij->b", a, b), drawn(4, 20, 30), drawn(4, 20, 30), rows=True)
call("bilinear", F.bilinear, drawn(4, 5, 9), drawn(4, 5, 11), drawn(7, 9, 11), drawn(7))
for _name in ("det", "slogdet", "inv", "lu", "qr", "svdvals", "eigvalsh", "pinv", "matrix_exp"):
    call(_name, getattr(torch.linalg, _name), SQUARES / 8, dtypes=PRECISE, rows=True)
call("logdet", torch.logdet, SYMMETRIC, dtypes=PRECISE, rows=True)
call("cholesky", torch.linalg.cholesky, SYMMETRIC, dtypes=PRECISE, rows=True)
call("solve", torch.linalg.solve, SQUARES, drawn(3, 12, 4), dtypes=PRECISE, rows=True)
call("lstsq", lambda a, b: torch.linalg.lstsq(a, b)[0], drawn(3, 12, 5), drawn(3, 12, 4), dtypes=PRECISE, rows=True)
for _how in ("none", "mean", "sum"):
    for _size in (0.3, 1 / 3, 1.0):
        call(
            f"smooth_l1_loss {_how} {_size}",
            lambda x, y, how=_how, size=_size: F.smooth_l1_loss(x, y, reduction=how, beta=size),
            drawn(40, 31),
            drawn(31, 40).t().contiguous(),
        )
        call(
            f"huber_loss {_how} {_size}",
            lambda x, y, how=_how, size=_size: F.huber_loss(x, y, reduction=how, delta=size),
            drawn(40, 31),
            drawn(31, 40).t().contiguous(),
        )
call("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 5), IMAGES, rows=True)
call("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=7), IMAGES, rows=True)
call("max_pool2d", lambda x: F.max_pool2d(x, 3, 1), IMAGES, rows=True)
call("cumsum", lambda x: x.cumsum(1), LINES, rows=True)
call("logcumsumexp", lambda x: x.logcumsumexp(2), LINES, rows=True)
call("cumprod", lambda x: x.cumprod(1), LINES, dtypes=(*DTYPES, torch.complex64), rows=True)
call("fold", lambda x: F.fold(x, (6, 7), 3), drawn(2, 18, 20), rows=True)
PLACES = torch.arange(60) * 7 % 9
for _alpha in (1, 0.3, 1 / 3):
    call(f"index_add {_alpha}", lambda z, x, a=_alpha: z.index_add(0, PLACES, x, alpha=a), drawn(9, 31), drawn(60, 31))
    call(
        f"index_add_ {_alpha}",
        lambda z, x, a=_alpha: z.clone().index_add_(0, PLACES, x, alpha=a),
        drawn(9, 31),
        drawn(60, 31),
    )
call("embedding by frequency", lambda x: F.embedding(PLACES, x, scale_grad_by_freq=True), drawn(9, 31))
for _step in (0.3, 1 / 3, 0.1 + 1e-9, 1, 3):
    call(f"arange by {_step}", lambda x, by=_step: torch.arange(-7.25, 50_000 * by, by, dtype=x.dtype), drawn(1))


def spread(x: torch.Tensor) -> torch.Tensor:
    wide = x.new_zeros(*x.shape, 2)
    wide[..., 0] = x
    return wide[..., 0]


def turned(x: torch.Tensor) -> torch.Tensor:
    return x.clone() if x.dim() < 2 else x.permute(*reversed(range(x.dim()))).contiguous().permute(
        *reversed(range(x.dim()))
    )  # fmt: skip


def columns(x: torch.Tensor) -> torch.Tensor:
    return x.clone() if x.dim() < 2 else x.mT.contiguous().mT


def channels_last(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x.clone()


def misaligned(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(x.shape)


LAYOUTS = spread, turned, columns, channels_last, misaligned


def results(function: Callable[..., Any], operands: Any, layout: Callable[..., Any] = torch.clone) -> list[Any]:
    """Values and gradients; those that flow back lie as the operands do."""
    leaves = [layout(x).detach().requires_grad_() for x in operands]
    value = function(*leaves)
    values = [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, torch.Tensor)]
    curved = [v for v in values if v.requires_grad]
    weights = [layout(((torch.arange(v.numel()) * 37 % 101 - 50) / 77).to(v.dtype).reshape(v.shape)) for v in curved]
    grads = torch.autograd.grad(curved, leaves, weights, allow_unused=True) if curved else ()
    return [*values, *(g for g in grads if g is not None)]


def bits(tensors: list[torch.Tensor]) -> list[str]:
    return [
        hashlib.sha256(t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
        for t in tensors
    ]


@pytest.mark.parametrize("name", CALLS)
def test_layout_and_threads(name: str) -> None:
    function, operands, dtypes = CALLS[name]
    with repdl.reproducible():
        for dtype in dtypes:
            given = [x.to(dtype) for x in operands]
            with torch_threads(1):
                plain = bits(results(function, given))
            with torch_threads(3):
                assert bits(results(function, given)) == plain, f"3 threads, {dtype}"
                for layout in LAYOUTS:
                    assert bits(results(function, given, layout)) == plain, f"{layout.__name__}, {dtype}"


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_row_alone(name: str) -> None:
    """As in its batch. What does not have the size of the batch is the same for all of it."""
    function, operands, dtypes = CALLS[name]
    count = len(operands[0])
    with repdl.reproducible():
        for dtype in dtypes:
            given = [x.to(dtype) for x in operands]
            value = function(*given)
            row = function(*(x[1:2] if x.dim() and len(x) == count else x for x in given))
            for whole, alone in zip(*((v if isinstance(v, tuple) else (v,)) for v in (value, row)), strict=True):
                if len(whole) == count:
                    assert bits([alone]) == bits([whole[1:2]]), f"{dtype}"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_linear_rounds_once(dtype: torch.dtype) -> None:
    x, weight, bias = (t.to(dtype) for t in (drawn(5, 9, 33), WEIGHT, BIAS))
    out = torch.empty(5, 9, 17, dtype=dtype)
    with repdl.reproducible():
        wide = F.linear(x.float(), weight.float(), bias.float()).to(dtype)
        for given in (x, turned(x)):
            assert torch.equal(F.linear(given, weight, bias), wide)
            torch._C._nn.linear(given, weight, bias, out=out)
            assert torch.equal(out, wide)
            assert torch.equal(
                torch.stack([F.linear(row, weight, bias) for row in given.flatten(0, 1)]), wide.flatten(0, 1)
            )


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # from the first import of torch's jvp
def test_linear_is_differentiable_twice_and_maps() -> None:
    x, weight, bias = drawn(2, 3, 4), drawn(5, 4), drawn(5)
    leaves = [t.clone().requires_grad_() for t in (turned(x), weight, bias)]
    with repdl.reproducible():
        assert torch.autograd.gradcheck(F.linear, leaves) and torch.autograd.gradgradcheck(F.linear, leaves)
        assert torch.equal(torch.func.vmap(F.linear, (0, None, None))(x, weight, bias), F.linear(x, weight, bias))
        _, tangent = torch.func.jvp(lambda a: F.linear(a, weight, bias), (x,), (torch.ones_like(x),))
        assert torch.allclose(tangent, weight.sum(1).expand(2, 3, 5))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert F.linear(x.float(), weight.float(), bias.float()).dtype == torch.bfloat16
        with pytest.raises(RuntimeError):
            F.linear(torch.tensor(1.0), weight.float())


def digest() -> str:
    """Of half of the types: float32, and bfloat16 where it applies."""
    sha = hashlib.sha256()
    with repdl.reproducible():
        for function, operands, dtypes in CALLS.values():
            for dtype in dtypes[:3:2]:
                sha.update("".join(bits(results(function, [x.to(dtype) for x in operands]))).encode())
    return sha.hexdigest()
