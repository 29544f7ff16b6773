# SPDX-License-Identifier: MIT
"""Inverse functions of complex numbers under `repdl.enable()`, against mpmath and, at the edges, Python's cmath."""

from __future__ import annotations

import cmath
import hashlib
import math

import mpmath
import numpy as np
import pytest
import torch

import repdl
from support import same_bits

NAMES = ("asin", "acos", "atan", "asinh", "acosh", "atanh")
INF = math.inf
EDGES = [
    0, 1, -1, 0.5, -0.5, 2j, -2j, 3 + 4j, -3 + 4j, -3 - 4j, 3 - 4j, 1 + 1e-9j, 1e-30 + 1e-30j, 1e200 + 1e200j, 1e300,
    -1e300 + 1j, 0.999999 + 1e-12j, complex(-0.0, 0.0), complex(0.0, -0.0), complex(2, -0.0), complex(2, 0.0),
    complex(-2, -0.0), complex(-2, 0.0), complex(-0.0, 2), complex(0.0, 2), complex(-0.0, -2), complex(0.0, -2),
    complex(INF, 1), complex(-INF, 1), complex(1, INF), complex(-1, -INF), complex(INF, INF), complex(-INF, INF),
]  # fmt: skip


def numbers(count: int = 200) -> torch.Tensor:
    draw = np.random.default_rng(1)
    parts = draw.standard_normal((2, count)) * 10.0 ** draw.uniform(-8, 4, (2, count))
    around = draw.choice([1, -1, 1j, -1j, 0], count) + (parts[0] + 1j * parts[1]) * 1e-6
    return torch.from_numpy(np.concatenate((parts[0] + 1j * parts[1], around)))


def is_close(found: complex, exact: complex, room: float) -> bool:
    """Each part to some ulp; signs of zero too."""
    return all(
        (a == b and math.copysign(1, a) == math.copysign(1, b)) or math.isclose(a, b, rel_tol=room)
        for a, b in ((found.real, exact.real), (found.imag, exact.imag))
    )


@pytest.mark.parametrize("name", NAMES)
def test_exact(name: str) -> None:
    for dtype, room in ((torch.complex128, 1e-14), (torch.complex64, 1.3e-7)):
        z = numbers().to(dtype)
        with repdl.reproducible():
            found = getattr(torch, name)(z)
            assert same_bits(getattr(torch, name)(z[7:8]), found[7:8])
            assert same_bits(getattr(torch, name)(z.reshape(2, -1).mT.contiguous().mT), found.reshape(2, -1))
        for operand, result in zip(z.tolist(), found.tolist(), strict=True):
            with mpmath.workdps(60):
                exact = complex(getattr(mpmath, name)(mpmath.mpc(operand)))
            assert is_close(result, exact, room), (operand, result, exact)


@pytest.mark.parametrize("name", NAMES)
def test_edges(name: str) -> None:
    """Branch cuts by the sign of zero, huge and infinite numbers."""
    points = [z for z in map(complex, EDGES) if not (name == "atanh" and abs(z) == 1) and z not in (1j, -1j)]
    with repdl.reproducible():
        found = getattr(torch, name)(torch.tensor(points, dtype=torch.complex128)).tolist()
        undefined = getattr(torch, name)(torch.tensor([complex(math.nan, 1), complex(1, math.nan)]))
    for operand, result in zip(points, found, strict=True):
        assert is_close(result, getattr(cmath, name)(operand), 4e-15), (operand, result)
    assert undefined.isnan().all()


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: str) -> None:
    z = numbers(20)[:20]
    z = z / z.abs() * 0.7
    grads = []
    for enabled in (False, True):
        operand = z.clone().requires_grad_()
        with repdl.reproducible() if enabled else torch.enable_grad():
            torch.view_as_real(getattr(torch, name)(operand)).sum().backward()
        grads.append(operand.grad)
    assert torch.allclose(grads[0], grads[1], rtol=1e-12)  # type: ignore[arg-type]


def digest() -> str:
    z, hashed = numbers(5000), hashlib.sha256()
    with repdl.reproducible():
        for name in NAMES:
            for dtype in (torch.complex128, torch.complex64):
                hashed.update(torch.view_as_real(getattr(torch, name)(z.to(dtype))).numpy().tobytes())
    return hashed.hexdigest()
