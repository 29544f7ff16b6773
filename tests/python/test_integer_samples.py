# SPDX-License-Identifier: MIT
"""Random numbers in tensors of integers under `repdl.enable()`."""

from __future__ import annotations

import pytest
import torch

import repdl

DTYPES = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", DTYPES)
def test_geometric(dtype: torch.dtype) -> None:
    """The numbers of float32; the largest that the type holds where they are more."""
    with repdl.reproducible():
        torch.manual_seed(3)
        floats = torch.empty(100_003).geometric_(0.3)
        torch.manual_seed(3)
        integers = torch.empty(100_003, dtype=dtype).geometric_(0.3)
        torch.manual_seed(3)
        strided = torch.zeros(100_003, 2, dtype=dtype)[:, 1].geometric_(0.3)
        torch.manual_seed(3)
        rare = torch.empty(1000, dtype=dtype).geometric_(1e-30)
    assert torch.equal(integers, floats.to(dtype))
    assert torch.equal(strided, integers)
    assert abs(float(integers.double().mean()) - 1 / 0.3) < 0.03
    ends = torch.iinfo(dtype)
    assert (rare > ends.max * 0.99).all() and (rare == rare[0]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_range(dtype: torch.dtype) -> None:
    with repdl.reproducible():
        assert torch.zeros(999, dtype=dtype).random_(2, 7).unique().tolist() == [2, 3, 4, 5, 6]
        assert torch.zeros(999, dtype=dtype).bernoulli_(0.5).unique().tolist() == [0, 1]


@pytest.mark.parametrize("rng", ["philox", "torch"])
@pytest.mark.parametrize("name", ["exponential_", "normal_", "uniform_", "cauchy_", "log_normal_"])
def test_refused_as_by_torch(name: str, rng: str) -> None:
    x = torch.zeros(3, dtype=torch.int64)
    with pytest.raises(RuntimeError) as stock:
        getattr(x, name)()
    with repdl.reproducible(rng=rng), pytest.raises(RuntimeError) as ours:
        getattr(x, name)()
    assert str(ours.value).splitlines()[0] == str(stock.value).splitlines()[0]
