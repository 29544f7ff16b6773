# SPDX-License-Identifier: MIT
"""Square roots of positive definite matrices, and polar factors: by the eigenvalues and singular values of spectral.py.

Both are functions of torch 2.14 and later.
"""

from __future__ import annotations

import torch

from repdl.interception import core
from repdl.interception.aten.factorization import checked
from repdl.interception.aten.least_squares import each_row
from repdl.interception.override import override


def _hermitian(vectors: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The matrix with these eigenvectors, its columns, and eigenvalues."""
    return torch.matmul(each_row("mul", vectors.mT, values).mT, vectors.mH)


@override("linalg_matrix_sqrth", wide="compute", converts=False)
def linalg_matrix_sqrth(self: torch.Tensor) -> torch.Tensor:
    checked("matrix_sqrth", self, square=True)
    values, vectors = torch.linalg.eigh(self)
    # By roundings a value of about 0 may be negative; torch takes every negative one for 0.
    return _hermitian(vectors, core.ops["sqrt"](torch.where(values < 0, torch.zeros_like(values), values)))


@override("linalg_polar", wide="compute", converts=False)
def linalg_polar(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    checked("polar", A)
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"linalg.polar: A must have at least as many rows as columns, got {list(A.shape)}")
    u, values, vh = torch.linalg.svd(A, full_matrices=False)
    return torch.matmul(u, vh), _hermitian(vh.mH, values)
