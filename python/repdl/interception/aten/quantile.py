# SPDX-License-Identifier: MIT
"""Quantiles, above autograd. torch's own composite takes ranks in float32 until 2.13, and in float64 since: as here."""

from __future__ import annotations

from typing import Any

import torch

from repdl import ops
from repdl._torch import may_have_tangents
from repdl.interception.native import native_of
from repdl.interception.override import composite
from repdl.interception.unwatched import has_numbers
from repdl.interception.variants import fill

_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    x: torch.Tensor,
    q: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    ignore_nan: bool = False,
) -> torch.Tensor:
    """As torch.quantile and torch.nanquantile. The rank is `q * (n - 1)`, the result a lerp between its neighbours."""
    dim = None if dim is None or not x.dim() else dim % x.dim()
    rows = x.flatten() if dim is None else x.unsqueeze(-1).transpose(dim, -1)
    rows = rows.sort().values
    before, rows = rows.shape[:-1], rows.reshape(-1, rows.shape[-1])
    ranks = _ranks(rows, q.reshape(-1).to(torch.float64), ignore_nan)
    if interpolation in _ROUNDED:
        chosen = rows.gather(-1, _ROUNDED[interpolation](ranks).to(torch.int64))
    else:
        below = ranks.to(torch.int64)
        sub = torch.sub if may_have_tangents(q) else ops.sub
        weights = torch.full_like(ranks, 0.5) if interpolation == "midpoint" else sub(ranks, below.to(ranks.dtype))
        lower, upper = (rows.gather(-1, at) for at in (below, ranks.detach().ceil().to(torch.int64)))
        lerp = torch.lerp if may_have_tangents(lower, upper, q) else ops.lerp_tensor
        chosen = lerp(lower, upper, weights.to(x.dtype))
    chosen = chosen.reshape(*before, -1)
    if dim is None and keepdim:
        chosen = chosen.reshape((1,) * x.dim() + (-1,))
    elif dim is not None and not keepdim:
        chosen = chosen.squeeze(dim)
    return chosen.movedim(-1, 0) if q.dim() else chosen.squeeze(-1)


_ROUNDED = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}


def _ranks(rows: torch.Tensor, q: torch.Tensor, ignore_nan: bool) -> torch.Tensor:
    """By what is in a sorted row: NaN comes last, and is left out, or is the result."""
    nan = rows.isnan()
    mul = torch.mul if may_have_tangents(q) else ops.mul
    if ignore_nan:
        ranks = mul(q, (nan.logical_not().sum(-1, keepdim=True) - 1).to(q.dtype))  # integers
        return ranks.masked_fill(ranks < 0, 0)
    last = rows.shape[-1] - 1
    ranks = mul(q, torch.full((), last, dtype=q.dtype, device=q.device)).expand(*rows.shape[:-1], -1)
    return ranks.masked_fill(nan.any(-1, keepdim=True).expand_as(ranks), last)


def _is_allowed(x: torch.Tensor, q: Any, dim: int | None, interpolation: str) -> bool:
    """Whether torch takes the call; it says itself what is wrong with another."""
    if x.dtype not in (torch.float32, torch.float64) or not x.numel() or interpolation not in _WAYS:
        return False
    if dim is not None and not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        return False
    if not isinstance(q, torch.Tensor):
        return bool(0 <= q <= 1)
    if q.dim() > 1 or q.dtype != x.dtype:
        return False
    return not has_numbers(q) or bool(((q >= 0) & (q <= 1)).all())


def _declare(name: str, ignore_nan: bool) -> None:
    def forms(overload: str, overload_out: str) -> None:
        native, native_out = native_of(overload), native_of(overload_out)

        def quantile_of(
            self: torch.Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
        ) -> torch.Tensor:
            if not _is_allowed(self, q, dim, interpolation):
                return native(self, q, dim, keepdim, interpolation=interpolation)
            places = q if isinstance(q, torch.Tensor) else torch.full((), q, dtype=self.dtype, device=self.device)
            return quantile(self, places, dim, keepdim, interpolation, ignore_nan)

        def quantile_into(
            self: torch.Tensor,
            q: Any,
            dim: int | None = None,
            keepdim: bool = False,
            *,
            interpolation: str = "linear",
            out: torch.Tensor,
        ) -> torch.Tensor:
            if out.dtype != self.dtype or not _is_allowed(self, q, dim, interpolation):
                return native_out(self, q, dim, keepdim, interpolation=interpolation, out=out)
            return fill(out, quantile_of(self, q, dim, keepdim, interpolation=interpolation))

        composite(overload)(quantile_of)
        composite(overload_out)(quantile_into)

    forms(name, f"{name}.out")
    forms(f"{name}.scalar", f"{name}.scalar_out")


_declare("quantile", ignore_nan=False)
_declare("nanquantile", ignore_nan=True)
