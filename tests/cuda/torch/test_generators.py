# SPDX-License-Identifier: MIT
"""Random numbers on the device are those of the CPU, by whichever generator."""

from __future__ import annotations

import pytest
import torch
from support_cuda import bits

DRAWS = {
    "rand": lambda place, g: torch.rand(7, device=place, generator=g),
    "rand of float64": lambda place, g: torch.rand(7, device=place, generator=g, dtype=torch.float64),
    "randn": lambda place, g: torch.randn(5, 6, device=place, generator=g),
    "randint": lambda place, g: torch.randint(3, 90, (9,), device=place, generator=g),
    "bernoulli": lambda place, g: torch.empty(20, device=place).bernoulli_(0.3, generator=g),
    "bernoulli of probabilities": lambda place, g: torch.bernoulli(torch.linspace(0, 1, 9, device=place), generator=g),
    "exponential": lambda place, g: torch.empty(9, device=place).exponential_(generator=g),
    "normal": lambda place, g: torch.normal(torch.ones(9, device=place), 2.0, generator=g),
    "strided": lambda place, g: torch.empty(6, 4, device=place).t()[::2].uniform_(-1, 1, generator=g),
    "none": lambda place, g: torch.rand(0, device=place, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_generators_of_the_device(name: str, enabled: None) -> None:
    draw = DRAWS[name]
    on_cpu, on_cuda = torch.Generator().manual_seed(2**63 + 5), torch.Generator(device="cuda").manual_seed(2**63 + 5)
    for _ in range(3):
        assert bits(draw("cuda", on_cuda)) == bits(draw("cpu", on_cpu))
    state = on_cuda.get_state()
    expected = bits(draw("cuda", on_cuda))
    draw("cuda", on_cuda)
    on_cuda.set_state(state)
    assert bits(draw("cuda", on_cuda)) == expected


@pytest.mark.parametrize("name", DRAWS)
def test_the_default_generators_are_one(name: str, enabled: None) -> None:
    draw = DRAWS[name]
    results = []
    for places in (("cpu", "cpu", "cpu"), ("cpu", "cuda", "cuda"), ("cuda", "cpu", "cuda")):
        torch.manual_seed(8)
        results.append([bits(draw(place, None)) for place in places])
    assert results[0] == results[1] == results[2]


def test_a_seed_of_the_device_alone(enabled: None) -> None:
    torch.manual_seed(8)
    torch.cuda.manual_seed(9)
    here = bits(torch.rand(5))
    there = bits([torch.rand(5, device="cuda"), torch.nn.functional.dropout(torch.ones(9, device="cuda"))])
    torch.manual_seed(9)
    assert there == bits([torch.rand(5), torch.nn.functional.dropout(torch.ones(9))])
    torch.manual_seed(8)
    assert here == bits(torch.rand(5))
    torch.cuda.manual_seed(9)
    state = torch.cuda.get_rng_state()
    first = bits(torch.rand(5, device="cuda"))
    torch.cuda.set_rng_state(state)
    assert bits(torch.rand(5, device="cuda")) == first


def test_a_state_far_ahead(enabled: None) -> None:
    far = 66_000  # more numbers than are drawn at once
    on_cpu, on_cuda = torch.Generator().manual_seed(11), torch.Generator(device="cuda").manual_seed(11)
    for _ in range(far):
        torch.rand(0, generator=on_cpu)
    for offset in (4 * far, 0, 4 * far):
        on_cuda.set_offset(offset)
        drawn = bits(torch.rand(3, device="cuda", generator=on_cuda))
        assert on_cuda.get_offset() == offset + 4
    assert drawn == bits(torch.rand(3, generator=on_cpu))
