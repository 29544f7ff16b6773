# SPDX-License-Identifier: MIT
"""Orthogonal polynomials under `repdl.enable()`, against mpmath."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

import repdl
from support import same_bits

S = torch.special


def climbed(first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any]) -> Callable[[int, Any], Any]:
    """A polynomial by its value of degree 1 and its recurrence, in the precision of mpmath."""

    def value(n: int, x: Any) -> Any:
        before, now = mpmath.mpf(1), first(x)
        for k in range(1, n):
            before, now = now, step(k, x, now, before)
        return now if n else mpmath.mpf(1)

    return value


def chebyshev(first: Callable[[Any], Any], shifted: bool) -> Callable[[int, Any], Any]:
    value = climbed(first, lambda k, x, now, before: 2 * x * now - before)
    return lambda n, x: value(n, 2 * x - 1 if shifted else x)


FIRST: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x,
    "u": lambda x: 2 * x,
    "v": lambda x: 2 * x - 1,
    "w": lambda x: 2 * x + 1,
}
EXACT: dict[str, Callable[[int, Any], Any]] = {
    **{f"chebyshev_polynomial_{k}": chebyshev(f, False) for k, f in FIRST.items()},
    **{f"shifted_chebyshev_polynomial_{k}": chebyshev(f, True) for k, f in FIRST.items()},
    "hermite_polynomial_h": climbed(lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - 2 * k * before),
    "hermite_polynomial_he": climbed(lambda x: x, lambda k, x, now, before: x * now - k * before),
    "laguerre_polynomial_l": climbed(
        lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": climbed(
        lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)
    ),
}
DEGREES = (0, 1, 2, 3, 5, 7, 8, 9, 20)


def places(name: str) -> torch.Tensor:
    draw = np.random.default_rng(1)
    low = 0.0 if "shifted" in name or "laguerre" in name else -1.0
    inside = draw.uniform(low, 1, 30)
    return torch.from_numpy(np.concatenate((inside, draw.uniform(1, 3, 8), [low, 0.0, 0.5, 1.0])))


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str) -> None:
    """To the size of the values around, which are above 1 at the ends."""
    x, n = torch.broadcast_tensors(places(name)[:, None], torch.tensor(DEGREES))
    function = getattr(S, name)
    with repdl.reproducible():
        found = function(x, n)
        single = function(x.float(), n)
        assert same_bits(function(x[5, 4], n[5, 4]), found[5, 4])
        assert same_bits(function(x.mT.contiguous().mT, n), found)
        assert same_bits(function(x, 7), found[:, 5:6].expand_as(found))
        assert same_bits(function(0.5, n[0].double()), found[-2])
        below = function(x, torch.full_like(n, -1))
    assert not below.any() and single.dtype == torch.float32
    with mpmath.workdps(50):
        exact, of_single = (
            torch.tensor([[float(EXACT[name](d, mpmath.mpf(v))) for d in DEGREES] for v in at], dtype=torch.float64)
            for at in (x[:, 0].tolist(), x[:, 0].float().tolist())
        )
    for result, right, room in ((found, exact, 2e-13), (single, of_single, 2e-7)):
        size = right.abs().clamp(min=1.0)
        assert ((result.double() - right).abs() / size).max() < room


def test_edges() -> None:
    """Degrees that are fractions, NaN or huge; numbers that are not finite."""
    with repdl.reproducible():
        t = S.chebyshev_polynomial_t
        assert float(t(torch.tensor(0.3), torch.tensor(2.7))) == float(t(torch.tensor(0.3), torch.tensor(2.0)))
        assert math.isnan(float(t(torch.tensor(0.3), torch.tensor(math.nan))))
        assert float(t(torch.tensor(1.0), torch.tensor(1e9))) == 1.0
        assert abs(float(t(torch.tensor(0.5, dtype=torch.float64), torch.tensor(10**6)))) <= 1.0
        assert math.isnan(float(t(torch.tensor(math.inf), torch.tensor(10**9))))
        assert t(torch.zeros(0), torch.zeros(0)).shape == (0,)
        assert S.legendre_polynomial_p(torch.tensor([1, 2]), 2).dtype == torch.float32
        out = torch.empty(2)
        assert S.hermite_polynomial_h(torch.tensor([1.0, 2.0]), 3, out=out) is out


def digest() -> str:
    x, hashed = torch.from_numpy(np.random.default_rng(2).uniform(-1.2, 1.2, 400)), hashlib.sha256()
    with repdl.reproducible():
        for name in EXACT:
            for degree in (3, 11):
                hashed.update(getattr(S, name)(x, degree).nan_to_num().numpy().tobytes())
    return hashed.hexdigest()
