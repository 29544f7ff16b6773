# SPDX-License-Identifier: MIT
"""Whole numbers beside tensors, which are made into tensors once and kept."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import repdl
from repdl.interception import native

INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_whole_numbers", {})


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_sums_products_and_remainders_are_torchs(dtype: torch.dtype) -> None:
    x = torch.arange(1, 100).to(dtype)

    def all_of() -> list[torch.Tensor]:
        numbers = (0, 1, -1, 3, 100, 1000, 2**40)
        return [y for n in numbers for y in (x + n, x * n, n - x, x.bitwise_xor(n), torch.remainder(x, n % 100 or 7))]

    stock = all_of()
    with repdl.reproducible():
        first, again = all_of(), all_of()
    for ours in (first, again):
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(ours, stock, strict=True))


def test_a_truth_value_and_a_fraction_are_no_whole_numbers() -> None:
    x = torch.arange(4)
    with repdl.reproducible():
        assert (x + 1).dtype == (x + True).dtype == torch.int64
        assert (x + 1.0).dtype == torch.float32 and (x * (1 + 0j)).dtype == torch.complex64
        assert (torch.tensor([True]) + 1).dtype == torch.int64 and (torch.tensor([True]) + True).dtype == torch.bool


def test_what_others_make_is_not_kept() -> None:
    x = torch.arange(4)
    with repdl.reproducible():
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            mode.from_tensor(x) + 5
        with torch.inference_mode():
            assert torch.equal(x + 6, torch.arange(6, 10))
        assert torch.equal(torch.vmap(lambda row: row + 7)(x[None]), torch.arange(7, 11)[None])
        kept = native._whole_numbers.values()
        assert all(type(t) is torch.Tensor and not t.is_inference() for t in kept)
        for n in (5, 6, 7):
            assert torch.equal(x + n, torch.arange(n, n + 4))


def test_few_are_kept() -> None:
    x = torch.arange(4)
    with repdl.reproducible():
        for n in range(900, 1200):
            assert torch.equal(x + n, torch.arange(n, n + 4))
    assert 0 < len(native._whole_numbers) < 1024
