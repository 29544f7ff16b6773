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
from repdl.interception.aten.factorization import batch, checked, factored, in_columns, pivoted, reflected, triangle
from repdl.interception.aten.matmul import product
from repdl.interception.aten.reduction import sum_of
from repdl.interception.aten.solving import substituted
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


def _shortest(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The shortest X of A X = B, of matrices of full rank with fewer rows than columns."""
    rows, columns = a.shape[1:]
    factors, tau = factored(a.mH)
    x = b.new_zeros(b.shape[0], columns, b.shape[2])
    x[:, :rows] = substituted(factors[:, :, :rows].conj(), b, upper=False)
    return reflected(factors, tau, x)


def _by_qr(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Of full rank."""
    rows, columns = a.shape[1:]
    if rows < columns:
        return _shortest(a, b)
    factors, tau = factored(a)
    return substituted(factors[..., :columns].mT, reflected(factors, tau, b, adjoint=True)[:, :columns], upper=True)


def _by_pivots(a: torch.Tensor, b: torch.Tensor, rcond: float) -> tuple[torch.Tensor, torch.Tensor]:
    """X and the ranks."""
    factors, tau, places = pivoted(a)
    size = factors.diagonal(dim1=1, dim2=2).real.abs()
    kept = size > core.ops["mul"](size[:, :1], size.new_full((1, 1), rcond))
    turned = reflected(factors, tau, b, adjoint=True)
    if kept.shape[1] == a.shape[2] and bool(kept.all()):
        ranks = torch.full((len(a),), a.shape[2])
        x = substituted(factors[:, :, : a.shape[2]].mT, turned[:, : a.shape[2]], upper=True)
    else:
        ranks = kept.to(torch.int64).cumprod(1).sum(1)
        found = set(ranks.tolist())
        x = b.new_zeros(b.shape[0], a.shape[2], b.shape[2])
        for rank in found - {0}:
            some = (ranks == rank).nonzero()[:, 0]
            r, y = triangle(factors[some], rank), turned[some, :rank]
            x[some] = _shortest(r, y) if rank < a.shape[2] else substituted(r, y, upper=True)
    return torch.empty_like(x).scatter_(1, places[:, :, None].expand_as(x), x), ranks


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


@override("linalg_lstsq", wide="float64", low="alike", complex=True, converts=False)
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
    wide = torch.complex128 if self.is_complex() else torch.float64
    shape, operands = self.shape[:-2], (self, right)
    if right.shape[:-2] != shape:
        shape = torch.broadcast_shapes(shape, right.shape[:-2])
        operands = tuple(x.expand(*shape, *x.shape[-2:]) for x in operands)  # type: ignore[assignment]
    a, y = (batch(x).to(wide) for x in operands)
    cut = max(rows, columns) * torch.finfo(self.dtype).eps if rcond is None else rcond
    dtype = self.dtype.to_real()
    # Of zeros, as what is empty for certain takes less time than what might have to be filled.
    ranks, values = torch.zeros(0, dtype=torch.int64), self.new_zeros(0, dtype=dtype)
    if min(rows, columns) == 0:
        x = y.new_zeros(len(a), columns, y.shape[2])
        ranks = torch.zeros(len(a), dtype=torch.int64) if driver != "gels" else ranks
    elif driver == "gels":
        x = _by_qr(a, y)
    elif driver == "gelsy":
        x, ranks = _by_pivots(a, y, cut)
    else:
        x, ranks, values = _by_values(a, y, cut)
        values = values.reshape(*shape, values.shape[1])
    residuals = self.new_zeros(0, dtype=dtype)
    if rows > columns and driver != "gelsy" and bool((ranks == columns).all()):
        residuals = _squares(ops_of(a)["sub"](product(a, x, ops_of(a)), y)).reshape(*shape, y.shape[2])
    ranks = ranks.reshape(shape) if driver != "gels" else ranks
    # Columns are as far apart as those of the right side, into which LAPACK writes.
    room = in_columns(self.new_empty(*shape, max(rows, columns), x.shape[2]))
    solution = room[..., :columns, :].copy_(x.reshape(*shape, *x.shape[1:]))
    return (solution[..., 0] if vector else solution), residuals.to(dtype), ranks, values.to(dtype)


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
    absolute = size.new_zeros(()) if atol is None else atol
    if rtol is None:
        usual = size.new_full((), max(self.shape[-2:]) * torch.finfo(self.dtype).eps)
        rtol = torch.where(absolute > 0, torch.zeros_like(usual), usual)
    dtype = torch.promote_types(rtol.dtype, size.dtype)
    relative = core.ops["mul"](rtol[..., None].to(dtype), size.amax(-1, True).to(dtype))
    kept = size > torch.maximum(absolute[..., None], relative)
    inverse = torch.where(kept, core.ops["reciprocal"](values), torch.zeros_like(values))
    return torch.matmul(each_row("mul", vh, inverse).mH, u.mH)
