# SPDX-License-Identifier: MIT
"""Matrices as products of simpler ones: QR by Householder's reflections, Cholesky's and LU.

Signs and pivots are those of LAPACK. What is float32 is computed in float64, and rounded once.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.override import override
from repdl.interception.places import warn_of_old_call

_REAL = {"det": 1, "eigh": 0, "eigvalsh": 0, "slogdet": 1, "svd": 1, "svdvals": 0}
"""The outputs of ops of complex numbers that are real, by their places."""


def solved(name: str, *arguments: Any) -> Any:
    """What the op of the core gives; for complex numbers that of their pairs."""
    if not arguments[0].is_complex():
        return core.ops[name](*arguments)
    tensors = [a for a in arguments if isinstance(a, torch.Tensor) and a.dtype != torch.int64]
    if len({t.dtype for t in tensors}) > 1:
        raise RuntimeError(f"linalg.{name}: expected all matrices of one type, got {[str(t.dtype) for t in tensors]}")
    pairs = (torch.view_as_real(a.resolve_conj()) if any(a is t for t in tensors) else a for a in arguments)
    results = core.ops[f"complex_{name}"](*pairs)
    if isinstance(results, torch.Tensor):
        return torch.view_as_complex(results)
    return tuple(
        torch.view_as_complex(r) if r.is_floating_point() and place != _REAL.get(name) else r
        for place, r in enumerate(results)
    )


def checked(name: str, *operands: torch.Tensor, square: bool = False) -> None:
    for x in operands:
        if x.dim() < 2:
            raise RuntimeError(f"linalg.{name}: The input tensor must have at least 2 dimensions.")
        if square and x.shape[-1] != x.shape[-2]:
            raise RuntimeError(
                f"linalg.{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]}"
            )


def batch(x: torch.Tensor) -> torch.Tensor:
    """The matrices in one row, as they lie."""
    count = x.shape[:-2].numel()
    return x.reshape(count, *x.shape[-2:])


def in_columns(x: torch.Tensor) -> torch.Tensor:
    """As LAPACK lays matrices out."""
    return x.mT.clone(memory_format=torch.contiguous_format).mT


def factored(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The columns of R, behind the diagonal the reflections without their first 1; and their factors."""
    factors, tau, _ = solved("geqrf", a, False)
    return factors, tau


def triangle(factors: torch.Tensor, rows: int) -> torch.Tensor:
    """The first rows of R."""
    return factors[..., :rows].tril().mT


def reflected(factors: torch.Tensor, tau: torch.Tensor, x: torch.Tensor, adjoint: bool = False) -> torch.Tensor:
    """The product of the reflections, or its adjoint, times x."""
    result: torch.Tensor = solved("householder", factors, tau, x.mT, adjoint)
    return result.mT


@override("geqrf", wide="float64", complex=True, converts=True)
def geqrf(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    checked("geqrf", self)
    factors, tau = factored(self)
    return factors.mT, tau


@override("linalg_householder_product", wide="float64", complex=True, alike=(0, 1))
def linalg_householder_product(input: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    checked("householder_product", input)
    rows, columns = input.shape[-2:]
    if not (rows >= columns >= tau.shape[-1] and tau.shape[:-1] == input.shape[:-2]):
        raise RuntimeError(
            "torch.linalg.householder_product: input must have no more columns than rows, and tau no more factors; "
            f"got {list(input.shape)} and {list(tau.shape)}"
        )
    result: torch.Tensor = solved("orgqr", input.mT, tau, columns)
    return result.mT


@override("ormqr", wide="float64", complex=True, alike=(0, 1, 2), converts=False)
def ormqr(
    self: torch.Tensor, input2: torch.Tensor, input3: torch.Tensor, left: bool = True, transpose: bool = False
) -> torch.Tensor:
    for x in (self, input3):
        checked("ormqr", x)
    fits = self.shape[-2] == input3.shape[-2 if left else -1] and self.shape[-1] >= input2.shape[-1]
    if not (fits and self.shape[:-2] == input3.shape[:-2] == input2.shape[:-1]):
        raise RuntimeError(
            "torch.ormqr: the reflections must be as long as what they turn, and all batches the same; got "
            f"{list(self.shape)}, {list(input2.shape)} and {list(input3.shape)}"
        )
    if left:
        return reflected(self.mT, input2, input3, transpose)
    return in_columns(reflected(self.mT, input2, input3.mH, not transpose).mH)  # X Q is (Qᴴ Xᴴ)ᴴ


@override(
    "linalg_qr",
    op="qr",
    wide="float64",
    complex=True,
    constants={1: "reduced"},
    results=("TRANSPOSED", "TRANSPOSED"),
)
def linalg_qr(A: torch.Tensor, mode: str = "reduced") -> tuple[torch.Tensor, torch.Tensor]:
    checked("qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or 'complete'")
    if mode == "r":
        factors, tau = factored(A)
        return A.new_empty(0), triangle(factors, tau.shape[-1])
    q, r = solved("qr", A, mode == "complete")
    return q.mT, r.mT


def _check_errors(name: str, info: torch.Tensor, a: torch.Tensor) -> None:
    torch.ops.aten._linalg_check_errors(info, name, is_matrix=a.dim() == 2)


@override(
    "linalg_cholesky_ex",
    op="cholesky",
    wide="float64",
    complex=True,
    results=("TRANSPOSED", "INT32"),
)
def linalg_cholesky_ex(
    self: torch.Tensor, *, upper: bool = False, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    checked("cholesky", self, square=True)
    factor, failed = solved("cholesky", self.mT if upper else self)
    info = failed.to(torch.int32)
    if check_errors:
        _check_errors("linalg.cholesky_ex", info, self)
    return (in_columns(factor) if upper else factor.mT), info


@override("cholesky", wide="float64", complex=True)
def cholesky(self: torch.Tensor, upper: bool = False) -> torch.Tensor:
    warn_of_old_call(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release. Call torch.linalg.cholesky(A), or torch.linalg.cholesky(A).mH where upper=True."
    )
    return torch.linalg.cholesky(self, upper=upper)


@override(
    "linalg_lu_factor_ex",
    op="lu",
    wide="float64",
    complex=True,
    results=("TRANSPOSED", "INT32", "INT32"),
)
def linalg_lu_factor_ex(
    A: torch.Tensor, *, pivot: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """L below the diagonal and U; what row each row was exchanged with, from 1; where a pivot was 0."""
    checked("lu_factor", A)
    factors, pivots, failed = solved("lu", A, pivot)
    info = failed.to(torch.int32)
    if check_errors:
        _check_errors("torch.linalg.lu_factor_ex", info, A)
    return factors.mT, pivots.to(torch.int32), info


@override("linalg_lu", wide="float64", complex=True)
def linalg_lu(A: torch.Tensor, *, pivot: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    factors, pivots, _ = torch.linalg.lu_factor_ex(A, pivot=pivot)
    return torch.lu_unpack(factors, pivots, unpack_pivots=pivot)  # without pivots torch has no P
