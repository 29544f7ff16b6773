# SPDX-License-Identifier: MIT
"""Arithmetic of complex numbers, in ops of the core: steps of real ones that round once each.

torch's own kernels fuse some of these steps, or scale them in other ways, as the instruction set has it; even the sign
of a negative zero depends on it. For real numbers the same ops round once: most calls go to an op of the core, sooner
than through Python, and the others keep torch's kernel, which gives the same bits.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten import complex_functions
from repdl.interception.dtypes import to_floating
from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.operands import alike
from repdl.interception.ops_by_dtype import complex_ops
from repdl.interception.override import for_complex


def _of_dtype(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor or a number as complex numbers of a type; those of complex32 as complex64, in which it is computed."""
    wide = torch.complex64 if dtype == torch.complex32 else dtype
    if not isinstance(value, torch.Tensor):
        return torch.full((), value, dtype=wide)
    return value if value.dtype == wide else value.to(wide)  # which takes longer than a small product


def _of_reals(x: Any, *others: Any) -> tuple[torch.Tensor, ...]:
    """Real operands as torch takes them on the CPU: a single number behind low ones is not rounded to their type."""
    if not others:
        return (x if x.is_floating_point() else to_floating(x),)
    first, second = alike(x, *others)
    if isinstance(other := others[0], torch.Tensor) and other.dim() == 0 and second.dtype in LOW_DTYPES:
        second = other if other.dtype == second.dtype else other.to(torch.float32)
    return first, second


def _step(name: str, op: str, of_reals: str = "", elementwise: bool = True) -> None:
    """Declares an op of the core as an overload's kernel for complex numbers; `of_reals` names that of real ones."""
    kernel, pairs = complex_ops[op], f"{complex_functions.PREFIX}{op}"
    to_real = pairs in complex_functions.TO_REAL

    def compute(*operands: Any) -> torch.Tensor:
        dtype = torch.result_type(*operands) if len(operands) == 2 else operands[0].dtype
        if not dtype.is_complex:  # on a device
            return core.ops[of_reals](*_of_reals(*operands))
        result = kernel(*[_of_dtype(x, dtype) for x in operands])
        if dtype != torch.complex32:
            return result
        return result.to(dtype.to_real() if to_real else dtype)

    for_complex(name, elementwise=elementwise, op=of_reals, pairs=pairs, to_real=to_real)(compute)


_step("mul.Tensor", "mul", of_reals="mul")
_step("div.Tensor", "div", of_reals="div")
_step("reciprocal", "reciprocal", of_reals="reciprocal")
_step("sgn", "sgn")
_step("neg", "neg")
_step("abs", "abs")
_step("angle", "angle", elementwise=False)  # torch's result is row-major

for_complex("abs_")(native_of("abs_"))  # torch refuses it
