# SPDX-License-Identifier: MIT
"""Linear algebra: what the ops say of bad arguments, and what torch's functions make of them under `repdl.enable()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import ops
from support import same_bits

L = torch.linalg
F32 = np.float32


def ones(*shape: int) -> Any:
    return np.ones(shape, F32)


MESSAGES: dict[str, tuple[Callable[[], Any], str]] = {
    "vector": (lambda: ops.cholesky(ones(3)), r"\[cholesky\] input must have the shape \(…, n, n\)"),
    "flat": (lambda: ops.inv(ones(2, 3)), r"\[inv\] input must hold square matrices \(…, n, n\), got \(2, 3\)"),
    "rows": (
        lambda: ops.solve(ones(3, 3), ones(2, 4)),
        r"\[solve\] rows of shape \(2, 4\) must hold rows of 3 numbers",
    ),
    "batch": (
        lambda: ops.solve_triangular(ones(2, 3, 3), ones(1, 2, 3)),
        r"\[solve_triangular\] rows of shape \(1, 2, 3\) must have the batch dimensions of input, .*; use expand\(\)",
    ),
    "pivots": (
        lambda: ops.lu_solve(ones(2, 2), np.array([1, 3]), ones(1, 2)),
        r"\[lu_solve\] pivots holds 3, which is neither one of the rows 1 to 2 nor 0; give what lu returned",
    ),
    "reflections": (
        lambda: ops.householder(ones(2, 3), ones(3), ones(1, 3)),
        r"\[householder\] tau of shape \(3\) has more numbers than factors",
    ),
    "flat eigenvalues": (lambda: ops.eigh(ones(2, 3)), r"\[eigh\] input must hold square matrices"),
    "flat exponential": (lambda: ops.matrix_exp(ones(2, 3)), r"\[matrix_exp\] input must hold square matrices"),
    "singular vector": (lambda: ops.svd(ones(3)), r"\[svd\] input must have the shape \(…, m, n\)"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_says_what_is_wrong(name: str) -> None:
    call, message = MESSAGES[name]
    with pytest.raises(ValueError, match=message.replace(r"\(3\)", r"\(3,?\)")):
        call()


CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "cholesky": lambda a, b: L.cholesky(a @ a.mT + 3 * torch.eye(a.shape[-1], dtype=a.dtype)),
    "solve_triangular": lambda a, b: L.solve_triangular(a, b, upper=True),
    "solve_triangular of one": lambda a, b: L.solve_triangular(a, b[..., :1], upper=False),
    "solve": L.solve,
    "solve of one": lambda a, b: L.solve(a, b[..., :1]),
    "solve from the right": lambda a, b: L.solve(a, b.mT, left=False),
    "inv": lambda a, b: L.inv(a),
    "det": lambda a, b: L.det(a),
    "lu": lambda a, b: L.lu_factor(a)[0],
    "qr": lambda a, b: L.qr(a)[0],
    "lstsq": lambda a, b: L.lstsq(a, b).solution,
}  # fmt: skip


COMPLEX: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    **{name: call for name, call in CALLS.items() if name not in ("qr", "lstsq")},
    "cholesky": lambda a, b: L.cholesky(a @ a.mH + 3 * torch.eye(a.shape[-1], dtype=a.dtype)),
    "cholesky of the upper half": lambda a, b: L.cholesky(a @ a.mH + 3 * torch.eye(a.shape[-1]), upper=True),
    "cholesky_solve": lambda a, b: torch.cholesky_solve(b, a.tril()),
    "cholesky_solve by the upper half": lambda a, b: torch.cholesky_solve(b, a.triu(), upper=True),
    "cholesky_inverse": lambda a, b: torch.cholesky_inverse(L.cholesky(a @ a.mH)),
    "lu_solve": lambda a, b: L.lu_solve(*L.lu_factor(a), b),
    "lu_solve of the adjoint": lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True),
    "lu_solve from the right": lambda a, b: L.lu_solve(*L.lu_factor(a), b.mT, left=False),
    "lu_solve of the adjoint from the right": lambda a, b: L.lu_solve(*L.lu_factor(a), b.mT, left=False, adjoint=True),
    "solve by a conjugate": lambda a, b: L.solve(a.conj(), b.conj()),
    "slogdet": lambda a, b: L.slogdet(a)[0] * L.slogdet(a)[1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in CALLS for dtype in (torch.float32, torch.float64)]
    + [(name, dtype) for name in COMPLEX for dtype in (torch.complex64, torch.complex128)],
)
def test_many_sides_are_each_alone(name: str, dtype: torch.dtype) -> None:
    """Below and above the sizes where other kernels and threads start, in every layout, and near to stock torch's."""
    call = (COMPLEX if dtype.is_complex else CALLS)[name]
    wide = torch.complex128 if dtype.is_complex else torch.float64

    def normal(*shape: int) -> torch.Tensor:
        parts = draw.standard_normal((2, *shape))
        return torch.from_numpy(parts[0] + 1j * parts[1] if dtype.is_complex else parts[0])

    for count, n, sides in ((3, 5, 2), (2, 33, 9), (1, 130, 7)):
        draw = np.random.default_rng(n)
        a, b = (normal(count, n, n) / n + torch.eye(n)).to(dtype), normal(count, n, sides).to(dtype)
        stock = call(a.to(wide), b.to(wide))
        with repdl.reproducible():
            found = call(a, b)
            rtol = 1e-5 if dtype in (torch.float32, torch.complex64) else 1e-12
            assert torch.allclose(found.to(wide), stock, rtol=rtol, atol=1e-5)
            for i in range(count):
                assert same_bits(call(a[i], b[i]), found[i])
            in_columns = a.mT.contiguous().mT, b.mT.contiguous().mT
            if name not in ("det", "slogdet"):
                assert same_bits(call(*in_columns), found)
            spread = torch.zeros(count, n, 2 * n, dtype=dtype)[..., ::2].copy_(a)
            assert same_bits(call(spread, b), found)
            for threads in (1, 2, 3, 7):
                repdl.set_num_threads(threads)
                assert same_bits(call(a, b), found)


