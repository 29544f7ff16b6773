# SPDX-License-Identifier: MIT
"""The gamma function and its kin: in steps of float64, and rounded once."""

from __future__ import annotations

import torch

from repdl.interception.aten.special import in_float64
from repdl.interception.override import float64_ops

in_float64("lgamma", float64_ops["lgamma"])
in_float64("digamma", float64_ops["digamma"])
in_float64("polygamma", float64_ops["polygamma"])


def _of_several(x: torch.Tensor, p: int) -> torch.Tensor:
    """log(pi) p (p - 1) / 4 + the sum of lgamma(x - j / 2) for j = 0 … p - 1."""
    places = torch.arange(p, dtype=torch.float64) * 0.5
    logs = float64_ops["lgamma"](x[..., None] - places)
    return float64_ops["sum"](logs, (-1,), False) + p * (p - 1) / 4 * 1.1447298858494002


in_float64("mvlgamma", _of_several, elementwise=False)
