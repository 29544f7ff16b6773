# SPDX-License-Identifier: MIT
"""Of equal numbers the one with the lowest index is taken: zeros of both signs are equal, and NaNs are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits

INF, NAN = math.inf, math.nan
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
ROWS = [(1, 1), (3, 16), (5, 17), (2, 200), (40, 67)]


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


def drawn(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    values = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, NAN, 2.0, -0.0, 0.0], dtype=dtype)
    generator = torch.Generator().manual_seed(seed)
    return values[torch.randint(len(values), shape, generator=generator)]


def key(x: float) -> tuple[bool, float]:
    """Numbers in ascending order, NaN behind them; Python's sort is stable and takes zeros for equal."""
    return (True, 0.0) if math.isnan(x) else (False, x)


def by_order(row: list[float], descending: bool = False) -> list[int]:
    return sorted(range(len(row)), key=lambda i: key(row[i]), reverse=descending)  # stable also in reverse


def first_equal(row: list[float], x: float) -> int:
    return next(i for i, y in enumerate(row) if key(y) == key(x))


def check_rows(x: torch.Tensor, found: Any, expected: Callable[[list[float]], list[int]]) -> None:
    """That values and indices of each row are those at the indices which the function says, by place or for the row."""
    values, indices = found
    rows = [expected(row) for row in x.tolist()]
    wanted = torch.tensor(rows).reshape(indices.shape)
    assert torch.equal(indices, wanted)
    assert same_bits(values, x.gather(1, wanted.reshape(len(x), -1)).reshape(values.shape))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_orders(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = drawn(shape, dtype)
    half = shape[1] // 2
    for descending in (False, True):
        check_rows(x, x.sort(1, descending), lambda row, d=descending: by_order(row, d))
        check_rows(
            x, torch.sort(x, stable=False, dim=1, descending=descending), lambda row, d=descending: by_order(row, d)
        )
        check_rows(x.t().contiguous().t(), x.sort(1, descending), lambda row, d=descending: by_order(row, d))
        assert torch.equal(x.argsort(1, descending), x.sort(1, descending).indices)
        for wanted in (1, half, max(shape[1] // 9, 1)):
            found = x.topk(wanted, 1, descending)
            check_rows(x, found, lambda row, d=descending, k=wanted: by_order(row, d)[:k])
            assert torch.equal(x.topk(wanted, 1, descending, sorted=False).indices.sort(1)[0], found.indices.sort(1)[0])
    assert same_bits(x.t().msort(), x.sort(1).values.t())
    out = torch.empty_like(x), torch.empty(shape, dtype=torch.int64)
    check_rows(x, torch.sort(x, 1, out=out), by_order)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_choices(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = drawn(shape, dtype, 1)
    middle = (shape[1] - 1) // 2

    def nan_median(row: list[float]) -> list[int]:
        numbers = [y for y in row if not math.isnan(y)]
        return [first_equal(row, sorted(numbers)[(len(numbers) - 1) // 2] if numbers else NAN)]

    def median(row: list[float]) -> list[int]:
        return [first_equal(row, NAN if any(map(math.isnan, row)) else sorted(row)[middle])]

    def mode(row: list[float]) -> list[int]:
        counts = {key(y): sum(key(z) == key(y) for z in row) for y in row}
        most = min(counts, key=lambda k: (-counts[k], k))
        return [next(i for i, y in enumerate(row) if key(y) == most)]

    check_rows(x, x.median(1), median)
    check_rows(x, x.nanmedian(1), nan_median)
    check_rows(x, x.mode(1), mode)
    for k in {1, middle + 1, shape[1]}:
        check_rows(x, x.kthvalue(k, 1), lambda row, k=k: [first_equal(row, sorted(row, key=key)[k - 1])])
    check_rows(x, x.max(1), lambda row: [first_equal(row, NAN if any(map(math.isnan, row)) else max(row))])
    check_rows(x, x.min(1), lambda row: [first_equal(row, NAN if any(map(math.isnan, row)) else min(row))])
    assert torch.equal(x.argmax(1), x.max(1).indices) and torch.equal(x.argmin(0), x.t().min(1).indices)
    flat = x.reshape(-1)
    assert same_bits(x.t().nanmedian(), x.t().reshape(1, -1).nanmedian(1).values[0])
    assert same_bits(x.median(), flat[None].median(1).values[0])
    for keepdim in (False, True):  # the same down, and into given tensors
        for name in ("median", "nanmedian", "mode"):
            values, indices = getattr(torch, name)(x.t(), 0, keepdim)
            across = getattr(torch, name)(x, 1, keepdim)
            assert same_bits(values, across[0].t() if keepdim else across[0])
            assert torch.equal(indices, across[1].t() if keepdim else across[1])


INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype: torch.dtype) -> None:
    info = torch.iinfo(dtype)
    values = torch.tensor([info.min, info.max, 0, 1, 2, info.max - 1, info.min + 1, 7], dtype=dtype)
    x = values[torch.randint(len(values), (3, 301), generator=torch.Generator().manual_seed(5))]
    for descending in (False, True):
        check_rows(x, x.sort(1, descending), lambda row, d=descending: by_order(row, d))
        for k in (1, 30, 200):
            check_rows(x, x.topk(k, 1, descending), lambda row, d=descending, k=k: by_order(row, d)[:k])
    check_rows(x, x.kthvalue(150, 1), lambda row: [first_equal(row, sorted(row)[149])])
    check_rows(x, x.median(1), lambda row: [first_equal(row, sorted(row)[150])])
    check_rows(x, x.mode(1), lambda row: [first_equal(row, min(row, key=lambda y: (-row.count(y), y)))])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_long_rows(dtype: torch.dtype) -> None:
    """Rows in which every number comes before those found so far, or none does, or all are equal; threads for one."""
    before = repdl.get_num_threads()
    numbers = torch.arange(66_000).remainder(2048).to(dtype)
    rows = torch.stack(
        [numbers.sort().values, numbers.sort(descending=True).values, numbers, torch.full_like(numbers, NAN)]
    )
    for descending in (False, True):
        order = torch.from_numpy(np.argsort((-rows if descending else rows).double().numpy(), 1, kind="stable"))
        for k in (1, 40, 66_000):
            for row, places in zip(rows, order, strict=True):
                values, indices = row.topk(k, 0, descending)
                assert torch.equal(indices, places[:k]) and same_bits(values, row[places[:k]])
        for threads in (1, 2, 3, 7):
            repdl.set_num_threads(threads)
            assert torch.equal(rows[2].sort(0, descending).indices, order[2])
    repdl.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_running_extremes_take_the_last(dtype: torch.dtype) -> None:
    """As torch's: of equal numbers the later one, and from the first NaN on the last NaN."""
    x = drawn((9, 67), dtype, 2)
    for found, better in ((x.cummax(1), lambda a, b: a >= b), (x.cummin(1), lambda a, b: a <= b)):
        for row, values, indices in zip(x.tolist(), found[0], found[1], strict=True):
            at = 0
            for i, y in enumerate(row):
                if math.isnan(y) or (not math.isnan(row[at]) and better(y, row[at])):
                    at = i
                assert indices[i] == at
            assert same_bits(values, torch.tensor(row, dtype=dtype)[indices])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique_numbers(dtype: torch.dtype) -> None:
    x = torch.nan_to_num(drawn((300,), dtype, 3), nan=5.0)
    expected = [x.tolist()[first_equal(x.tolist(), y)] for y in sorted(set(x.tolist()))]
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert same_bits(values, torch.tensor(expected, dtype=dtype))
    assert torch.equal(values[inverse], x) and counts.sum() == 300
    assert same_bits(torch.unique(x.flip(0).reshape(2, 150)).sort()[0] + 0.0, values + 0.0)
    zeros = torch.tensor([-0.0, 0.0, -0.0, 0.0, 0.0], dtype=dtype)
    for rows in (zeros, zeros.flip(0)):
        assert same_bits(torch.unique(rows), rows[:1])
        assert same_bits(torch.unique(rows, sorted=False), rows[:1])
        assert same_bits(torch.unique_consecutive(rows), rows[:1])
        pairs = torch.stack([rows, rows.flip(0)], 1)
        assert same_bits(torch.unique(pairs, dim=0), pairs[:1])
        assert same_bits(torch.unique(pairs.t(), dim=1), pairs.t()[:, :1])
        assert same_bits(torch.unique_consecutive(pairs, dim=0), pairs[:1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_pools(dtype: torch.dtype, zero: float) -> None:
    """The first of equal numbers in row-major order, with the sign of its zero."""
    x = torch.full((2, 19, 9, 9), -zero, dtype=dtype)
    x[..., ::3, ::3] = zero
    places = torch.arange(81).reshape(9, 9)[::3, ::3].expand(2, 19, 3, 3)
    values = torch.full((2, 19, 3, 3), zero, dtype=dtype)
    for image in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3).contiguous().transpose(2, 3)):
        for found in (
            F.max_pool2d(image, 3, return_indices=True),
            F.adaptive_max_pool2d(image, 3, return_indices=True),
        ):
            assert same_bits(found[0].contiguous(), values) and torch.equal(found[1], places)
    samples = torch.full((2, 19, 2), 0.3, dtype=dtype)
    pooled, indices = F.fractional_max_pool2d(x, 3, 3, _random_samples=samples, return_indices=True)
    assert same_bits(pooled.flatten(2), x.flatten(2).gather(2, indices.flatten(2)))
    line = x[0, :, 0]
    for found in (
        F.max_pool1d(line, 3, return_indices=True),
        F.adaptive_max_pool1d(line, 3, return_indices=True),
    ):
        assert same_bits(found[0], values[0, :, 0]) and torch.equal(found[1], places[0, :, 0])
    assert same_bits(F.max_pool1d(line, 3), values[0, :, 0])
    volume = x[None, :1, :9].expand(1, 1, 9, 9, 9)
    for found in (
        F.max_pool3d(volume, (1, 3, 3), return_indices=True),
        F.adaptive_max_pool3d(volume, (9, 3, 3), return_indices=True),
    ):
        assert same_bits(found[0], values[0, :1, None].expand(1, 9, 3, 3)[None])
        assert torch.equal(found[1] % 81, places[0, :1, None].expand(1, 9, 3, 3)[None])


def test_nan_in_pools() -> None:
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 1] = x[0, 0, 0, 1] = NAN
    for pool in (F.max_pool2d(x, 4, return_indices=True), F.adaptive_max_pool2d(x, 1, return_indices=True)):
        assert bool(pool[0].isnan())
