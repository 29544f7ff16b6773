# SPDX-License-Identifier: MIT
"""Singular values and eigenvalues, in float64 by Jacobi's method; those of float32 are rounded once.

Of U, or of the eigenvectors, the largest number of each column (the first of those in size) is positive. Values that
are equal keep the order in which the sweeps end.
"""

from __future__ import annotations

import torch

from repdl.interception import core
from repdl.interception.aten.factorization import (
    batch,
    checked,
    factored,
    orthogonal,
    pivoted,
    reflected,
    triangle,
    unbatched,
)
from repdl.interception.aten.matmul import product
from repdl.interception.aten.reduction import sum_of
from repdl.interception.override import float64_ops, override


def _tolerance(dtype: torch.dtype) -> float:
    return 2.0**-50 if dtype == torch.float64 else 2.0**-36


def _scaled(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Each matrix as float64 over a power of 2, whose largest number is in [1/2, 1); and the powers."""
    a = a.to(torch.float64)
    exponent = torch.frexp(a.abs().amax((1, 2), True) if a.numel() else a.new_zeros(len(a), 1, 1)).exponent
    half = exponent // 2
    return torch.ldexp(torch.ldexp(a, -half), half - exponent), exponent[:, :, 0]


def _unscaled(values: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    half = exponent // 2
    return torch.ldexp(torch.ldexp(values, half), exponent - half)


def _rows(x: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    return x.gather(1, order[:, :, None].expand(*order.shape, x.shape[2]))


def _orthogonalised(x: torch.Tensor, width: int, tolerance: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows rotated until their first numbers, so many, are orthogonal; and which matrices got there."""
    rotated, sweeps = core.ops["jacobi"](x, width, tolerance)
    return rotated, sweeps > 0


def _signs(vectors: torch.Tensor) -> torch.Tensor:
    """That of the largest number of each column."""
    if not vectors.shape[1]:
        return vectors.new_ones(vectors.shape[0], 1, vectors.shape[2])
    largest = vectors.gather(1, vectors.abs().argmax(1, True))
    return torch.where(largest < 0, -1.0, 1.0).to(vectors.dtype)


def _basis(x: torch.Tensor) -> torch.Tensor:
    """Orthonormal columns along those of x, which are nearly orthogonal and get shorter; any where x is 0."""
    factors, tau = factored(x)
    head = factors.diagonal(dim1=1, dim2=2)[:, None]
    return orthogonal(factors, tau, x.shape[1]) * torch.where(head < 0, -1.0, 1.0)


def _svd(
    a: torch.Tensor, vectors: bool, full: bool, signed_by_v: bool, tolerance: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """U, S, V and what has converged, of matrices with no more columns than rows.

    A P = Q R, P the columns in the order of what is left of them; rotations Z' make the rows of R orthogonal:
    Z' R = S W'.
    """
    rows, columns = a.shape[1:]
    factors, tau, which = pivoted(a)
    x = triangle(factors, columns)
    if vectors:
        x = torch.cat([x, torch.eye(columns, dtype=x.dtype).expand_as(x)], 2)
    x, done = _orthogonalised(x, columns, tolerance)
    sizes = float64_ops["norm"](x[..., :columns], (2,), False)
    sizes, order = sizes.sort(dim=1, descending=True, stable=True)
    if not vectors:
        return a.new_empty(0), sizes, a.new_empty(0), done
    x = _rows(x, order)
    v = torch.empty_like(x[..., :columns]).scatter_(
        1, which[:, :, None].expand(-1, -1, columns), _basis(x[..., :columns].mT)
    )
    u = torch.eye(rows, rows if full else columns, dtype=a.dtype).repeat(len(a), 1, 1)
    u[:, :columns, :columns] = x[..., columns:].mT
    u = reflected(factors, tau, u)
    signs = _signs(u)
    if signed_by_v:
        signs[..., :columns] = _signs(v)
    return u * signs + 0.0, sizes, v * signs[..., :columns] + 0.0, done  # + 0: no zero is -0


def _check_converged(name: str, a: torch.Tensor, done: torch.Tensor, code: int) -> None:
    if bool(done.all()):
        return
    info = torch.where(done.reshape(a.shape[:-2]), 0, code).to(torch.int32)
    torch.ops.aten._linalg_check_errors(info, name, is_matrix=a.dim() == 2)


def _finite(a: torch.Tensor) -> torch.Tensor:
    return a.isfinite().all(2).all(1)


@override("_linalg_svd", wide="float64", converts=False)
def _linalg_svd(
    A: torch.Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("svd", A)
    if driver is not None:
        raise RuntimeError(
            "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    a = batch(A)
    _check_converged("linalg.svd", A, _finite(a), -4)
    wide = a.shape[1] < a.shape[2]
    scaled, exponent = _scaled(a.mT if wide else a)
    u, s, v, done = _svd(scaled, compute_uv, full_matrices, wide, _tolerance(A.dtype))
    _check_converged("linalg.svd", A, done, 1)
    s = _unscaled(s, exponent).to(A.dtype).reshape(*A.shape[:-2], s.shape[1])
    if not compute_uv:
        return A.new_empty(0), s, A.new_empty(0)
    u, v = (v, u) if wide else (u, v)
    return unbatched(u.to(A.dtype), A), s, unbatched(v.mT.to(A.dtype), A)


def _eigh(a: torch.Tensor, tolerance: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Eigenvalues, the smallest first, eigenvectors, and what has converged, of symmetric matrices.

    A + c, c twice a bound of the eigenvalues, is positive: its singular vectors are its eigenvectors. Eigenvalues are
    v' A v.
    """
    if a.numel() == 0:
        return a.new_empty(a.shape[:2]), a, torch.ones(len(a), dtype=torch.bool)
    sums = sum_of(a.abs(), 1, ops=float64_ops)
    bound = torch.minimum(float64_ops["norm"](a, (1, 2), False), sums.amax(1))
    bound = torch.where(bound == 0, torch.ones_like(bound), bound)
    raised = a + torch.eye(a.shape[1], dtype=a.dtype) * (bound + bound)[:, None, None]
    x, done = _orthogonalised(raised, a.shape[1], tolerance)
    vectors = (x / float64_ops["norm"](x, (2,), True)).mT
    values = sum_of(vectors * product(a, vectors, float64_ops), 1, ops=float64_ops)
    values, order = values.sort(dim=1, stable=True)
    vectors = _rows(vectors.mT, order).mT
    return values, vectors * _signs(vectors) + 0.0, done


@override("_linalg_eigh", wide="float64", converts=False)
def _linalg_eigh(A: torch.Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    checked("eigh", A, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    a = batch(A if UPLO.upper() == "L" else A.mT)
    a = a.tril() + a.tril(-1).mT
    _check_converged("linalg.eigh", A, _finite(a), 1)
    scaled, exponent = _scaled(a)
    values, vectors, done = _eigh(scaled, _tolerance(A.dtype))
    _check_converged("linalg.eigh", A, done, 1)
    values = _unscaled(values, exponent).to(A.dtype).reshape(A.shape[:-1])
    return values, unbatched(vectors.to(A.dtype), A) if compute_v else A.new_empty(0)
