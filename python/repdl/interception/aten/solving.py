# SPDX-License-Identifier: MIT
"""Systems of linear equations, inverses and determinants, by the factors of factorization.py.

What is float32 is computed in float64, and rounded once.
"""

from __future__ import annotations

import torch

from repdl.interception.aten.factorization import batch, checked, in_columns, lu, unbatched
from repdl.interception.aten.matmul import product
from repdl.interception.aten.reduction import sum_of
from repdl.interception.override import from_float64, ops_of, override


def substituted(a: torch.Tensor, b: torch.Tensor, upper: bool, unit: bool = False) -> torch.Tensor:
    """X of A X = B, row after row: the known rows times those of A by the product rule, a difference, a quotient."""
    x = torch.zeros_like(b, memory_format=torch.contiguous_format)
    rows = a.shape[1]
    for i in reversed(range(rows)) if upper else range(rows):
        known = slice(i + 1, rows) if upper else slice(0, i)
        row = b[:, i : i + 1] - product(a[:, i : i + 1, known], x[:, known], ops_of(a))
        x[:, i : i + 1] = row if unit else row / a[:, i : i + 1, i : i + 1]
    return x


def _together(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Size]:
    """Both with the same batch, in one row; and that batch."""
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return batch(a.expand(*shape, *a.shape[-2:])), batch(b.expand(*shape, *b.shape[-2:])), shape


def _check_fit(name: str, a: torch.Tensor, b: torch.Tensor, left: bool = True) -> None:
    checked(name, a, square=True)
    if b.dim() < 2 or b.shape[-2 if left else -1] != a.shape[-1]:
        raise RuntimeError(
            f"linalg.{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a.shape[-2]}x{a.shape[-1]} and {'x'.join(map(str, b.shape[-2:]))})"
        )


