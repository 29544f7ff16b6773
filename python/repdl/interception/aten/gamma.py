# SPDX-License-Identifier: MIT
"""Derivatives of the gamma function's logarithm of any order, and the gamma function of several dimensions."""

from __future__ import annotations

import torch

from repdl.interception.aten.special import in_float64, widening
from repdl.interception.ops_by_dtype import float64_ops, ops_of
from repdl.interception.override import ANY_DTYPE, override

_OF_ORDER = {0: "digamma", 1: "trigamma"}
_of_higher_order = widening("polygamma", float64_ops["polygamma"])


@override("polygamma", elementwise=True, **ANY_DTYPE)
def polygamma(n: int, self: torch.Tensor) -> torch.Tensor:
    if n not in _OF_ORDER or self.is_complex():
        return _of_higher_order(n, self)
    x = self if self.is_floating_point() else self.to(torch.get_default_dtype())
    return ops_of(x)[_OF_ORDER[n]](x)


def _of_several(x: torch.Tensor, p: int) -> torch.Tensor:
    """log(pi) p (p - 1) / 4 + the sum of lgamma(x - j / 2) for j = 0 … p - 1."""
    places = torch.arange(p, dtype=torch.float64) * 0.5
    logs = float64_ops["lgamma"](x[..., None] - places)
    return float64_ops["sum"](logs, (-1,), False) + p * (p - 1) / 4 * 1.1447298858494002


in_float64("mvlgamma", _of_several, elementwise=False)
