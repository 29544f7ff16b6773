# SPDX-License-Identifier: MIT
"""Kernels of one dtype made to serve others: widened exactly, computed, and rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from repdl.interception.dtypes import FLOAT32, floating_type, kinds_of, map_tensors, widen
from repdl.interception.native import LOW_DTYPES, Kernel


def rounded_once(compute: Kernel) -> Kernel:
    """From a kernel of float32 to one of bfloat16 and float16: widened, computed, and each result rounded once."""

    def low(*args: Any, **kwargs: Any) -> Any:
        dtype = floating_type([*args, *kwargs.values()])

        result = compute(*map(widen, args), **{name: widen(value) for name, value in kwargs.items()})
        return map_tensors(lambda t: t.to(dtype) if t.is_floating_point() else t, result)

    return low


def as_operands(compute: Kernel) -> Kernel:
    """Rounds the result to the type of the tensors, where a number beside single ones has made it float32."""

    def low(*args: Any, **kwargs: Any) -> Any:
        result = compute(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.dtype == torch.float32 and not kinds_of(args) & FLOAT32:
            return result.to(floating_type(args))
        return result

    return low


def first_rounded(compute: Kernel) -> Kernel:
    """As `rounded_once`, where the first result gets the type of the first operand, others that of the parameters."""

    def low(input: torch.Tensor, *args: Any) -> Any:
        given = next((a.dtype for a in args if isinstance(a, torch.Tensor)), input.dtype)
        result = compute(widen(input), *map(widen, args))
        if isinstance(result, torch.Tensor):
            return result.to(input.dtype)
        first, *others = result
        return first.to(input.dtype), *(t.to(given) for t in others)

    return low


def of_one_type(kernel: Kernel, places: tuple[int, ...] | None = None, beside_float32: bool = False) -> Kernel:
    """Checks all operands, or those at these places."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        check_one_type(args if places is None else [args[i] for i in places if i < len(args)], beside_float32)
        return kernel(*args, **kwargs)

    return checked


def check_one_type(operands: Sequence[Any], beside_float32: bool = False) -> None:
    """Refuses operands of several types; `beside_float32` lets others of float32 follow one of bfloat16 or float16."""
    dtypes, others = ({a.dtype for a in some if isinstance(a, torch.Tensor)} for some in (operands, operands[1:]))
    is_wide = beside_float32 and operands[0].dtype in LOW_DTYPES and others == {torch.float32}
    if len(dtypes) > 1 and not is_wide:
        raise RuntimeError(f"expected operands of the same dtype, but got {' and '.join(sorted(map(str, dtypes)))}")
