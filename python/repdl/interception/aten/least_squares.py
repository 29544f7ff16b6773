# SPDX-License-Identifier: MIT
"""Equations with more rows than unknowns, or fewer, and pseudo-inverses: by QR, and by the values of spectral.py.

Of the drivers of `lstsq`, gels takes the rank for granted; gelsy, the default, finds it by QR with the longest column
left first, at the first number of the diagonal below rcond times the first of all; gelsd and gelss find it by singular
values. The solution is the shortest of those that are as near. What is float32 is computed in float64, and rounded
once.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten.factorization import batch, checked, in_columns, solved
from repdl.interception.aten.matmul import product
from repdl.interception.aten.reduction import sum_of
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import override


def each_row(op: str, x: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Rows of matrices, each times a real number, or divided by it."""
    if not x.is_complex():
        result: torch.Tensor = core.ops[op](x, numbers[..., None])
        return result
    return torch.view_as_complex(core.ops[op](torch.view_as_real(x.resolve_conj()), numbers[..., None, None]))


def _squares(x: torch.Tensor) -> torch.Tensor:
    """The sums of the squares of columns."""
    parts = torch.view_as_real(x) if x.is_complex() else x[..., None]
    return sum_of(core.ops["mul"](parts, parts), (1, 3))


def _by_values(a: torch.Tensor, b: torch.Tensor, rcond: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """X, the ranks and the singular values."""
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    kept = s > core.ops["mul"](s[:, :1], s.new_tensor([[rcond]]))
    turned = each_row("div", product(u.mH, b, ops_of(a)), torch.where(kept, s, torch.ones_like(s)))
    x = product(vh.mH, torch.where(kept[:, :, None], turned, torch.zeros_like(turned)), ops_of(a))
    return x, kept.sum(1), s


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(f"torch.linalg.lstsq: {message}")


@override("linalg_lstsq", wide="float64", low="alike", complex=True, converts=True)
def linalg_lstsq(
    self: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    _check(self.dim() >= 2, "input must have at least 2 dimensions.")
    _check(b.dim() >= 1, "other must have at least 1 dimension.")
    vector = b.dim() == 1 or (b.dim() == self.dim() - 1 and b.shape == self.shape[:-1])
    right = b[..., None] if vector else b
    _check(self.shape[-2] == right.shape[-2], "input.size(-2) should match other.size(-2)")
    driver = driver or "gelsy"
    _check(
        driver in ("gels", "gelsy", "gelsd", "gelss"),
        "parameter `driver` should be one of (gels, gelsy, gelsd, gelss)",
    )
    rows, columns = self.shape[-2:]
    shape, operands = self.shape[:-2], (self, right)
    if right.shape[:-2] != shape:
        shape = torch.broadcast_shapes(shape, right.shape[:-2])
        operands = tuple(x.expand(*shape, *x.shape[-2:]) for x in operands)  # type: ignore[assignment]
    cut = max(rows, columns) * torch.finfo(self.dtype).eps if rcond is None else rcond
    gives_values = driver in ("gelsd", "gelss")
    by_values = gives_values and min(rows, columns) > 0
    has_residuals = rows > columns and driver != "gelsy"
    if by_values or has_residuals:
        wide = torch.complex128 if self.is_complex() else torch.float64
        operands = tuple(batch(x).to(wide) for x in operands)  # type: ignore[assignment]
    a, y = operands
    # Of zeros, as what is empty for certain takes less time than what might have to be filled.
    dtype = self.dtype.to_real()
    residuals = self.new_zeros(0, dtype=dtype)
    values = self.new_zeros(*(shape if gives_values else ()), 0, dtype=dtype)
    if by_values:
        x, ranks, of_matrices = _by_values(a, y, cut)
        values = of_matrices.reshape(*shape, of_matrices.shape[1]).to(dtype)
    else:
        of_rows, ranks = solved("lstsq", a, y.mT, cut, driver != "gels")
        x = of_rows.mT
    if has_residuals and bool((ranks == columns).all()):
        squares = _squares(ops_of(a)["sub"](product(a, x, ops_of(a)), y))
        residuals = squares.reshape(*shape, squares.shape[1]).to(dtype)
    if by_values or rows > columns:
        # Columns are as far apart as those of the right side, into which LAPACK writes.
        room = in_columns(self.new_empty(*shape, max(rows, columns), x.shape[-1]))
        x = room[..., :columns, :].copy_(x.reshape(*shape, *x.shape[-2:]))
    ranks = torch.zeros(0, dtype=torch.int64) if driver == "gels" else ranks.reshape(shape)
    return (x[..., 0] if vector else x), residuals, ranks, values


@override("linalg_pinv.atol_rtol_tensor", wide="compute", converts=False)
def linalg_pinv(self: torch.Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> torch.Tensor:
    """Values up to the larger of atol and rtol times the largest count as 0."""
    checked("pinv", self, square=hermitian)
    if self.numel() == 0:
        return self.new_empty(*self.shape[:-2], self.shape[-1], self.shape[-2])
    if hermitian:
        values, u = torch.linalg.eigh(self)
        size, vh = values.abs(), u.mH
    else:
        u, values, vh = torch.linalg.svd(self, full_matrices=False)
        size = values
    usual = max(self.shape[-2:]) * torch.finfo(self.dtype).eps
    if atol is None and rtol is None:
        least = core.ops["mul"](size.new_full((1,), usual), size.amax(-1, True))
    else:
        absolute = size.new_zeros(()) if atol is None else atol
        if rtol is None:
            rtol = torch.where(absolute > 0, 0.0, size.new_full((), usual))
        dtype = torch.promote_types(rtol.dtype, size.dtype)
        relative = core.ops["mul"](rtol[..., None].to(dtype), size.amax(-1, True).to(dtype))
        least = torch.maximum(absolute[..., None], relative)
    inverse = torch.where(size > least, core.ops["reciprocal"](values), 0.0)
    return torch.matmul(each_row("mul", vh, inverse).mH, u.mH)
