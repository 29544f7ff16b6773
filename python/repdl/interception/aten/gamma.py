# SPDX-License-Identifier: MIT
"""Derivatives of the gamma function's logarithm of any order, and the gamma function of several dimensions."""

from __future__ import annotations

import torch

from repdl.interception import core
from repdl.interception.aten.special import in_float64
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.variants import fill

_OF_ORDER = {0: "digamma", 1: "trigamma"}
_LARGEST_ORDER = 170
"""Its factorial is the last one of float64."""


@override("polygamma", low="compute", wide="float64", integers="float32", elementwise=True)
def polygamma(n: int, self: torch.Tensor) -> torch.Tensor:
    if n in _OF_ORDER:
        return core.ops[_OF_ORDER[n]](self)
    if not 0 <= n <= _LARGEST_ORDER:
        raise RuntimeError(f"polygamma: n must be from 0 to {_LARGEST_ORDER}, got {n}")
    dtype = torch.float64 if self.dtype == torch.float64 else torch.float32
    return core.ops["polygamma"](torch.full((), n, dtype=dtype), self)


@override("polygamma_", **ANY_DTYPE)
def polygamma_(self: torch.Tensor, n: int) -> torch.Tensor:
    """By name, as its arguments change places with those of polygamma."""
    return fill(self, torch.polygamma(n, self))


def _of_several(x: torch.Tensor, p: int) -> torch.Tensor:
    """log(pi) p (p - 1) / 4 + the sum of lgamma(x - j / 2) for j = 0 … p - 1, which stand side by side for all x."""
    if p < 1:
        raise RuntimeError(f"mvlgamma: p must be at least 1, got {p}")
    places = torch.arange(p, dtype=torch.float64).reshape(p, *[1] * x.dim()) * 0.5
    logs = core.ops["lgamma"](core.ops["sub"](x, places))
    constant = torch.full((), p * (p - 1) / 4 * 1.1447298858494002, dtype=torch.float64)
    return core.ops["add"](core.ops["sum"](logs, (0,), False), constant)


in_float64("mvlgamma", _of_several, elementwise=False)
