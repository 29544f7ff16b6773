# SPDX-License-Identifier: MIT
"""Special functions under `repdl.enable()`: Airy's, Bessel's, gamma, zeta, and those of the normal distribution."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from mpmath import mp, mpf

import repdl
from support import same_bits

S = torch.special
Function = Callable[..., torch.Tensor]


def draw(seed: int) -> Any:
    return np.random.default_rng(seed)


def sizes() -> np.ndarray[Any, Any]:
    """Around where one formula gives way to another, and of many sizes."""
    d = draw(1)
    near = (d.uniform(0, 3, 30), d.uniform(1.99, 2.01, 10), d.uniform(24.9, 25.1, 10), [0.7, 0.75, 1.0, 2.0, 25.0])
    return np.concatenate((*near, d.uniform(2, 30, 30), 2.0 ** d.uniform(-60, 0, 20)))


def both_signs() -> np.ndarray[Any, Any]:
    return np.concatenate((sizes(), -sizes()))


def scaled(function: Callable[[Any], Any], sign: int) -> Callable[[Any], Any]:
    return lambda x: function(x) * mp.exp(sign * abs(x))


def i(n: int) -> Callable[[Any], Any]:
    return lambda x: mp.besseli(n, x)


def k(n: int) -> Callable[[Any], Any]:
    return lambda x: mp.besselk(n, x)


def log_ndtr(x: Any) -> Any:
    y = abs(x) / mp.sqrt(2)
    return mp.log(mp.erfc(y) / 2) if x < 0 else mp.log1p(-mp.erfc(y) / 2)


def erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


# The function, its exact values and where it is tried.
FUNCTIONS: dict[str, tuple[Function, Callable[[Any], Any], Callable[[], Any]]] = {
    "i0": (torch.i0, i(0), both_signs),
    "i0e": (S.i0e, scaled(i(0), -1), both_signs),
    "i1": (S.i1, i(1), both_signs),
    "i1e": (S.i1e, scaled(i(1), -1), both_signs),
    "modified_bessel_i0": (S.modified_bessel_i0, i(0), both_signs),
    "modified_bessel_i1": (S.modified_bessel_i1, i(1), both_signs),
    "modified_bessel_k0": (S.modified_bessel_k0, k(0), sizes),
    "modified_bessel_k1": (S.modified_bessel_k1, k(1), sizes),
    "scaled_modified_bessel_k0": (S.scaled_modified_bessel_k0, scaled(k(0), 1), sizes),
    "scaled_modified_bessel_k1": (S.scaled_modified_bessel_k1, scaled(k(1), 1), sizes),
    "airy_ai": (S.airy_ai, mp.airyai, lambda: np.concatenate((both_signs(), -sizes() * 100))),
    "bessel_j0": (S.bessel_j0, lambda x: mp.besselj(0, x), both_signs),
    "bessel_j1": (S.bessel_j1, lambda x: mp.besselj(1, x), both_signs),
    "bessel_y0": (S.bessel_y0, lambda x: mp.bessely(0, x), sizes),
    "bessel_y1": (S.bessel_y1, lambda x: mp.bessely(1, x), sizes),
    "spherical_bessel_j0": (S.spherical_bessel_j0, lambda x: mp.sin(x) / x, both_signs),
    "erfcx": (S.erfcx, erfcx, lambda: np.concatenate((sizes(), -sizes() / 2, [26.0, 29.5, 80.0]))),
    "log_ndtr": (S.log_ndtr, log_ndtr, lambda: np.concatenate((-sizes() * 2, sizes() / 4))),
}


def test_the_error_function_at_the_end_of_its_parts() -> None:
    x = torch.tensor([0.7, 0.75, -0.75, -0.7], dtype=torch.float64)
    stock = torch.erfc(x)
    with repdl.reproducible():
        assert torch.allclose(torch.erfc(x), stock, rtol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_correctly_rounded(name: str) -> None:
    function, exact, numbers = FUNCTIONS[name]
    x = torch.from_numpy(numbers())
    with repdl.reproducible(), mp.workprec(160):
        results, narrow = function(x), function(x.float())
        assert narrow.dtype == torch.float32
        for value, result, single in zip(x.tolist(), results.tolist(), narrow.tolist(), strict=True):
            expected = exact(mpf(value))
            assert abs(mpf(result) - expected) <= abs(expected) * 2.0**-53, value
            if name.startswith("i0"):  # the others are steep, or have zeros, and value is not a float32
                assert abs(mpf(single) / expected - 1) < 1e-5, value
        once = function(x.float().double()).float()
        assert same_bits(narrow, once)


def exactly_normal(p: float, near: float) -> Any:
    x = mpf(near)
    for _ in range(3):
        x -= (mp.ncdf(x) - mpf(p)) / mp.npdf(x)
    return x


def test_normal_quantiles_are_correctly_rounded() -> None:
    d = draw(2)
    p = np.concatenate(
        (d.uniform(0, 1, 60), 2.0 ** d.uniform(-1070, -1, 40), 1 - 2.0 ** d.uniform(-50, -1, 30), [0.15, 0.85])
    )
    with repdl.reproducible(), mp.workprec(1300):
        for value, x in zip(p.tolist(), S.ndtri(torch.from_numpy(p)).tolist(), strict=True):
            expected = exactly_normal(value, x)
            assert abs(mpf(x) - expected) <= abs(expected) * 2.0**-53, value


def incomplete(a: float, x: float, upper: bool) -> Any:
    ends = (mpf(x), mp.inf) if upper else (0, mpf(x))
    return mp.gammainc(mpf(a), *ends, regularized=True)


def shapes_and_places() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    d = draw(3)
    a = np.concatenate(
        (2.0 ** d.uniform(-40, 3, 40), d.uniform(0.1, 20, 40), d.uniform(1, 1100, 30), 2.0 ** d.uniform(10, 17, 20))
    )
    far = a[80:] + np.sqrt(a[80:]) * d.normal(0, 3, 50)
    return a, np.abs(np.concatenate((2.0 ** d.uniform(-40, 3, 40), d.uniform(0.1, 30, 40), far)))


@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma_functions_are_accurate(upper: bool) -> None:
    a, x = shapes_and_places()
    function = S.gammaincc if upper else S.gammainc
    with repdl.reproducible(), mp.workprec(200):
        results = function(torch.from_numpy(a), torch.from_numpy(x))
        for v, w, result in zip(a.tolist(), x.tolist(), results.tolist(), strict=True):
            expected = incomplete(v, w, upper)
            assert abs(mpf(result) - expected) <= 2e-15 * expected + mpf(10) ** -300, (v, w)
        for i in range(0, len(a), 9):  # whatever the others need
            assert same_bits(function(*(torch.from_numpy(t[i : i + 1]) for t in (a, x))), results[i : i + 1])
        narrow = function(*(torch.from_numpy(t).float() for t in (a, x)))
        assert same_bits(narrow, function(*(torch.from_numpy(t).float().double() for t in (a, x))).float())


def hurwitz(s: float, q: float) -> Any:
    """By Euler's and Maclaurin's formula, far out."""
    a = mpf(q) + 300
    total = mp.fsum((mpf(q) + k) ** -mpf(s) for k in range(300)) + a ** (1 - mpf(s)) / (mpf(s) - 1) + a ** -mpf(s) / 2
    rising = mpf(s)
    for k in range(1, 25):
        total += mp.bernoulli(2 * k) / mp.factorial(2 * k) * rising * a ** (1 - mpf(s) - 2 * k)
        rising *= (mpf(s) + 2 * k - 1) * (mpf(s) + 2 * k)
    return total


def test_zeta_is_accurate() -> None:
    d = draw(4)
    s = np.concatenate((d.uniform(1.001, 12, 30), d.uniform(1, 90, 30), [2.0, 3.0, 4.0]))
    q = np.concatenate((d.uniform(0.01, 30, 30), 2.0 ** d.uniform(-5, 10, 30), [-2.5, -30.25, -0.5]))
    with repdl.reproducible(), mp.workprec(200):
        results = S.zeta(torch.from_numpy(s), torch.from_numpy(q)).tolist()
        assert S.zeta(torch.from_numpy(s), 1.5).shape == (63,) and S.zeta(2.0, torch.from_numpy(q)).shape == (63,)
    with mp.workprec(400):
        for v, w, result in zip(s.tolist(), q.tolist(), results, strict=True):
            expected = hurwitz(v, w)
            assert abs(mpf(result) - expected) <= 2e-15 * abs(expected), (v, w)


ENDS = [0.0, -0.0, 0.5, 1.0, 2.0, 30.0, 800.0, 1e10, 1e300, np.inf]


@pytest.mark.parametrize("name", [*FUNCTIONS, "ndtri"])
def test_special_numbers_are_those_of_torch(name: str) -> None:
    """Far out torch's J, Y and Ai have no digits left, and infinity is NaN."""
    function = S.ndtri if name == "ndtri" else FUNCTIONS[name][0]
    x = torch.tensor([*ENDS, *(-v for v in ENDS), np.nan], dtype=torch.float64)
    if name in ("i0", "i1") or name.startswith(("airy", "bessel", "spherical")):
        x = x[x.abs() != np.inf]
    stock = function(x)
    with repdl.reproducible():
        ours = function(x)
    far = x.abs() > 1e4 if "airy" in name or "bessel" in name else torch.zeros_like(x, dtype=torch.bool)
    assert torch.allclose(ours[~far], stock[~far], rtol=1e-6, atol=1e-7, equal_nan=True), (ours, stock)


