# SPDX-License-Identifier: MIT
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import repdl
from support import CAPABILITIES, run_python, same_bits


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


def test_normal_numbers_and_weights_of_the_stream_are_the_same_on_every_cpu() -> None:
    code = """
import torch, repdl
from repdl.utils import get_hash
torch.manual_seed(7)
with repdl.random.stream("torch"):
    embedding = torch.nn.Embedding(50, 33)
    print([get_hash(x) for x in (embedding.weight, torch.randn(997), torch.empty(40, 6).T.normal_(2, 3),
        torch.randn(60, dtype=torch.bfloat16), torch.randn(60, dtype=torch.complex64))])
"""
    assert len({run_python(code, ATEN_CPU_CAPABILITY=capability) for capability in CAPABILITIES}) == 1


def test_normal_numbers_of_the_stream_are_those_of_an_enabled_program() -> None:
    def draw() -> torch.Tensor:
        torch.manual_seed(7)
        return torch.randn(997)

    with repdl.random.stream("torch"):
        ours, wide = draw(), torch.randn(3, dtype=torch.float64)
    with repdl.reproducible(rng="torch"):
        assert same_bits(ours, draw())
    torch.testing.assert_close(ours, draw())
    assert wide.dtype == torch.float64
    with repdl.reproducible(), repdl.random.stream("torch"):
        assert same_bits(ours, draw())
        with pytest.raises(repdl.NotReproducibleError, match=r"\[aten::normal_\] of float64"):
            torch.randn(3, dtype=torch.float64)


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_narrow_and_wide_numbers_are_those_that_torch_draws(dtype: torch.dtype) -> None:
    def draw() -> list[torch.Tensor]:
        torch.manual_seed(4)
        found = [torch.empty(997, dtype=dtype).uniform_(-0.3, 0.7)]
        return found if dtype == torch.float64 else [*found, torch.randn(997, dtype=dtype), torch.rand(3)]

    stock = draw()
    with repdl.reproducible(rng="torch"):
        ours = draw()
    for a, b in zip(ours, stock, strict=True):
        step = torch.finfo(dtype).eps
        assert torch.allclose(a.double(), b.double(), rtol=step, atol=step)
    assert (ours[0] == stock[0]).float().mean() > 0.7


PROBABILITIES = torch.rand(8, 60, generator=torch.Generator().manual_seed(1)).t()
OF_OPERANDS: dict[str, Callable[[], torch.Tensor]] = {
    "bernoulli": lambda: torch.bernoulli(PROBABILITIES),
    "bernoulli of an expanded one": lambda: torch.bernoulli(PROBABILITIES[:, :1].expand(60, 8)),
    "normal of a mean": lambda: torch.normal(PROBABILITIES, 0.5),
    "normal of a deviation": lambda: torch.normal(0.5, PROBABILITIES),
    "normal of both": lambda: torch.normal(PROBABILITIES, PROBABILITIES),
}


@pytest.mark.parametrize("name", OF_OPERANDS)
def test_numbers_of_torch_for_operands_of_any_layout(name: str) -> None:
    torch.manual_seed(4)
    stock = OF_OPERANDS[name]()
    torch.manual_seed(4)
    with repdl.reproducible(rng="torch"):
        ours = OF_OPERANDS[name]()
    torch.testing.assert_close(ours, stock, check_stride=True)


@pytest.mark.parametrize("std", [-1.0, torch.tensor([1.0, -1.0]), torch.tensor(float("nan"))], ids=str)
def test_deviations_that_are_negative_are_refused_as_by_torch(std: Any) -> None:
    for rng in ("philox", "torch"):
        with repdl.reproducible(rng=rng), pytest.raises(RuntimeError, match="normal expects"):
            torch.normal(torch.zeros(2), std)


DRAWS = """
import hashlib, torch, repdl
repdl.enable(rng="torch")
for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64):
    for fill in ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_"):
        torch.manual_seed(1)
        try:
            x = getattr(torch.empty(20_005, dtype=dtype), fill)(*([0.1, 0.7] if fill != "exponential_" else []))
        except repdl.NotReproducibleError as error:
            print(dtype, fill, error.reason)
        except RuntimeError:
            print(dtype, fill, "is not defined")
        else:
            print(dtype, fill, hashlib.sha256(x.view(torch.uint8).numpy()).hexdigest())
"""


def test_the_numbers_of_torch_do_not_depend_on_the_instruction_set() -> None:
    """Nor on that of the C library's functions."""
    settings = [
        {"ATEN_CPU_CAPABILITY": CAPABILITIES[-1]},
        {"ATEN_CPU_CAPABILITY": "default", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F"},
    ]
    first, second = (run_python(DRAWS, **setting) for setting in settings)
    assert first == second and "uniform_ random" not in first and "normal_ random" in first


def sized_by_out(mean: torch.Tensor, **out: Any) -> torch.Tensor:
    """torch does not resize what is given for this one."""
    return torch.normal(mean, 2.0, **out)


@pytest.mark.parametrize("rng", ["philox", "torch"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda p, **out: torch.bernoulli(p, **out),
        lambda p, **out: torch.normal(p, p, **out),
        sized_by_out,
        lambda p, **out: torch.normal(0.5, 2.0, p.shape, **out),
        lambda p, **out: torch.rand(p.shape, **out),
        lambda p, **out: torch.randn(p.shape, **out),
        lambda p, **out: torch.multinomial(p + 1, 7, **out),
    ],
    ids=["bernoulli", "normal", "normal of a number", "normal of numbers", "rand", "randn", "multinomial"],
)
def test_out_is_drawn_as_a_result_is(draw: Any, rng: str) -> None:
    p = torch.linspace(0.0, 1.0, 35).reshape(5, 7)
    with repdl.reproducible(rng=rng):
        torch.manual_seed(3)
        expected = draw(p)
        # Where torch itself draws, a tensor with strides gets other numbers.
        spread = [torch.empty(5, 14)[:, ::2]] if rng == "philox" else []
        empty = [] if draw is sized_by_out else [torch.empty(0)]
        for out in (torch.empty(5, 7), *empty, *spread):
            given = out.to(expected.dtype)
            torch.manual_seed(3)
            assert draw(p, out=given) is given and same_bits(given, expected)


@pytest.mark.parametrize("draw", [torch.bernoulli, lambda p, out: torch.multinomial(p, 3, out=out.long())])
def test_out_of_another_size_is_resized_without_a_warning(draw: Any) -> None:
    with repdl.reproducible(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(torch.ones(3), out=torch.ones(4)).shape == (3,)
        assert torch.bernoulli(torch.ones(3), out=torch.zeros(3, dtype=torch.int64)).tolist() == [1, 1, 1]


def test_deviations_of_a_number_are_drawn_for_each_place_of_out() -> None:
    out = torch.zeros(3, 2)
    with repdl.reproducible():
        torch.manual_seed(3)
        expected = torch.normal(torch.ones(3, 2), 2.0)
        torch.manual_seed(3)
        assert torch.normal(torch.ones(2), 2.0, out=out) is out and same_bits(out, expected)
