# SPDX-License-Identifier: MIT
"""Remainders, exact whatever the quotient. Those of torch's vectors are NaN or inexact where it is huge."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.native import Kernel, native_of
from repdl.interception.operands import in_type
from repdl.interception.override import ANY_DTYPE, override


def _exactly(name: str) -> Kernel:
    native = native_of(f"{name}.Tensor")

    def kernel(self: Any, other: Any) -> torch.Tensor:
        dtype = torch.result_type(self, other)
        if not dtype.is_floating_point:
            return native(self, other)
        return ops[name](*in_type(dtype, self, other))

    return kernel


for _name in ("fmod", "remainder"):
    # A number is rounded to the low type of a tensor first, which is not what the op does.
    override(f"{_name}.Tensor", op=_name, whole=True, elementwise=True, **(ANY_DTYPE | {"low": "steps"}))(
        _exactly(_name)
    )
