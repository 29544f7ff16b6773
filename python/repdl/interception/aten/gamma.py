# SPDX-License-Identifier: MIT
"""The gamma function and its kin: in steps of float64, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, float64_ops, override
from repdl.interception.strict import not_reproducible


def _in_float64(name: str, compute: Callable[..., torch.Tensor], elementwise: bool = True) -> None:
    """Of one tensor and a number beside it, wherever that stands."""
    native = native_of(name)

    @override(name, elementwise=elementwise, **ANY_DTYPE)
    def _(*args: Any) -> torch.Tensor:
        (x,) = (a for a in args if isinstance(a, torch.Tensor))
        if x.is_complex():
            return not_reproducible(name, args, {}, native, "dtype")
        dtype = x.dtype if x.is_floating_point() else torch.float32
        return compute(x.to(torch.float64), *(a for a in args if a is not x)).to(dtype)


_in_float64("lgamma", float64_ops["lgamma"])
_in_float64("digamma", float64_ops["digamma"])
_in_float64("polygamma", lambda x, n: float64_ops["polygamma"](n, x))


def _of_several(x: torch.Tensor, p: int) -> torch.Tensor:
    """log(pi) p (p - 1) / 4 + the sum of lgamma(x - j / 2) for j = 0 … p - 1."""
    places = torch.arange(p, dtype=torch.float64) * 0.5
    logs = float64_ops["lgamma"](x[..., None] - places)
    return float64_ops["sum"](logs, (-1,), False) + p * (p - 1) / 4 * 1.1447298858494002


_in_float64("mvlgamma", _of_several, elementwise=False)