@override("linalg_solve_triangular", wide="float64", converts=False)
@from_float64
def solve_triangular(
    self: torch.Tensor, B: torch.Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> torch.Tensor:
    _check_fit("solve_triangular", self, B, left)
    if not left:
        return in_columns(solve_triangular(self.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT)
    a, b, shape = _together(self, B)
    x = substituted(a, b, upper, unitriangular)
    return in_columns(x.reshape(*shape, *x.shape[-2:]))


@override("triangular_solve", wide="float64", converts=False)
@from_float64
def _(
    self: torch.Tensor, A: torch.Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    a = A.mT if transpose else A
    return solve_triangular(a, self, upper=upper != transpose, unitriangular=unitriangular), in_columns(A)


@override("_cholesky_solve_helper", wide="float64", converts=False)
@from_float64
def _(self: torch.Tensor, A: torch.Tensor, upper: bool) -> torch.Tensor:
    lower = A.mT if upper else A
    a, b, shape = _together(lower, self)
    x = substituted(a.mT, substituted(a, b, upper=False), upper=True)
    return in_columns(x.reshape(*shape, *x.shape[-2:]))


@override("cholesky_inverse", wide="float64", converts=False)
@from_float64
def _(self: torch.Tensor, upper: bool = False) -> torch.Tensor:
    checked("cholesky_inverse", self, square=True)
    return torch.cholesky_solve(torch.eye(self.shape[-1], dtype=self.dtype).expand(self.shape), self, upper)


def _exchanged(b: torch.Tensor, pivots: torch.Tensor, back: bool = False) -> torch.Tensor:
    b, which = b.clone(memory_format=torch.contiguous_format), torch.arange(b.shape[0])
    steps = range(pivots.shape[1])
    for j in reversed(steps) if back else steps:
        other = pivots[:, j].to(torch.int64) - 1
        first, second = b[:, j].clone(), b[which, other]
        b[which, other], b[:, j] = first, second
    return b


def _by_factors(factors: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor, adjoint: bool = False) -> torch.Tensor:
    """X of A X = B, or of its transpose, from the factors of A."""
    if adjoint:
        x = substituted(factors.mT, b, upper=False)
        return _exchanged(substituted(factors.mT, x, upper=True, unit=True), pivots, back=True)
    x = substituted(factors, _exchanged(b, pivots), upper=False, unit=True)
    return substituted(factors, x, upper=True)


@override("linalg_lu_solve", wide="float64", converts=False)
@from_float64
def lu_solve(
    LU: torch.Tensor, pivots: torch.Tensor, B: torch.Tensor, *, left: bool = True, adjoint: bool = False
) -> torch.Tensor:
    _check_fit("lu_solve", LU, B, left)
    if not left:  # X A = B is A^T X^T = B^T
        return lu_solve(LU, pivots, B.mT, adjoint=not adjoint).mT
    a, b, shape = _together(LU, B)
    exchanges = pivots.expand(*shape, pivots.shape[-1]).reshape(shape.numel(), pivots.shape[-1])
    x = _by_factors(a, exchanges, b, adjoint)
    return in_columns(x.reshape(*shape, *x.shape[-2:]))


@override("_linalg_solve_ex", wide="float64", converts=False)
@from_float64
def _(
    A: torch.Tensor, B: torch.Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("solve", A, square=True)
    vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    b = B[..., None] if vector else B
    _check_fit("solve", A, b, left or vector)
    factors, pivots, info = torch.linalg.lu_factor_ex(A)
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "torch.linalg.solve_ex", is_matrix=A.dim() == 2)
    result = lu_solve(factors, pivots, b, left=left or vector)
    if vector:
        result = result[..., 0] if B.dim() == 1 else in_columns(result[..., 0])
    return result, factors, pivots, info


@override("linalg_inv_ex", wide="float64", converts=False)
@from_float64
def _(A: torch.Tensor, *, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    checked("inv", A, square=True)
    factors, pivots, info = lu(batch(A))
    info = info.reshape(A.shape[:-2])
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "linalg.inv_ex", is_matrix=A.dim() == 2)
    return unbatched(_by_factors(factors, pivots, torch.eye(A.shape[-1], dtype=A.dtype).expand(factors.shape)), A), info


def _diagonal(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of U; the sign of the exchanges of rows; the factors.

    The determinant is that of the transpose, however the matrix lies. Factors are those that torch's gradients expect:
    those of the transpose for a matrix that lies in rows.
    """
    factors, pivots, _ = torch.linalg.lu_factor_ex(A.mT)
    exchanged = pivots != torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)
    sign = 1 - 2 * (exchanged.sum(-1) % 2).to(A.dtype)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    if not A.is_contiguous():
        factors, pivots, _ = torch.linalg.lu_factor_ex(A)
    return diagonal, sign, factors, pivots


@override("_linalg_det", wide="float64", converts=False)
@from_float64
def _(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("det", A, square=True)
    diagonal, sign, factors, pivots = _diagonal(A)
    return diagonal.prod(-1) * sign, factors, pivots


@override("_linalg_slogdet", wide="float64", converts=False)
@from_float64
def _(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("slogdet", A, square=True)
    diagonal, sign, factors, pivots = _diagonal(A)
    logarithms = ops_of(A)["log"](diagonal.abs().contiguous())
    return diagonal.sgn().prod(-1) * sign, sum_of(logarithms, -1, ops=ops_of(A)), factors, pivots


@override("linalg_matrix_exp", wide="float64", converts=False)
def _(self: torch.Tensor) -> torch.Tensor:
    """Taylor's polynomial of degree 10, or 18 of float64, of A / 2^s, whose norm is at most 1/2, squared s times."""
    checked("matrix_exp", self, square=True)
    if self.numel() == 0:
        return self.clone()
    a = batch(self).to(torch.float64)
    one, ops = torch.eye(a.shape[1], dtype=a.dtype), ops_of(a)
    times = (torch.frexp(sum_of(a.abs(), 1, ops=ops).amax(1)).exponent + 1).clamp(0, 128)[:, None, None]
    a = torch.ldexp(a, -times)
    result = one.expand(a.shape)
    for k in range(18 if self.dtype == torch.float64 else 10, 0, -1):
        result = one + product(a, result, ops) / k
    for i in range(int(times.max())):
        result = torch.where(i < times, product(result, result, ops), result)
    return result.to(self.dtype).reshape(self.shape)
