# SPDX-License-Identifier: MIT
"""Sums by index under `repdl.enable()`: each is a loop over the index, for every form of it, and wrong ones raise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits, torch_threads

_generator = torch.Generator().manual_seed(7)


def places(size: int, *shape: int) -> torch.Tensor:
    return torch.randint(size, shape, generator=_generator)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Of both signs, with zeros of both signs, and here and there NaN or an infinity."""
    x = torch.randn(shape, generator=_generator, dtype=torch.float64)
    kind = torch.randint(500, shape, generator=_generator)
    for code, special in ((0, torch.nan), (1, torch.inf), (2, -torch.inf), (3, 0.0), (4, -0.0)):
        x = torch.where(kind == code, special, x)
    return x.to(dtype)


def added(rows: torch.Tensor, index: torch.Tensor, terms: torch.Tensor) -> torch.Tensor:
    """The written rule: one term after the other."""
    rows = rows.clone()
    for i, term in zip(index.tolist(), terms, strict=True):
        rows[i] = rows[i] + term
    return rows


def _put(x: torch.Tensor, index: list[torch.Tensor | None], terms: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.index_put(x, index, terms, accumulate=True)


def in_threads(call: Callable[[], Any]) -> list[Any]:
    found = []
    with repdl.reproducible():
        for threads in (1, 2, 3, 7):
            repdl.set_num_threads(threads)
            found.append(call())
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("rows", "count", "width"), [(5, 700, 131), (300, 900, 33), (2, 3, 1), (900, 20000, 1), (1, 40, 600)]
)
def test_rows_are_added_in_order(rows: int, count: int, width: int, dtype: torch.dtype) -> None:
    x, index, terms = numbers(rows, width, dtype=dtype), places(rows, count), numbers(count, width, dtype=dtype)
    expected = added(x, index, terms)
    wide, columns = index[:, None].expand(-1, width), torch.arange(width)[:, None]
    calls: dict[str, Callable[[], torch.Tensor]] = {
        "index_add": lambda: x.index_add(0, index, terms),
        "in place": lambda: x.clone().index_add_(0, index, terms),
        "another dimension": lambda: x.t().contiguous().index_add(1, index, terms.t()).t(),
        "a strided target": lambda: torch.stack([x, x], 2)[:, :, 1].index_add_(0, index, terms),
        "int32": lambda: x.index_add(0, index.int(), terms),
        "scatter_add": lambda: x.scatter_add(0, wide.contiguous(), terms),
        "scatter_add_": lambda: x.clone().scatter_add_(0, wide, terms),
        "scatter_reduce": lambda: x.scatter_reduce(0, wide, terms, "sum"),
        "index_put": lambda: x.index_put((index,), terms, accumulate=True),
        "negative": lambda: x.index_put((index - rows,), terms, accumulate=True),
        "of columns": lambda: _put(x.t().contiguous(), [None, index], terms.t()).t(),
        "a pair": lambda: x.index_put((wide, torch.arange(width).expand(count, -1)), terms, accumulate=True),
        "apart": lambda: _put(x[:, None], [index, None, columns], terms.t()[..., None])[:, 0],
        "put": lambda: x.put(wide * width + torch.arange(width), terms, accumulate=True),
    }  # fmt: skip
    for results in in_threads(lambda: [call() for call in calls.values()]):
        for name, result in zip(calls, results, strict=True):
            assert same_bits(result, expected), name


def test_a_term_that_overlaps_its_target() -> None:
    x = numbers(9, 4)
    expected = added(x, torch.arange(9).flip(0), x)
    with repdl.reproducible():
        assert same_bits(x.index_add_(0, torch.arange(9).flip(0), x), expected)


def test_a_mask() -> None:
    x, mask = numbers(9, 4), places(2, 9).bool()
    with repdl.reproducible():
        found = x.index_put((mask,), torch.ones(4), accumulate=True)
        assert same_bits(found, torch.where(mask[:, None], x + 1, x))
        every = x.index_put((torch.ones(9, 4, dtype=torch.bool),), torch.tensor(1.0), accumulate=True)
        assert same_bits(every, x + 1)


def test_a_smaller_index() -> None:
    x, index, terms = numbers(4, 9), places(4, 30, 5), numbers(40, 7)
    expected = x.clone()
    for column in range(5):
        expected[:, column] = added(x[:, column], index[:, column], terms[:30, column])
    with repdl.reproducible():
        assert same_bits(x.scatter_add(0, index, terms), expected)
        assert same_bits(x.scatter_add(0, index[:0], terms), x)


