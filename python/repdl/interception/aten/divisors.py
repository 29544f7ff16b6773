# SPDX-License-Identifier: MIT
"""Common divisors and multiples. torch's kernels divide the least integer by -1, which ends the process."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, override


def _without_minus_one(value: Any) -> Any:
    """Of -1, 1, which has the same divisors and multiples."""
    if isinstance(value, torch.Tensor) and value.dtype.is_signed and not value.is_floating_point():
        return value.masked_fill(value == -1, 1) if not value.is_complex() else value
    return value


def _declare(name: str) -> None:
    native = native_of(name)

    @override(name, elementwise=True, **ANY_DTYPE)
    def of_two(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return native(_without_minus_one(self), _without_minus_one(other))


for _name in ("gcd", "lcm"):
    _declare(_name)