def test_incomplete_gamma_functions_at_the_ends() -> None:
    values = torch.tensor([0.0, -1.0, 1e-300, 1e-10, 0.5, 2.0, 1e7, 1e300, np.inf], dtype=torch.float64)
    a, x = (t.reshape(-1) for t in torch.meshgrid(values, values, indexing="ij"))
    for function in (S.gammainc, S.gammaincc):
        stock = function(a, x)
        with repdl.reproducible():
            assert torch.allclose(function(a, x), stock, rtol=1e-6, atol=1e-7, equal_nan=True)


def test_zeta_at_the_ends() -> None:
    s, q = (
        t.reshape(-1)
        for t in torch.meshgrid(
            torch.tensor([-1.0, 0.5, 1, 1.5, 2, 3]), torch.tensor([0.0, -1, -2.5, 0.5, 1, 2]), indexing="ij"
        )
    )
    stock = S.zeta(s, q)
    with repdl.reproducible():
        assert torch.allclose(S.zeta(s, q), stock, rtol=1e-6, equal_nan=True)


GRADIENTS: dict[str, tuple[Function, float]] = {
    name: (getattr(S, name), 1.3) for name in ("i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr")
} | {
    "ndtri": (S.ndtri, 0.3),
    "gammainc": (lambda x: S.gammainc(torch.tensor([0.7, 3.0]).double(), x), 1.7),
    "gammaincc": (lambda x: S.gammaincc(torch.tensor([0.7, 3.0]).double(), x), 1.7),
    "zeta": (lambda x: S.zeta(torch.tensor(2.5).double(), x), 1.7),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    function, at = GRADIENTS[name]
    x = torch.tensor([at, at / 2], dtype=torch.float64, requires_grad=True)
    with repdl.reproducible():
        assert torch.autograd.gradcheck(function, x)


def test_types_and_layouts() -> None:
    x = torch.from_numpy(draw(5).uniform(0.1, 3, (6, 4))).float()
    with repdl.reproducible():
        whole = torch.i0(x)
        for view in (x.mT.contiguous().mT, x.new_zeros(6, 8)[:, ::2].copy_(x)):
            assert same_bits(torch.i0(view), whole)
        assert same_bits(torch.cat([torch.i0(row)[None] for row in x]), whole)
        assert same_bits(x.clone().i0_(), whole) and same_bits(torch.i0(x, out=torch.empty(0)), whole)
        assert torch.i0(x.bfloat16()).dtype == torch.bfloat16 and torch.i0(torch.arange(3)).dtype == torch.float32
        assert torch.igamma(x, x[:1].double()).dtype == torch.float64
        for dtype in (torch.complex64, torch.complex128):
            with pytest.raises(NotImplementedError, match="not implemented for"):
                torch.i0(x.to(dtype))


@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows_of_kaiser(length: int) -> None:
    for periodic in (True, False):
        stock = torch.kaiser_window(length, periodic, 8.0)
        with repdl.reproducible():
            ours = torch.kaiser_window(length, periodic, 8.0)
        assert ours.shape == stock.shape and torch.allclose(ours, stock, rtol=1e-5)


D = torch.distributions


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distributions_are_those_of_torch(dtype: torch.dtype) -> None:
    two = torch.tensor([0.8, 3.0], dtype=dtype)
    x = torch.tensor([0.4, 2.1], dtype=dtype)

    def values() -> list[torch.Tensor]:
        von_mises = D.VonMises(x, two)
        return [
            D.Gamma(two, x).cdf(x), D.Chi2(two).cdf(x), von_mises.log_prob(x), von_mises.variance,
            D.Normal(x, two).cdf(x), D.Normal(x, two).icdf(x / 3), torch.kaiser_window(12, True, 9.0, dtype=dtype),
            S.log_ndtr(-x),
        ]  # fmt: skip

    stock = values()
    with repdl.reproducible():
        for ours, theirs in zip(values(), stock, strict=True):
            assert torch.allclose(ours, theirs, rtol=2e-6 if dtype == torch.float32 else 1e-10)


def digest() -> str:
    sha = hashlib.sha256()
    with repdl.reproducible():
        for function, _, numbers in FUNCTIONS.values():
            sha.update(function(torch.from_numpy(numbers())).numpy().tobytes())
        a, x = map(torch.from_numpy, shapes_and_places())
        for t in (S.gammainc(a, x), S.gammaincc(a, x), S.zeta(a + 1, x + 0.1), S.ndtri(a.frac())):
            sha.update(t.numpy().tobytes())
    return sha.hexdigest()
