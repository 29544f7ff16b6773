# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
import torch

import repdl
from support import same_bits


def exact(draws: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """fma(u, high - low, low): u has 24 bits, so float64 rounds it once more only where float32 would tie."""
    lo, hi = torch.tensor(low), torch.tensor(high)
    return (draws.double() * (hi - lo).double() + lo.double()).float()


def test_uniform_draws_what_torch_draws() -> None:
    torch.manual_seed(7)
    draws = torch.rand(1000)
    state = torch.get_rng_state()
    torch.manual_seed(7)
    x = repdl.random.uniform_(torch.empty(1000), -0.3, 0.7)
    assert torch.equal(torch.get_rng_state(), state)
    assert (x == exact(draws, -0.3, 0.7)).float().mean() > 0.999


def test_inside_the_stream_torch_draws_so() -> None:
    torch.manual_seed(7)
    expected = repdl.random.uniform_(torch.empty(40, 30), -0.25, 0.125)
    torch.manual_seed(7)
    with repdl.random.stream("torch"), repdl.random.stream("torch"):
        assert same_bits(torch.empty(40, 30).uniform_(-0.25, 0.125), expected)
        torch.manual_seed(7)
        linear = torch.nn.Linear(5, 4)
        doubles = torch.empty(10, dtype=torch.float64).uniform_()
    torch.manual_seed(7)
    weight = repdl.random.uniform_(torch.empty(4, 5), -1 / 5**0.5, 1 / 5**0.5)
    assert same_bits(linear.weight.detach(), weight)
    assert doubles.dtype == torch.float64 and 0 <= doubles.min() <= doubles.max() < 1


def test_after_the_stream_torch_is_itself_again() -> None:
    torch.manual_seed(7)
    before = torch.empty(1000).uniform_(-0.3, 0.7)
    with repdl.random.stream("torch"):
        pass
    torch.manual_seed(7)
    assert same_bits(torch.empty(1000).uniform_(-0.3, 0.7), before)


def test_other_layouts_and_generators() -> None:
    generator = torch.Generator().manual_seed(9)
    expected = repdl.random.uniform_(torch.empty(6, 4), 1.0, 2.0, generator=torch.Generator().manual_seed(9))
    with repdl.random.stream("torch"):
        strided = torch.empty(6, 8)[:, ::2].uniform_(1.0, 2.0, generator=generator)
    assert same_bits(strided.contiguous(), expected)


def test_an_unknown_stream_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[stream\] name must be one of"), repdl.random.stream("numpy"):
        pass