def test_a_side_has_its_bits_among_few_and_many() -> None:
    draw = np.random.default_rng(3)
    a = torch.from_numpy(draw.standard_normal((40, 40)))
    b = torch.from_numpy(draw.standard_normal((40, 50)))
    with repdl.reproducible():
        for call in (L.solve, lambda a, b: L.solve_triangular(a, b, upper=True)):
            whole = call(a, b)
            for few in (1, 3, 6, 7):
                assert same_bits(call(a, b[:, :few]), whole[:, :few])


def test_results_do_not_depend_on_the_order() -> None:
    a = torch.from_numpy(np.random.default_rng(1).standard_normal((300, 300)))
    with repdl.reproducible():
        blocked = L.solve(a, a[:, :5]), L.qr(a)[1]
        with repdl.order("sequential"):
            assert all(map(same_bits, blocked, (L.solve(a, a[:, :5]), L.qr(a)[1])))


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-700, 2.0**-481, 2.0**481, 2.0**700, 2.0**1018])
def test_qr_of_numbers_whose_squares_overflow_or_vanish(pivot: bool, scale: float) -> None:
    a = torch.randn(5, 7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    of_a, of_scaled = ops.geqrf(a, pivot), ops.geqrf(a * scale, pivot)
    if scale < 2.0**-1022:  # of subnormal numbers with few digits
        assert (of_scaled[1] - of_a[1]).abs().max() < 1e-3
        return
    factors, scaled = of_a[0].mT, of_scaled[0].mT
    assert same_bits((factors * scale).triu(), scaled.triu()) and same_bits(factors.tril(-1), scaled.tril(-1))
    assert same_bits(of_a[1], of_scaled[1]) and same_bits(of_a[2], of_scaled[2])


@pytest.mark.parametrize(
    "name", ["solve", "inv", "det", "slogdet", "cholesky", "qr", "svd", "eigh", "eig", "matrix_exp"]
)
def test_batches_of_empty_matrices_of_any_strides(name: str) -> None:
    """Their strides say nothing, and no copy changes them: to ask for better ones once ended the process."""
    for a in (torch.zeros(2, 2, 0, 0), torch.zeros(2, 0, 2, 0).transpose(1, 2), torch.zeros(4, 2, 0, 0)[::2]):
        rows = (torch.zeros(2, 2, 0, 3),) if name == "solve" else ()
        with repdl.reproducible():
            result = getattr(L, name)(a.double(), *(r.double() for r in rows))
        assert all(x.shape[:2] == (2, 2) for x in (result if isinstance(result, tuple) else (result,)))
