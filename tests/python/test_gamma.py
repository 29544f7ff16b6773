# SPDX-License-Identifier: MIT
"""The gamma function and its kin under `repdl.enable()`, and the distributions that are made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from mpmath import mp, mpf

import repdl
from repdl import ops
from repdl.random import philox

D = torch.distributions

FUNCTIONS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[Any], Any]]] = {
    "lgamma": (torch.lgamma, lambda x: mp.log(abs(mp.gamma(x)))),
    "digamma": (torch.digamma, mp.digamma),
    "polygamma 1": (lambda x: torch.polygamma(1, x), lambda x: mp.psi(1, x)),
    "polygamma 2": (lambda x: torch.polygamma(2, x), lambda x: mp.psi(2, x)),
    "polygamma 3": (lambda x: torch.polygamma(3, x), lambda x: mp.psi(3, x)),
}


def numbers() -> torch.Tensor:
    draw = np.random.default_rng(1)
    above = (draw.uniform(0, 12, 200), 2.0 ** draw.uniform(-30, 14, 200), 2 + draw.normal(0, 1e-3, 50))
    return torch.from_numpy(np.concatenate((*above, -draw.uniform(0, 20, 100))))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_accurate(name: str, dtype: torch.dtype) -> None:
    """Beside the zeros of lgamma and digamma, to some ulp of 1."""
    function, exact = FUNCTIONS[name]
    x = numbers().to(dtype)
    with repdl.reproducible(), mp.workprec(300):
        results = function(x)
        for value, result in zip(x.tolist(), results.tolist(), strict=True):
            expected = exact(mpf(value))
            room = 1e-14 if value < 0 else 4 * 2.0**-52
            off = abs(mpf(result) - expected)
            assert off <= room * max(abs(expected), mpf(1)) + abs(expected) * (
                2.0**-24 if dtype == torch.float32 else 0
            )
    assert results.dtype == dtype


def test_special_numbers() -> None:
    x = torch.tensor([0.0, -0.0, 1.0, 2.0, -3.0, np.inf, -np.inf, np.nan, 1e306, 5e-324], dtype=torch.float64)
    expected = [torch.lgamma(x), torch.digamma(x)]
    several = torch.mvlgamma(x[3:4] + 1, 2)
    with repdl.reproducible():
        for ours, stock in zip((torch.lgamma(x), torch.digamma(x)), expected, strict=True):
            assert torch.allclose(ours, stock, rtol=1e-14, atol=0, equal_nan=True)
        assert torch.polygamma(1, x[:2]).tolist() == [np.inf, np.inf]
        assert torch.allclose(torch.mvlgamma(x[3:4] + 1, 2), several)
        with pytest.raises(NotImplementedError, match="not implemented for"):
            torch.lgamma(torch.ones(2, dtype=torch.complex64))


def test_orders_of_polygamma() -> None:
    """Up to the last factorial of float64; where it is beyond numbers beside a zeta that is nearly 0, too."""
    x = torch.tensor([0.75, 33.0, 1e6, -2.5, np.inf, -np.inf], dtype=torch.float64)
    with repdl.reproducible():
        for n in (63, 64, 65, 100, 169, 170):
            with mp.workprec(300):
                expected = [float((-1) ** (n + 1) * mp.factorial(n) * mp.zeta(n + 1, mpf(v))) for v in x[:3].tolist()]
            assert torch.polygamma(n, x[:3]).tolist() == expected
            assert torch.polygamma(n, x[4:]).tolist()[0] == 0
        assert torch.polygamma(170, x[5:]).isnan().all()
        with pytest.raises(RuntimeError, match="n must be from 0 to 170"):
            torch.polygamma(171, x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    x = torch.tensor([0.3, 1.7, 12.5, -0.4], dtype=torch.float64, requires_grad=True)
    with repdl.reproducible():
        assert torch.autograd.gradcheck(FUNCTIONS[name][0], x)


def test_gradients_of_ops() -> None:
    """Of shares of the gamma distribution by both operands, of zeta by the second one, and of trigamma."""
    a = torch.tensor([0.3, 1.7, 12.5, 90.0], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[0.2, 2.5, 11.0, 95.0], [1.4, 0.7, 30.0, 80.0]], dtype=torch.float64, requires_grad=True)
    s = torch.tensor([1.5, 2.0, 3.5, 6.0], dtype=torch.float64)
    for share in (ops.igamma, ops.igammac):
        assert torch.autograd.gradcheck(share, (a, x))
    assert torch.autograd.gradcheck(lambda q: ops.zeta(s, q), x)
    assert torch.autograd.gradcheck(ops.trigamma, x)


def along(f: Callable[[Any], Any], density: Callable[[], Any], a: Any) -> float:
    with mp.workdps(30):
        return float(-mp.diff(f, a) / density())


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("place", [-1.5, 0.0, 2.0])
def test_how_gamma_samples_move(alpha: float, place: float) -> None:
    a = mpf(alpha)
    z = mpf(max(alpha + place * alpha**0.5, alpha / 100))
    expected = along(
        lambda t: mp.gammainc(t, 0, z, regularized=True),
        lambda: mp.exp((a - 1) * mp.log(z) - z - mp.loggamma(a)),
        a,
    )
    with repdl.reproducible():
        result = torch._standard_gamma_grad(*(torch.tensor([float(v)], dtype=torch.float64) for v in (a, z)))
    assert abs(result.item() / expected - 1) < 1e-13


@pytest.mark.parametrize(("alpha", "beta"), [(0.05, 0.05), (0.1, 2.0), (1.0, 1.0), (2.0, 5.0), (30.0, 3.0)])
@pytest.mark.parametrize("place", [0.01, 0.3, 0.9])
def test_how_beta_samples_move(alpha: float, beta: float, place: float) -> None:
    a, b, x = mpf(alpha), mpf(beta), mpf(place)
    expected = along(
        lambda t: mp.betainc(t, b, 0, x, regularized=True),
        lambda: mp.exp((a - 1) * mp.log(x) + b * mp.log(1 - x)) / mp.beta(a, b),
        a,
    )
    operands = (torch.tensor([v], dtype=torch.float64) for v in (place, alpha, float(a + b)))
    with repdl.reproducible():
        result = torch._dirichlet_grad(*operands)
    assert abs(result.item() / expected - 1) < 1e-12


@pytest.mark.parametrize("rate", [0.0, 0.3, 9.0, 10.0, 35.5, 4000.0])
def test_poisson(rate: float) -> None:
    """Mean and variance, and the part that each count has. A part has the numbers of the whole."""
    torch.manual_seed(1)
    state = torch.get_rng_state()
    x = philox.poisson(torch.full((50_000,), rate))
    after = torch.get_rng_state()
    assert abs(float(x.mean()) - rate) <= 4 * (rate / 50_000) ** 0.5
    assert rate == 0 or abs(float(x.var()) / rate - 1) < 0.05
    for k in range(int(rate), int(rate) + 4):
        expected = float(mp.exp(-rate) * mpf(rate) ** k / mp.factorial(k))
        assert abs(float((x == k).double().mean()) - expected) < 5 * (expected / 50_000) ** 0.5 + 1e-4
    torch.set_rng_state(state)
    assert torch.equal(philox.poisson(torch.full((10,), rate)), x[:10])
    assert torch.equal(torch.get_rng_state(), after)


@pytest.mark.parametrize(("n", "p"), [(0, 0.3), (7, 0.4), (40, 0.3), (40, 0.7), (2000, 0.5), (9, 1.0), (9, 0.0)])
def test_binomial(n: int, p: float) -> None:
    torch.manual_seed(2)
    x = philox.binomial(torch.tensor(float(n)).expand(50_000), torch.tensor(p, dtype=torch.float64))
    assert bool(((x >= 0) & (x <= n) & (x == x.round())).all())
    variance = n * p * (1 - p)
    assert abs(float(x.double().mean()) - n * p) <= 4 * (variance / 50_000) ** 0.5
    for k in range(int(n * p), min(int(n * p) + 3, n) + 1):
        expected = float(mp.binomial(n, k) * mpf(p) ** k * mpf(1 - p) ** (n - k))
        assert abs(float((x == k).double().mean()) - expected) < 5 * (expected / 50_000) ** 0.5 + 1e-4


def test_what_counts_refuse() -> None:
    with repdl.reproducible():
        with pytest.raises(RuntimeError, match="rate must be finite and not negative"):
            torch.poisson(torch.tensor([-1.0]))
        with pytest.raises(RuntimeError, match="count must be finite"):
            torch.binomial(torch.tensor([-1.0]), torch.tensor([0.5]))
        with pytest.raises(RuntimeError, match="prob must be between 0 and 1"):
            torch.binomial(torch.tensor([1.0]), torch.tensor([1.5]))
    with repdl.reproducible(rng="torch"), pytest.raises(repdl.NotReproducibleError):
        torch.poisson(torch.ones(2))


def distributions(dtype: torch.dtype) -> list[Any]:
    def t(*values: float) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype, requires_grad=True)

    return [
        D.Beta(t(0.5, 2), t(1.5, 3)),
        D.Gamma(t(0.5, 20), t(1.5, 3)),
        D.Dirichlet(t(0.5, 2, 3)),
        D.StudentT(t(3, 5)),
        D.Poisson(t(3, 50)),
        D.Chi2(t(3, 5)),
        D.Binomial(30, t(0.3, 0.6)),
        D.NegativeBinomial(5.0, t(0.3)),
    ]


def digest() -> str:
    sha = hashlib.sha256()
    with repdl.reproducible():
        torch.manual_seed(3)
        for dtype in (torch.float32, torch.float64):
            for d in distributions(dtype):
                x = d.rsample((30,)) if d.has_rsample else d.sample((300,))
                logs = d.log_prob(x.detach()).sum() + (x * x.detach()).sum()
                parameters = [
                    p for p in vars(d).values() if isinstance(p, torch.Tensor) and p.requires_grad and p.is_leaf
                ]
                grads = torch.autograd.grad(logs, parameters, allow_unused=True) if parameters else ()
                for t in (x.detach(), logs.detach(), *(g for g in grads if g is not None)):
                    sha.update(t.numpy().tobytes())
        for function, _ in FUNCTIONS.values():
            sha.update(function(numbers()).numpy().tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_probabilities_and_entropies_are_those_of_torch(dtype: torch.dtype) -> None:
    torch.manual_seed(4)
    stock = [(d.sample((5,)), d) for d in distributions(dtype)]
    expected = [(d.log_prob(x), d.entropy() if hasattr(d, "concentration") else None) for x, d in stock]
    with repdl.reproducible():
        for (x, d), (log_prob, entropy) in zip(stock, expected, strict=True):
            room = 1e-4 if dtype == torch.float32 else 1e-11
            assert torch.allclose(d.log_prob(x), log_prob, rtol=room, atol=room)
            assert entropy is None or torch.allclose(d.entropy(), entropy, rtol=room, atol=room)
