# SPDX-License-Identifier: MIT
"""Singular values and eigenvalues, by the ops `svd`, `eigh` and `eig` of the core, and the errors of torch."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten.factorization import checked, solved
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.variants import fill


def _check_found(name: str, a: torch.Tensor, info: torch.Tensor, code: int) -> None:
    """Raises torch's error where the search was given up, or with this code where a number is not finite."""
    if torch.count_nonzero(info):
        codes = torch.where(info < 0, code, info).to(torch.int32)
        torch.ops.aten._linalg_check_errors(codes, name, is_matrix=a.dim() == 2)


@override(
    "_linalg_svd",
    op="svd",
    wide="float64",
    complex=True,
    constants={2: True},
    results=("TRANSPOSED", "SAME", "TRANSPOSED", "ZEROS"),
)
def _linalg_svd(
    A: torch.Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("svd", A)
    if driver is not None:
        raise RuntimeError(
            "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    if compute_uv:
        u, s, vh, info = solved("svd", A, full_matrices)
        _check_found("linalg.svd", A, info, -4)
        return u.mT, s, vh.mT
    s, info = solved("svdvals", A)
    _check_found("linalg.svd", A, info, -4)
    return A.new_empty(0), s, A.new_empty(0)


@override(
    "_linalg_eigh",
    op="eigh",
    wide="float64",
    complex=True,
    constants={1: "L", 2: True},
    results=("SAME", "TRANSPOSED", "ZEROS"),
)
def _linalg_eigh(A: torch.Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    checked("eigh", A, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    upper = UPLO.upper() == "U"
    if compute_v:
        values, vectors, info = solved("eigh", A, upper)
        _check_found("linalg.eigh", A, info, 1)
        return values, vectors.mT
    values, info = solved("eigvalsh", A, upper)
    _check_found("linalg.eigh", A, info, 1)
    return values, A.new_empty(0)


def _eigen(name: str, a: torch.Tensor) -> Any:
    """What the op of the core gives, of real numbers or of pairs; the eigenvalues are pairs of either."""
    return core.ops[f"complex_{name}"](torch.view_as_real(a.resolve_conj())) if a.is_complex() else core.ops[name](a)


@override("linalg_eig", wide="float64", complex=True, converts=True)
def linalg_eig(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    checked("eig", self, square=True)
    values, vectors, info = _eigen("eig", self)
    if (info < 0).any():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    _check_found("torch.linalg.eig", self, info, 1)
    return torch.view_as_complex(values), torch.view_as_complex(vectors).mT


@override("_linalg_eigvals", wide="float64", complex=True)
def _linalg_eigvals(self: torch.Tensor) -> torch.Tensor:
    checked("eigvals", self, square=True)
    values, info = _eigen("eigvals", self)
    _check_found("torch.linalg.eigvals", self, info.clamp(min=0), 1)  # of what is not finite, the values are NaN
    return torch.view_as_complex(values)


@override("linalg_eigvals.out", **ANY_DTYPE)
def linalg_eigvals_out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return fill(out, torch.linalg.eigvals(self))