def test_complex_numbers_are_pairs() -> None:
    x, index, terms = numbers(9, 2, 2), places(9, 50), numbers(50, 2, 2)
    expected = added(x, index, terms)
    with repdl.reproducible():
        found = torch.view_as_complex(x).index_add(0, index, torch.view_as_complex(terms))
        put = torch.view_as_complex(x).index_put((index,), torch.view_as_complex(terms), accumulate=True)
    assert same_bits(torch.view_as_real(found), expected)
    assert same_bits(torch.view_as_real(put), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_counts_with_weights(dtype: torch.dtype) -> None:
    index, weights = places(50, 30000), torch.randn(30000, generator=_generator).mul(9).to(dtype)
    terms = weights if dtype == torch.float32 else weights.double()
    expected = added(torch.zeros(60, dtype=terms.dtype), index, terms)
    for result in in_threads(lambda: torch.bincount(index, weights, minlength=60)):
        assert same_bits(result, expected)


def test_gradients_of_an_embedding() -> None:
    weight, index = numbers(50, 70).requires_grad_(), places(50, 8, 40)
    terms = numbers(8, 40, 70)
    kept = index != 3
    expected = added(torch.zeros(50, 70), index[kept], terms[kept])

    def gradient() -> torch.Tensor:
        output = torch.nn.functional.embedding(index, weight, padding_idx=3)
        return torch.autograd.grad(output, weight, terms)[0]

    for result in in_threads(gradient):
        assert same_bits(result, expected)
    index = index.int()
    for result in in_threads(gradient):
        assert same_bits(result, expected)


def test_bags_of_every_size() -> None:
    weight, index = numbers(50, 70).requires_grad_(), places(50, 300)
    offsets = torch.tensor([0, 0, 7, 7, 8, 200, 300])
    bag_of = torch.tensor([1] * 7 + [3] + [4] * 192 + [5] * 100)
    expected = added(torch.zeros(7, 70), bag_of, weight.detach()[index])
    grad = numbers(7, 70)
    of_weight = added(torch.zeros(50, 70), index, grad[bag_of])
    for result in in_threads(lambda: torch.nn.functional.embedding_bag(index, weight, offsets, mode="sum")):
        assert same_bits(result.detach(), expected)

    def gradient() -> torch.Tensor:
        return torch.autograd.grad(torch.nn.functional.embedding_bag(index, weight, offsets, mode="sum"), weight, grad)[
            0
        ]

    for result in in_threads(gradient):
        assert same_bits(result, of_weight)


def bags(
    weight: torch.Tensor,
    index: torch.Tensor,
    bounds: list[int],
    mode: str,
    factors: torch.Tensor | None = None,
    padding: int | None = None,
) -> torch.Tensor:
    """The written rule: one row after the other, in each bag."""
    found = torch.zeros(len(bounds) - 1, weight.shape[1], dtype=weight.dtype)
    for b, (begin, end) in enumerate(pairwise(bounds)):
        kept = [i for i in range(begin, end) if index[i] != padding]
        for number, i in enumerate(kept):
            row = weight[index[i]] if factors is None else weight[index[i]] * factors[i]
            if mode == "max":
                found[b] = row if number == 0 else torch.where(row > found[b], row, found[b])
            else:
                found[b] = found[b] + row
        if mode == "mean" and kept:
            found[b] = found[b] / len(kept)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_every_form_of_bags(mode: str, dtype: torch.dtype) -> None:
    weight, index, bounds = numbers(50, 33, dtype=dtype), places(50, 300), [0, 0, 7, 7, 8, 200, 300, 300]
    offsets, wide = torch.tensor(bounds[:-1]), weight if dtype == torch.float64 else weight.float()
    apart, reversed_ = torch.stack([index, index], 1)[:, 0], weight.t().contiguous().t()
    calls: dict[str, Callable[[], torch.Tensor]] = {
        "int64": lambda: F.embedding_bag(index, weight, offsets, mode=mode),
        "int32": lambda: F.embedding_bag(index.int(), weight, offsets.int(), mode=mode),
        "int32 and int64": lambda: F.embedding_bag(index.int(), weight, offsets, mode=mode),
        "strides": lambda: F.embedding_bag(apart, reversed_, torch.stack([offsets, offsets], 1)[:, 1], mode=mode),
        "a last offset": lambda: F.embedding_bag(
            index, weight, torch.tensor(bounds), mode=mode, include_last_offset=True
        ),
        "trained": lambda: F.embedding_bag(index, weight.clone().requires_grad_(), offsets, mode=mode).detach(),
    }
    expected = bags(wide, index, bounds, mode).to(dtype)
    for results in in_threads(lambda: [call() for call in calls.values()]):
        for name, result in zip(calls, results, strict=True):
            assert same_bits(result, expected), name
    for padding in (3, -2):
        padded = bags(wide, index, bounds, mode, padding=padding % 50).to(dtype)
        with repdl.reproducible():
            assert same_bits(F.embedding_bag(index, weight, offsets, mode=mode, padding_idx=padding), padded)
    with repdl.reproducible():
        rows = F.embedding_bag(index.reshape(20, 15), weight, mode=mode)
        assert same_bits(rows, bags(wide, index, list(range(0, 301, 15)), mode).to(dtype))
        assert same_bits(
            F.embedding_bag(index[:0], weight, offsets[:2] * 0, mode=mode), torch.zeros(2, 33, dtype=dtype)
        )
        if mode == "sum":
            factors = numbers(300, dtype=dtype)
            weighted = bags(wide, index, bounds, mode, factors.to(wide.dtype), 3).to(dtype)
            found = F.embedding_bag(index, weight, offsets, mode=mode, per_sample_weights=factors, padding_idx=3)
            assert same_bits(found, weighted)


@pytest.mark.parametrize("integers", [torch.int64, torch.int32])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_bags(mode: str, integers: torch.dtype) -> None:
    weight, index, bounds = numbers(9, 33).requires_grad_(), places(9, 60).to(integers), [0, 0, 7, 7, 8, 20, 60]
    offsets, grad = torch.tensor(bounds[:-1], dtype=integers), numbers(6, 33)
    for padding in (None, 3):
        for by_count, sparse in ((False, False), (True, False), (False, True)):
            if mode == "max" and (by_count or sparse):
                continue
            expected = torch.zeros(9, 33)
            for b, (begin, end) in enumerate(pairwise(bounds)):
                kept = [i for i in range(begin, end) if index[i] != padding]
                rows = weight.detach()[index[kept]]
                if mode == "max" and kept:
                    largest = bags(weight.detach(), index[kept], [0, len(kept)], mode)[0]
                    same = (rows == largest) | (rows.isnan() & largest.isnan())
                    first = index[kept][same.to(torch.int64).argmax(0)].long()
                    expected[first, torch.arange(33)] = expected[first, torch.arange(33)] + grad[b]
                    continue
                for i in kept if mode != "max" else []:
                    term = grad[b] / len(kept) if mode == "mean" else grad[b]
                    term = term / int((index == index[i]).sum()) if by_count else term
                    expected[index[i]] = expected[index[i]] + term
            for result in in_threads(
                partial(_gradient_of_bags, index, weight, offsets, grad, mode, padding, by_count, sparse)
            ):
                assert same_bits(result, expected), (padding, by_count, sparse)


def _gradient_of_bags(
    index: torch.Tensor,
    weight: torch.Tensor,
    offsets: torch.Tensor,
    grad: torch.Tensor,
    mode: str,
    padding: int | None,
    by_count: bool,
    sparse: bool,
) -> torch.Tensor:
    found = F.embedding_bag(
        index, weight, offsets, mode=mode, padding_idx=padding, scale_grad_by_freq=by_count, sparse=sparse
    )
    return torch.autograd.grad(found, weight, grad)[0].to_dense()


@pytest.mark.parametrize(
    ("index", "offsets", "last", "message"),
    [
        ([0, 3], [0], False, "indices holds 3, which is not in \\[0, 3\\)"),
        ([0, -1], [0], False, "indices holds -1"),
        ([0, 1], [1], False, "offsets must begin with 0, .* got 1"),
        ([0, 1], [0, 2, 1], False, "offsets .* got 1 behind 2"),
        ([0, 1], [0, 3], False, "offsets .* not exceed the 2 indices, got 3"),
        ([0, 1], [0, 3], True, "offsets .* not exceed the 2 indices, got 3"),
        ([0, 1], [], False, "offsets must have a bag for the 2 indices"),
        ([0, 1], [0], True, "offsets must have a bag for the 2 indices"),
        ([0, 1], [0.0], False, "offsets must be int64 or int32, got torch.float32"),
    ],
)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_wrong_bags_are_named(index: list[int], offsets: list[int], last: bool, message: str, mode: int) -> None:
    of_bags = torch.tensor(offsets) if offsets else torch.empty(0, dtype=torch.int64)
    with repdl.reproducible(), pytest.raises(RuntimeError, match=rf"\[embedding_bag\] {message}"):
        torch.embedding_bag(torch.ones(3, 2), torch.tensor(index), of_bags, False, mode, False, None, last)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.index_add(0, torch.tensor([3]), x[:1]),
        lambda x: x.index_add_(0, torch.tensor([0, -1]), x[:2]),
        lambda x: x.scatter_add(0, torch.tensor([[0, 3]]), x),
        lambda x: x.scatter_add_(1, torch.tensor([[-1]]), x),
        lambda x: x.index_put((torch.tensor([0, 3]),), x[:2], accumulate=True),
        lambda x: x.put(torch.tensor([6]), x[0, :1], accumulate=True),
        lambda x: torch.ops.aten.embedding_dense_backward(x, torch.tensor([0, 5, 1]), 5, -1, False),
        lambda x: torch.nn.functional.embedding_bag(torch.tensor([0, 3]), x, torch.tensor([0])),
        lambda x: torch.nn.functional.embedding_bag(torch.tensor([0, 1]), x, torch.tensor([0, 2, 1])),
        lambda x: x.index_add(0, torch.tensor([0]), x),
        lambda x: x.index_add(0, torch.tensor([0.5]), x[:1]),
    ],
)
def test_a_wrong_index_raises_and_changes_nothing(call: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.ones(3, 2)
    with repdl.reproducible(), pytest.raises((RuntimeError, IndexError)):
        call(x)
    assert same_bits(x, torch.ones(3, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("offset", [None, 0, 5])
def test_the_last_of_those_that_a_view_has_in_one_place_stays(dtype: torch.dtype, offset: int | None) -> None:
    """torch's own kernel has threads that write to one place."""
    x, source = torch.zeros(318, 318, dtype=dtype), numbers(212, 212).nan_to_num().to(dtype)
    view = (212, 212), (1, 2), offset
    into = torch.arange(x.numel()).as_strided(view[0], view[1], offset or 0).flatten().tolist()
    last = dict(zip(into, range(len(into)), strict=True))
    expected = x.flatten()
    expected[list(last)] = source.flatten()[list(last.values())]
    for threads in (1, 2, 7):
        with repdl.reproducible(), torch_threads(threads):
            found = torch.as_strided_scatter(x, source, *view)
            of_columns = torch.as_strided_scatter(x, source.t().contiguous().t(), *view)
        assert same_bits(found.flatten(), expected) and same_bits(of_columns, found)
    with repdl.reproducible():
        narrow = torch.as_strided_scatter(torch.zeros(4, 5).t(), torch.ones(2, 3), (2, 3), (1, 1), 2)
    assert narrow.stride() == (1, 5) and narrow.t().flatten().tolist() == [0.0] * 2 + [1.0] * 4 + [0.0] * 14


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("include_self", [False, True])
def test_reductions_of_16_bits_round_once(dtype: torch.dtype, reduce: str, include_self: bool) -> None:
    """Of more terms than the type counts, by an index that is written out or repeats a column."""
    generator = torch.Generator().manual_seed(3)
    x, source = (torch.randn(n, 33, generator=generator).to(dtype) for n in (4, 3000))
    column = torch.randint(4, (3000, 1), generator=generator)
    settings: Any = {"reduce": reduce, "include_self": include_self}
    with repdl.reproducible():
        expected = x.float().scatter_reduce(0, column.expand(3000, 33), source.float(), **settings).to(dtype)
        for target, terms in ((x, source), (x.t().contiguous().t(), source.t().contiguous().t())):
            for index in (column.expand(3000, 33), column.repeat(1, 33)):
                assert same_bits(target.scatter_reduce(0, index, terms, **settings), expected)
            if reduce != "sum":
                assert same_bits(target.index_reduce(0, column[:, 0], terms, **settings), expected)
