# SPDX-License-Identifier: MIT
"""Systems of linear equations, inverses and determinants.

What is float32 is computed in float64, and rounded once.
"""

from __future__ import annotations

import torch

from repdl.interception import core
from repdl.interception.aten.factorization import checked, in_columns, solved
from repdl.interception.override import override
from repdl.interception.places import warn_of_old_call


def _together(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both with the same batch."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand(*shape, *a.shape[-2:]), b.expand(*shape, *b.shape[-2:])


def _check_fit(name: str, a: torch.Tensor, b: torch.Tensor, left: bool = True) -> None:
    checked(name, a, square=True)
    if b.dim() < 2 or b.shape[-2 if left else -1] != a.shape[-1]:
        raise RuntimeError(
            f"linalg.{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a.shape[-2]}x{a.shape[-1]} and {'x'.join(map(str, b.shape[-2:]))})"
        )


@override(
    "linalg_solve_triangular",
    op="solve_triangular",
    wide="float64",
    complex=True,
    converts=False,
    transposed=("rows",),
    results=("TRANSPOSED",),
)
def solve_triangular(
    self: torch.Tensor, B: torch.Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> torch.Tensor:
    _check_fit("solve_triangular", self, B, left)
    a, b = _together(self, B)
    in_rows = self.is_conj() and a.mT.is_contiguous()  # a factor's `.mH` as it is, which torch leaves where it is
    if left:
        found = solved("solve_triangular", a, b.mT, upper, unitriangular).mT
        return found.contiguous() if in_rows else found
    found = solved("solve_triangular", a.mT, b, not upper, unitriangular)  # X A = B is A^T X^T = B^T
    return found if in_rows else in_columns(found)


@override("triangular_solve", wide="float64", complex=True, alike=(0, 1))
def triangular_solve(
    self: torch.Tensor, A: torch.Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    warn_of_old_call(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular and will be removed in a "
        "future PyTorch release. Call torch.linalg.solve_triangular(A, B, upper=upper), which gives the solution alone."
    )
    a = A.mT if transpose else A
    return solve_triangular(a, self, upper=upper != transpose, unitriangular=unitriangular), in_columns(A)


@override("_cholesky_solve_helper", wide="float64", complex=True, converts=False)
def _cholesky_solve_helper(self: torch.Tensor, A: torch.Tensor, upper: bool) -> torch.Tensor:
    lower, b = _together(A.mH if upper else A, self)
    return solved("cholesky_solve", lower, b.mT).mT


def _check_diagonal(factor: torch.Tensor) -> None:
    """torch's error for the first factor with a zero on its diagonal."""
    is_zero = factor.detach().diagonal(dim1=-2, dim2=-1).reshape(-1, factor.shape[-1]) == 0
    if not bool(is_zero.any()):
        return
    matrix, place = is_zero.nonzero()[0].tolist()
    of_batch = f"(Batch element {matrix}): " if factor.dim() > 2 else ""
    raise torch.linalg.LinAlgError(  # type: ignore[attr-defined]
        f"cholesky_inverse: {of_batch}The diagonal element {place + 1} is zero, the inversion could not be completed "
        "because the input matrix is singular."
    )


@override("cholesky_inverse", wide="float64", complex=True)
def cholesky_inverse(self: torch.Tensor, upper: bool = False) -> torch.Tensor:
    checked("cholesky_inverse", self, square=True)
    if self.numel():
        _check_diagonal(self)
    return _cholesky_solve_helper(torch.eye(self.shape[-1], dtype=self.dtype).expand(self.shape), self, upper)


def _check_pivots(name: str, factors: torch.Tensor, pivots: torch.Tensor) -> None:
    rows = factors.shape[:-1]
    if pivots.dtype not in (torch.int32, torch.int64) or pivots.shape != rows:
        raise RuntimeError(
            f"linalg.{name}: pivots must be integers of shape {list(rows)}, not {pivots.dtype} of shape "
            f"{list(pivots.shape)}; give those that came with the factors"
        )


@override("linalg_lu_solve", wide="float64", complex=True, alike=(0, 2), converts=False)
def linalg_lu_solve(
    LU: torch.Tensor, pivots: torch.Tensor, B: torch.Tensor, *, left: bool = True, adjoint: bool = False
) -> torch.Tensor:
    _check_fit("lu_solve", LU, B, left)
    _check_pivots("lu_solve", LU, pivots)
    return _lu_solve(LU, pivots, B, left, adjoint)


def _lu_solve(
    LU: torch.Tensor, pivots: torch.Tensor, B: torch.Tensor, left: bool = True, adjoint: bool = False
) -> torch.Tensor:
    factors, rows = _together(LU.mT, B.mT if left else B)
    exchanges = pivots.to(torch.int64).expand(factors.shape[:-1])
    # X A = B is A^T X^T = B^T, and of complex numbers A^H X = B is A^T conj(X) = conj(B).
    found = solved("lu_solve", factors, exchanges, rows.conj() if adjoint else rows, adjoint == left)
    found = found.conj().resolve_conj() if adjoint else found
    return found.mT if left else found


@override("linalg_ldl_factor_ex", wide="float64", complex=True)
def linalg_ldl_factor_ex(
    self: torch.Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Blocks of two have the same negative pivot twice, as in LAPACK."""
    checked("ldl_factor_ex", self, square=True)
    factors, pivots, failed = solved("ldl", self, *([hermitian] if self.is_complex() else []))
    info = failed.to(torch.int32)
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "torch.linalg.ldl_factor_ex", is_matrix=self.dim() == 2)
    first = torch.where(pivots > self.shape[-1], self.shape[-1] - pivots, pivots)  # integers
    before = first.roll(1, -1)
    return factors.mT, torch.where(pivots == 0, before, first).to(torch.int32), info


@override("linalg_ldl_solve", wide="float64", complex=True, alike=(0, 2), converts=False)
def linalg_ldl_solve(
    LD: torch.Tensor, pivots: torch.Tensor, B: torch.Tensor, *, hermitian: bool = False
) -> torch.Tensor:
    _check_fit("ldl_solve", LD, B)
    _check_pivots("ldl_solve", LD, pivots)
    if pivots.is_cpu and bool(((pivots == 0) | (pivots.abs() > LD.shape[-1])).any()):  # the op means others by them
        raise RuntimeError(
            f"linalg.ldl_solve: pivots must name the rows 1 to {LD.shape[-1]}; give those that came with the factors"
        )
    factors, rows = _together(LD.mT, B.mT)
    negative = pivots < 0
    is_first = negative & (negative.cumsum(-1) % 2 == 1)  # integers
    exchanges = torch.where(is_first, LD.shape[-1] - pivots, pivots.clamp_min(0))  # integers
    exchanges = exchanges.to(torch.int64).expand(factors.shape[:-1])
    return solved("ldl_solve", factors, exchanges, rows, *([hermitian] if LD.is_complex() else [])).mT


@override(
    "_linalg_solve_ex",
    op="solve",
    wide="float64",
    alike=(0, 1),
    complex=True,
    transposed=("rows",),
    results=("TRANSPOSED", "TRANSPOSED", "INT32", "INT32"),
)
def _linalg_solve_ex(
    A: torch.Tensor, B: torch.Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("solve", A, square=True)
    vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    b = B[..., None] if vector else B
    left = left or vector
    _check_fit("solve", A, b, left)
    if left and A.shape[:-2] == b.shape[:-2]:
        found, factors, pivots, failed = solved("solve", A, b.mT)
        result = found.mT
    else:
        dtype = torch.complex128 if A.is_complex() else torch.float64
        wide, pivots, failed = solved("lu", A.to(dtype), True)
        result = _lu_solve(wide.mT, pivots, b.to(dtype), left).to(A.dtype)
        factors = wide.to(A.dtype)
    info = failed.to(torch.int32)
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "torch.linalg.solve_ex", is_matrix=A.dim() == 2)
    if vector:
        result = result[..., 0] if B.dim() == 1 else in_columns(result[..., 0])
    return result, factors.mT, pivots.to(torch.int32), info


@override("linalg_inv_ex", op="inv", wide="float64", complex=True, results=("TRANSPOSED", "INT32"))
def linalg_inv_ex(A: torch.Tensor, *, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    checked("inv", A, square=True)
    inverse, failed = solved("inv", A)
    info = failed.to(torch.int32)
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "linalg.inv_ex", is_matrix=A.dim() == 2)
    return inverse.mT, info


def _factors(A: torch.Tensor, of_transpose: torch.Tensor, pivots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Those that torch's gradients expect: of the transpose for a matrix of real numbers that lies in rows."""
    if not A.is_contiguous() or A.is_complex():
        of_transpose, pivots, _ = solved("lu", A, True)
    return of_transpose.mT, pivots.to(torch.int32)


@override(
    "_linalg_det",
    op="det",
    wide="float64",
    complex=True,
    contiguous=True,
    transposed=("input",),
    results=("SAME", "LEFT_OUT", "TRANSPOSED", "INT32"),
)
def _linalg_det(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """That of the transpose, however the matrix lies."""
    checked("det", A, square=True)
    result, _, factors, pivots = solved("det", A.mT)
    return result, *_factors(A, factors, pivots)


@override(
    "_linalg_slogdet",
    op="slogdet",
    wide="float64",
    complex=True,
    contiguous=True,
    transposed=("input",),
    results=("SAME", "SAME", "TRANSPOSED", "INT32"),
)
def _linalg_slogdet(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """That of the transpose, however the matrix lies."""
    checked("slogdet", A, square=True)
    sign, logarithm, factors, pivots = solved("slogdet", A.mT)
    return sign, logarithm, *_factors(A, factors, pivots)


@override("linalg_matrix_exp", wide="float64", complex=True, converts=False)
def linalg_matrix_exp(self: torch.Tensor) -> torch.Tensor:
    """Of A + iB it is in the first columns of that of [[A, -B], [B, A]]."""
    checked("matrix_exp", self, square=True)
    if not self.is_complex():
        result: torch.Tensor = core.ops["matrix_exp"](self)
        return result
    a, b = torch.view_as_real(self.resolve_conj()).unbind(-1)
    n = a.shape[-1]
    found = core.ops["matrix_exp"](torch.cat((torch.cat((a, -b), -1), torch.cat((b, a), -1)), -2))
    return torch.complex(found[..., :n, :n], found[..., n:, :n])
