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


MASK = torch.tensor([True, False, True, True, False, False, True])
FILLED: dict[str, tuple[torch.dtype, Any, torch.Tensor]] = {
    "bfloat16 by float32": (torch.bfloat16, MASK, torch.tensor(-torch.inf)),
    "float16 by a row of one": (torch.float16, MASK, torch.tensor([0.1])),
    "float32 by float64": (torch.float32, MASK, torch.tensor(0.1, dtype=torch.float64)),
    "float32 by an integer": (torch.float32, MASK, torch.tensor(7)),
    "float32 by a truth value": (torch.float32, MASK, torch.tensor(True)),
    "float64 by float32": (torch.float64, MASK, torch.tensor(0.1)),
    "integers by a float": (torch.int64, MASK, torch.tensor(7.5)),
    "truth values by an integer": (torch.bool, MASK, torch.tensor(2)),
    "complex64 by a float": (torch.complex64, MASK, torch.tensor(0.1)),
    "a mask of elements": (torch.bfloat16, MASK[:, None].expand(7, 5), torch.tensor(2.0)),
    "a mask behind a dimension": (torch.bfloat16, (EVERY, MASK[:5]), torch.tensor(2.0)),
    "an empty mask": (torch.bfloat16, MASK & ~MASK, torch.tensor(2.0)),
}


@pytest.mark.parametrize("name", FILLED)
def test_a_mask_takes_one_number_of_any_type(name: str) -> None:
    dtype, index, value = FILLED[name]
    given = torch.arange(-10.0, 25.0).view(7, 5).to(dtype)
    expected, found = given.clone(), given.clone()
    expected[index] = value
    with repdl.reproducible():
        found[index] = value
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("index", "value"),
    [(A[:2], torch.tensor(2.0)), (MASK, torch.ones(4, 5)), ((torch.tensor([1]), MASK[:5] & False), torch.tensor(2.0))],
)
@pytest.mark.parametrize("accumulate", [False, True])
def test_other_values_of_another_type_are_refused(index: Any, value: torch.Tensor, accumulate: bool) -> None:
    x = torch.zeros(7, 5, dtype=torch.bfloat16)
    indices = index if isinstance(index, tuple) else (index,)
    with pytest.raises((RuntimeError, IndexError)) as torchs:
        x.index_put_(indices, value, accumulate)
    with repdl.reproducible(), pytest.raises(torchs.type, match="dtype"):
        x.index_put_(indices, value, accumulate)


def test_a_mask_that_does_not_fit_takes_no_number() -> None:
    with repdl.reproducible(), pytest.raises(IndexError, match="mask"):
        torch.zeros(7, 5, dtype=torch.bfloat16)[MASK[:1]] = torch.tensor(2.0)
    with repdl.reproducible(), pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(7, dtype=torch.bfloat16)[MASK] = torch.tensor(2 + 1j)


@pytest.mark.parametrize("width", [1, 7, 8, 64])
@pytest.mark.parametrize("columns", [False, True])
def test_the_last_value_stays_where_torch_forks_and_where_it_does_not(width: int, columns: bool) -> None:
    made = torch.Generator().manual_seed(8)
    for count in (2999 // width, 2999 // width + 1, 40000 // width):
        rows = torch.randint(3, (count,), generator=made)
        values = torch.randn(count, width, generator=made)
        last = {row: n for n, row in enumerate(rows.tolist())}
        x = torch.zeros(width, 3).t() if columns else torch.zeros(3, width)
        with repdl.reproducible(), torch_threads(7):
            x[rows] = values.t().contiguous().t() if columns else values
        assert all(torch.equal(x[row], values[n]) for row, n in last.items())


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
