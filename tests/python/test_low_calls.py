# SPDX-License-Identifier: MIT
"""Calls of bfloat16 and float16 give the results of the same calls of float32, rounded once, in whatever layout."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

import repdl
from support import same_bits, torch_threads

DTYPES = (torch.bfloat16, torch.float16)
Tensors = tuple[torch.Tensor, ...]

CALLS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, *_: x.sum(1),
    "mean": lambda x, *_: x.mean(0),
    "softmax": lambda x, *_: F.softmax(x, 1),
    "log_softmax": lambda x, *_: F.log_softmax(x, 0),
    "layer_norm": lambda x, w, v: F.layer_norm(x, (x.shape[1],), v, v),
    "logsumexp": lambda x, *_: x.logsumexp(1),
    "var": lambda x, *_: x.var(1),
    "mm": lambda x, w, v: x @ w.t(),
    "product with rows side by side": lambda x, w, v: x @ w.t().contiguous(),
    "bmm": lambda x, w, v: torch.bmm(x.expand(2, *x.shape), w.t().expand(2, x.shape[1], -1)),
    "mv": lambda x, w, v: x @ v,
    "dot": lambda x, w, v: v.dot(v.flip(0)),
    "linear": lambda x, w, v: F.linear(x, w, w[:, 0]),
    "addmm": lambda x, w, v: torch.addmm(w[:, 0], x, w.t()),
    "linear of one row": lambda x, w, v: F.linear(v, w, w[:, 0]),
    "linear to one number": lambda x, w, v: F.linear(x, w[:1], w[0, :1]),
    "cumsum": lambda x, *_: x.cumsum(1),
    "prod": lambda x, *_: x.prod(1),
}


def _operands(rows: int, cols: int, dtype: torch.dtype) -> Tensors:
    made = torch.Generator().manual_seed(rows + cols)
    x, w, v = (torch.randn(shape, generator=made).to(dtype) for shape in ((rows, cols), (rows, cols), (cols,)))
    x.view(torch.int16)[0, :4] = torch.tensor([1, -32767, 3, 0x0400], dtype=torch.int16)  # subnormal numbers
    return x, w, v


def _spread(t: torch.Tensor) -> torch.Tensor:
    """The same numbers, not side by side and off every boundary."""
    room = torch.zeros(*(2 * size + 1 for size in t.shape), dtype=t.dtype)
    view = room[tuple(slice(1, None, 2) for _ in t.shape)]
    return view.copy_(t)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "row-major": lambda t: t,
    "column-major": lambda t: t.t().contiguous().t() if t.dim() == 2 else t,
    "spread": _spread,
    "behind the first number": lambda t: torch.cat([t.new_zeros(1), t.reshape(-1)])[1:].view(t.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_float32_rounded_once(name: str, dtype: torch.dtype, layout: str) -> None:
    for rows, cols in ((3, 5), (9, 70), (37, 300), (300, 520)):
        operands = _operands(rows, cols, dtype)
        with repdl.reproducible():
            wide = CALLS[name](*(t.float() for t in operands))
            low = CALLS[name](*map(LAYOUTS[layout], operands))
        assert low.dtype == dtype
        assert torch.equal(low.view(torch.int16), wide.to(dtype).view(torch.int16)), (rows, cols)


OF_BATCHES: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, g, v: F.softmax(x, -1),
    "softmax of another dimension": lambda x, g, v: F.softmax(x, 1),
    "log_softmax": lambda x, g, v: F.log_softmax(x, -1),
    "gradient of softmax": lambda x, g, v: torch.ops.aten._softmax_backward_data(g, x, -1, x.dtype),
    "gradient of log_softmax": lambda x, g, v: torch.ops.aten._log_softmax_backward_data(g, x, 1, x.dtype),
    "layer_norm": lambda x, g, v: torch.native_layer_norm(x, x.shape[-1:], v, v, 1e-5),
    "layer_norm of two dimensions": lambda x, g, v: F.layer_norm(x, x.shape[-2:]),
    "batch_norm": lambda x, g, v: F.batch_norm(x, *g.reshape(-1)[: 4 * x.shape[1]].abs().view(4, -1)),
    "rms_norm": lambda x, g, v: F.rms_norm(x, x.shape[-1:], v),
    "group_norm": lambda x, g, v: torch.native_group_norm(x, None, None, len(x), x.shape[1], x[0, 0].numel(), 1, 1e-5),
    "group_norm of channels": lambda x, g, v: F.group_norm(x, x.shape[1], *g.reshape(-1)[: 2 * x.shape[1]].view(2, -1)),
}
"""They are cut into pieces of some places of the batch, above a size."""


SHAPES = ((3, 1, 70, 523), (1, 1, 90, 700), (2, 40, 2003), (1, 2, 40_000), (150, 513), (70_000, 2), (7, 5, 2, 900))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_BATCHES)
def test_batches_in_pieces(name: str, dtype: torch.dtype, threads: int) -> None:
    for shape, layout in itertools.product(SHAPES, ("row-major", "spread")):
        made = torch.Generator().manual_seed(sum(shape))
        operands = [torch.randn(size, generator=made).to(dtype) for size in (shape, shape, shape[-1:])]
        operands[0].view(-1)[-5:] = torch.tensor([math.nan, math.inf, -math.inf, -0.0, 1e-40], dtype=dtype)
        with repdl.reproducible(), torch_threads(threads):
            wide = tree_leaves(OF_BATCHES[name](*(t.float() for t in operands)))
            low = tree_leaves(OF_BATCHES[name](*map(LAYOUTS[layout], operands)))
        for found, expected in zip(low, wide, strict=True):
            assert same_bits(found, expected.to(dtype)), (shape, layout)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_go_into_tensors_that_are_given(dtype: torch.dtype) -> None:
    x, w, _ = _operands(9, 70, dtype)
    with repdl.reproducible():
        expected = x @ w.t()
        out = torch.empty_like(expected)
        assert torch.mm(x, w.t(), out=out) is out
        assert torch.equal(out, expected)
        square = x[:, :9].contiguous()
        expected = square @ square
        torch.mm(square, square, out=square)  # over an operand
        assert torch.equal(square, expected)
        strided = torch.empty(9, 18, dtype=dtype)[:, ::2]
        torch.mm(x, w.t(), out=strided)
        assert torch.equal(strided, x @ w.t())
        with pytest.raises(RuntimeError):
            x.mm(w.t().float())
