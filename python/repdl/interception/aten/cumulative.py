# SPDX-License-Identifier: MIT
"""Cumulative sums and products, by the core. In low precision the results are rounded once."""

from __future__ import annotations

import torch

from repdl.interception.aten.reduction import checked_dim
from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.variants import fill

_PAIRED = (torch.complex64, torch.complex128)


def _cumulative(name: str) -> None:
    native = native_of(name)

    def cumulative(self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
        into = dtype or self.dtype
        if not (into.is_floating_point or into in _PAIRED):
            return native(self, dim, dtype=dtype)
        checked_dim(self, dim)
        x = self.to(into)
        return ops_of(x)[name](x.to(torch.float32) if into in LOW_DTYPES else x, dim).to(into)

    def cumulative_into(
        self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None, out: torch.Tensor
    ) -> torch.Tensor:
        """As torch, in the type of the given tensor."""
        return fill(out, cumulative(self, dim, dtype=dtype or out.dtype), converts=False)

    override(name, op=name, pairs=f"complex_{name}", whole=True, **ANY_DTYPE)(cumulative)
    override(f"{name}.out", **ANY_DTYPE)(cumulative_into)


_cumulative("cumsum")
_cumulative("cumprod")
