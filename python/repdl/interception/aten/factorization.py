# SPDX-License-Identifier: MIT
"""Matrices as products of simpler ones: QR by Householder's reflections, Cholesky's and LU, each column by column.

Signs and pivots are those of LAPACK. Inner products go by the product rule of float64; all else is rounded step by
step. What is float32 is computed in float64, and rounded once.
"""

from __future__ import annotations

import torch

from repdl.interception.aten.matmul import product
from repdl.interception.aten.reduction import sum_of
from repdl.interception.override import from_float64, ops_of, override


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


def unbatched(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return in_columns(x.reshape(*like.shape[:-2], *x.shape[-2:]))


def _reflector(tail: torch.Tensor) -> torch.Tensor:
    return torch.cat([tail.new_ones(tail.shape[0], 1), tail], 1)[:, :, None]


def _reflect(x: torch.Tensor, vector: torch.Tensor, tau: torch.Tensor) -> None:
    """x - (v tau) (v^T x), into x."""
    x.sub_((vector * tau[:, None, None]) * product(vector.mT, x, ops_of(x)))


def _eliminate(a: torch.Tensor, tau: torch.Tensor, j: int) -> None:
    """Below the diagonal of one column, into both."""
    head, tail = a[:, j, j].clone(), a[:, j + 1 :, j]
    below = sum_of(tail * tail, 1, ops=ops_of(a))
    size = ops_of(a)["sqrt"](head * head + below)
    done = below == 0
    first = torch.where(done, head, torch.where(head < 0, size, size.neg()))
    tau[:, j] = torch.where(done, torch.zeros_like(head), (first - head) / first)
    tail.div_(torch.where(done, torch.ones_like(head), head - first)[:, None])
    a[:, j, j] = first
    _reflect(a[:, j:, j + 1 :], _reflector(tail), tau[:, j])


def geqrf(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """R, below its diagonal the reflectors without their first 1; and their factors."""
    a = a.clone(memory_format=torch.contiguous_format)
    tau = a.new_zeros(a.shape[0], min(a.shape[1:]))
    for j in range(tau.shape[1]):
        _eliminate(a, tau, j)
    return a, tau


def pivoted(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """As `geqrf` of the matrix with its columns in another order, and that order: the longest that is left first."""
    a = a.clone(memory_format=torch.contiguous_format)
    tau = a.new_zeros(a.shape[0], min(a.shape[1:]))
    which = torch.arange(a.shape[0])
    order = torch.arange(a.shape[2]).repeat(a.shape[0], 1)
    for j in range(tau.shape[1]):
        chosen = sum_of(a[:, j:, j:] * a[:, j:, j:], 1, ops=ops_of(a)).argmax(1) + j
        for x in (a, order[:, None]):
            first, second = x[:, :, j].clone(), x[which, :, chosen]
            x[which, :, chosen], x[:, :, j] = first, second
        _eliminate(a, tau, j)
    return a, tau, order


def reflected(a: torch.Tensor, tau: torch.Tensor, x: torch.Tensor, adjoint: bool = False) -> torch.Tensor:
    """The product of the reflections, or its transpose, times x."""
    x = x.clone(memory_format=torch.contiguous_format)
    steps = range(tau.shape[1])
    for j in steps if adjoint else reversed(steps):
        _reflect(x[:, j:], _reflector(a[:, j + 1 :, j]), tau[:, j])
    return x


def _orthogonal(a: torch.Tensor, tau: torch.Tensor, columns: int) -> torch.Tensor:
    """The first columns of the product of the reflections."""
    q = torch.eye(a.shape[1], columns, dtype=a.dtype).repeat(a.shape[0], 1, 1)
    for j in reversed(range(tau.shape[1])):
        _reflect(q[:, j:, j:], _reflector(a[:, j + 1 :, j]), tau[:, j])
    return q


@override("geqrf", wide="float64", converts=False)
@from_float64
def _(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    checked("geqrf", self)
    a, tau = geqrf(batch(self))
    return unbatched(a, self), tau.reshape(*self.shape[:-2], tau.shape[1])


@override("linalg_householder_product", wide="float64", converts=False)
@from_float64
def _(input: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    checked("householder_product", input)
    rows, columns = input.shape[-2:]
    if not (rows >= columns >= tau.shape[-1] and tau.shape[:-1] == input.shape[:-2]):
        raise RuntimeError(
            "torch.linalg.householder_product: input must have no more columns than rows, and tau no more factors; "
            f"got {list(input.shape)} and {list(tau.shape)}"
        )
    a = batch(input)
    return unbatched(_orthogonal(a, tau.reshape(len(a), tau.shape[-1]), columns), input)


@override("ormqr", wide="float64", converts=False)
@from_float64
def _(
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
    a, x = batch(self), batch(input3)
    tau = input2.reshape(len(a), input2.shape[-1])
    if left:
        return unbatched(reflected(a, tau, x, transpose), input3)
    return unbatched(reflected(a, tau, x.mT, not transpose).mT, input3)


@override("linalg_qr", wide="float64", converts=False)
@from_float64
def _(A: torch.Tensor, mode: str = "reduced") -> tuple[torch.Tensor, torch.Tensor]:
    checked("qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or 'complete'")
    a, tau = geqrf(batch(A))
    columns = a.shape[1] if mode == "complete" else tau.shape[1]
    r = unbatched(a[:, :columns].triu(), A)
    return (A.new_empty(0) if mode == "r" else unbatched(_orthogonal(a, tau, columns), A)), r


def _failed_at(info: torch.Tensor, step: int, failed: torch.Tensor) -> None:
    """Notes the first step, from 1, that failed."""
    info.copy_(torch.where((info == 0) & failed, torch.full_like(info, step + 1), info))


def cholesky(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """L of symmetric matrices, from their lower triangles."""
    lower, info = torch.zeros_like(a), torch.zeros(a.shape[0], dtype=torch.int32)
    for j in range(a.shape[1]):
        column = a[:, j:, j] - product(lower[:, j:, :j], lower[:, j : j + 1, :j].mT, ops_of(a))[:, :, 0]
        root = ops_of(a)["sqrt"](column[:, 0].contiguous())
        _failed_at(info, j, ~(column[:, 0] > 0))
        lower[:, j:, j] = column / root[:, None]
        lower[:, j, j] = root
    return lower, info


@override("linalg_cholesky_ex", wide="float64", converts=False)
@from_float64
def _(self: torch.Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    checked("cholesky", self, square=True)
    lower, info = cholesky(batch(self.mT if upper else self))
    info = info.reshape(self.shape[:-2])
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "linalg.cholesky_ex", is_matrix=self.dim() == 2)
    return unbatched(lower.mT if upper else lower, self), info


@override("cholesky", wide="float64", converts=False)
def _(self: torch.Tensor, upper: bool = False) -> torch.Tensor:
    return torch.linalg.cholesky(self, upper=upper)


def lu(a: torch.Tensor, pivot: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """L below the diagonal and U; what row each row was exchanged with, from 1; where a pivot was 0."""
    a = a.clone(memory_format=torch.contiguous_format)
    count, steps = a.shape[0], min(a.shape[1:])
    which = torch.arange(count)
    pivots, info = torch.empty(count, steps, dtype=torch.int32), torch.zeros(count, dtype=torch.int32)
    for j in range(steps):
        chosen = a[:, j:, j].abs().argmax(1) + j if pivot else torch.full((count,), j)
        upper, lower = a[which, chosen], a[:, j].clone()
        a[which, chosen], a[:, j] = lower, upper
        pivots[:, j] = chosen + 1
        head = a[:, j, j].clone()
        _failed_at(info, j, head == 0)
        a[:, j + 1 :, j].div_(torch.where(head == 0, torch.ones_like(head), head)[:, None])
        a[:, j + 1 :, j + 1 :].sub_(a[:, j + 1 :, j : j + 1] * a[:, j : j + 1, j + 1 :])
    return a, pivots, info


@override("linalg_lu_factor_ex", wide="float64", converts=False)
@from_float64
def _(
    A: torch.Tensor, *, pivot: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    checked("lu_factor", A)
    factors, pivots, info = lu(batch(A), pivot)
    info = info.reshape(A.shape[:-2])
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, "torch.linalg.lu_factor_ex", is_matrix=A.dim() == 2)
    return unbatched(factors, A), pivots.reshape(*A.shape[:-2], pivots.shape[1]), info


@override("linalg_lu", wide="float64", converts=False)
def _(A: torch.Tensor, *, pivot: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    factors, pivots, _ = torch.linalg.lu_factor_ex(A, pivot=pivot)
    return torch.lu_unpack(factors, pivots)
