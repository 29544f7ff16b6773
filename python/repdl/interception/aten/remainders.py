# SPDX-License-Identifier: MIT
"""Remainders, exact whatever the quotient. Those of torch's vectors are NaN or inexact where it is huge."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.native import Kernel, native_of
from repdl.interception.override import ANY_DTYPE, override


def _typed(value: Any, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=dtype)


def _exactly(name: str) -> Kernel:
    native = native_of(f"{name}.Tensor")

    def kernel(self: Any, other: Any) -> torch.Tensor:
        dtype = torch.result_type(self, other)
        if not dtype.is_floating_point:
            return native(self, other)
        return ops[name](_typed(self, dtype), _typed(other, dtype))

    return kernel


for _name in ("fmod", "remainder"):
    override(f"{_name}.Tensor", op=_name, elementwise=True, **ANY_DTYPE)(_exactly(_name))
