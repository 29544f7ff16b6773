# SPDX-License-Identifier: MIT
"""Assignments by index: of several values for a place the last stays, on any number of threads."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import repdl
from support import torch_threads


def _written_in_order(x: torch.Tensor, index: Any, values: torch.Tensor) -> torch.Tensor:
    places = torch.arange(x.numel()).reshape(x.shape)[index]
    result = x.clone().reshape(-1)
    for place, value in zip(places.reshape(-1).tolist(), values.expand(places.shape).reshape(-1), strict=True):
        result[place] = value
    return result.reshape(x.shape)


A, B, C = torch.tensor([1, 3, 1, 6, -1, 3]), torch.tensor([0, 2, 0, 4, 4, 2]), torch.tensor([0, 1, 0, 3, 3, 1])
EVERY = slice(None)
ASSIGNMENTS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "rows": ((A,), (6, 5, 4)),
    "rows, of values that repeat": ((A,), (6, 1, 4)),
    "rows by a matrix": ((A.view(2, 3),), (2, 3, 5, 4)),
    "columns": ((EVERY, B), (7, 6, 4)),
    "the last dimension": ((EVERY, EVERY, C.int()), (5, 6)),
    "pairs": ((A, B), (6, 4)),
    "pairs behind a dimension": ((EVERY, B, C), (7, 6)),
    "pairs around a dimension": ((A, EVERY, C), (6, 5)),
    "pairs that are broadcast": ((A[:, None], B), (6, 6, 4)),
    "elements": ((A, B, C), (6,)),
    "one number": ((A, B), ()),
    "a mask": ((torch.tensor([True, False, True, True, False, False, True]),), (4, 5, 4)),
    "none": ((A[:0],), (0, 5, 4)),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_last_value_of_a_place_stays(name: str, threads: int) -> None:
    index, size = ASSIGNMENTS[name]
    made = torch.Generator().manual_seed(5)
    numbers, values = (torch.randn(shape, generator=made) * 10 for shape in ((7, 5, 4), size))
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool, torch.complex64):
        x, v = numbers.to(dtype), values.to(dtype)
        for laid_out in (x, x.transpose(0, 2).contiguous().transpose(0, 2), torch.cat([x, x]).view(2, *x.shape)[1]):
            expected = _written_in_order(x, index, v)
            with repdl.reproducible(), torch_threads(threads):
                found = laid_out.clone(memory_format=torch.preserve_format)
                found[index] = v
            assert torch.equal(found, expected)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("index", [A, A[:2]], ids=["that repeats", "that does not"])
@pytest.mark.parametrize("spread", [(), (1, 1)], ids=["too large", "of too many dimensions"])
def test_values_that_do_not_fit_are_refused_in_torchs_words(
    spread: tuple[int, ...], index: torch.Tensor, accumulate: bool
) -> None:
    values = torch.ones(*spread, len(index), 5, 4 if spread else 3)
    with pytest.raises(RuntimeError) as stock:
        torch.zeros(7, 5, 4).index_put_((index,), values, accumulate)
    with repdl.reproducible(), pytest.raises(RuntimeError) as ours:
        torch.zeros(7, 5, 4).index_put_((index,), values, accumulate)
    assert str(ours.value) == str(stock.value)


def test_many_rows_are_written_in_order() -> None:
    made = torch.Generator().manual_seed(6)
    rows = torch.randint(1000, (5000,), generator=made)
    values = torch.randn(5000, 64, generator=made)
    last = {row: n for n, row in enumerate(rows.tolist())}
    with repdl.reproducible(), torch_threads(3):
        found = torch.zeros(1000, 64).index_put((rows,), values)
        shifted = torch.arange(20.0)
        shifted[torch.tensor([1, 2, 3, 2])] = shifted[0:4]  # values that lie in what is written
    assert all(torch.equal(found[row], values[n]) for row, n in last.items())
    assert shifted[:5].tolist() == [0.0, 0.0, 3.0, 2.0, 4.0]
