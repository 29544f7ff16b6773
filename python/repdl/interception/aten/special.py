# SPDX-License-Identifier: MIT
"""Special functions that are computed in float64, in ops of the core, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.dtypes import COMPLEX, kinds_of
from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.strict import not_reproducible


def in_float64(name: str, compute: Callable[..., torch.Tensor], elementwise: bool = True) -> None:
    """Declares a function of tensors of float64, and of numbers beside them, for tensors of all real types."""
    override(name, elementwise=elementwise, **ANY_DTYPE)(widening(name, compute))


def widening(name: str, compute: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The kernel for tensors of all real types, given a function of float64.

    Beside tensors that are not of float64, numbers are rounded to float32 first.
    """
    native = native_of(name)

    def kernel(*args: Any) -> torch.Tensor:
        if kinds_of(args) & COMPLEX:
            return not_reproducible(name, args, {}, native, "dtype")
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        dtype = tensors[0].dtype if len(tensors) == 1 else torch.result_type(*args)
        if not dtype.is_floating_point:
            dtype = torch.float32
        return compute(*(_widened(a, dtype) for a in args)).to(dtype)

    return kernel


def _widened(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64)
    is_narrow = isinstance(value, float) and dtype != torch.float64
    return torch.full((), value, dtype=torch.float32).item() if is_narrow else value


@override("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta", **ANY_DTYPE)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: torch.dtype | None = None, **_kwargs: Any
) -> torch.Tensor:
    """I_0(beta sqrt(1 - x^2)) / I_0(beta), x from -1 to 1."""
    dtype = dtype or torch.get_default_dtype()
    if window_length < 0 or not dtype.is_floating_point:
        raise RuntimeError(
            f"kaiser_window requires a length of 0 or more and a real type, got {window_length}, {dtype}"
        )
    if window_length < 2:
        return torch.ones(window_length, dtype=dtype)
    steps = window_length - 1 + periodic
    one, height = (torch.full((), value, dtype=torch.float64) for value in (1.0, beta))
    x = ops["spaced"](torch.arange(window_length, dtype=torch.float64), -1.0, 1.0, steps + 1)
    window = ops["i0"](ops["mul"](ops["sqrt"](ops["sub"](one, ops["square"](x))), height))
    return ops["div"](window, ops["i0"](height)).to(dtype)
