# SPDX-License-Identifier: MIT
"""Sums by an index whose rows ascend are shared among threads at the rows: no number of threads shows in the bits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import repdl
from repdl import ops

TERMS = 20_000


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = repdl.get_num_threads()
    yield
    repdl.set_num_threads(before)


def lengths(kind: str) -> torch.Tensor:
    """Of the runs of terms that meet in one row."""
    generator = torch.Generator().manual_seed(0)
    match kind:
        case "even":
            return torch.full((TERMS // 20,), 20)
        case "uneven":
            return torch.randint(0, 300, (TERMS // 150,), generator=generator)
        case "one long":  # just below the share of a thread of two, and of more than one of three
            return torch.tensor([3, TERMS // 2 - 9, *[1] * (TERMS // 2)])
        case _:
            return torch.tensor([TERMS])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [1, 5, 64, 131])
@pytest.mark.parametrize("kind", ["even", "uneven", "one long", "one row"])
def test_threads_do_not_show(kind: str, width: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    count = lengths(kind)
    row = torch.repeat_interleave(torch.arange(count.numel()), count)
    values, table = torch.randn(row.numel(), generator=generator), torch.randn(97, width, generator=generator)
    column = torch.randint(0, 97, row.shape, generator=generator)
    results = []
    for threads in (1, 2, 3, 7):
        repdl.set_num_threads(threads)
        results.append(ops.sparse_mm(values.to(dtype), row, column, table.to(dtype), count.numel()))
    expected = torch.zeros(count.numel(), width, dtype=dtype)
    for i in (0, count.numel() // 2, count.numel() - 1):  # each sum in the order of its terms
        for t in (row == i).nonzero().flatten().tolist()[:500]:
            expected[i] += values[t].to(dtype) * table[column[t]].to(dtype)
        if (row == i).sum() <= 500:
            assert torch.equal(results[0][i], expected[i])
    for result in results[1:]:
        assert torch.equal(result.view(torch.uint8), results[0].view(torch.uint8))
