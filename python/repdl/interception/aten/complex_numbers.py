# SPDX-License-Identifier: MIT
"""Arithmetic of complex numbers, in ops of the core: steps of real ones that round once each.

torch's own kernels fuse some of these steps, or scale them in other ways, as the instruction set has it; even the sign
of a negative zero depends on it. For real numbers the same ops round once: most calls go to an op of the core, sooner
than through Python, and the others keep torch's kernel, which gives the same bits.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch

from repdl.interception.aten import complex_functions  # noqa: F401 (its ops)
from repdl.interception.native import native_of
from repdl.interception.ops_by_dtype import complex_ops, ops_of
from repdl.interception.override import for_complex


def _of_dtype(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor or a number as complex numbers of a type; those of complex32 as complex64, in which it is computed."""
    wide = torch.complex64 if dtype == torch.complex32 else dtype
    if not isinstance(value, torch.Tensor):
        return torch.full((), value, dtype=wide)
    return value if value.dtype == wide else value.to(wide)  # which takes longer than a small product


def _step(name: str, op: str, of_reals: str = "") -> None:
    """Declares an op of the core as an overload's kernel for complex numbers; `of_reals` names that of real ones."""
    kernel = complex_ops[op]

    def compute(*operands: Any) -> torch.Tensor:
        dtype = torch.result_type(*operands) if len(operands) == 2 else operands[0].dtype
        result = kernel(*[_of_dtype(x, dtype) for x in operands])
        return result.to(dtype) if dtype == torch.complex32 else result

    for_complex(name, elementwise=True, op=of_reals)(compute)


_step("mul.Tensor", "mul", of_reals="mul")
_step("div.Tensor", "div", of_reals="div")
_step("reciprocal", "reciprocal", of_reals="reciprocal")
_step("sgn", "sgn")


@for_complex("neg", elementwise=True)
def neg(self: torch.Tensor) -> torch.Tensor:
    parts = torch.view_as_real(_of_dtype(self, self.dtype)).contiguous().neg()
    return torch.view_as_complex(parts).to(self.dtype)


def _of_parts(name: str, self: torch.Tensor, *places: int) -> torch.Tensor:
    """A function of the two parts, by an op of the core."""
    parts = torch.view_as_real(_of_dtype(self, self.dtype))
    return ops_of(parts)[name](*(parts.select(-1, i) for i in places)).to(self.dtype.to_real())


def running_product(x: torch.Tensor, dim: int) -> torch.Tensor:
    """In the order of the index."""
    if x.dim() == 0 or x.numel() == 0:
        return x.clone()
    return torch.stack(list(accumulate(x.unbind(dim), torch.mul)), dim)


for_complex("abs", elementwise=True)(lambda self: _of_parts("hypot", self, 0, 1))
for_complex("angle", elementwise=True)(lambda self: _of_parts("atan2", self, 1, 0))
for_complex("abs_")(native_of("abs_"))  # torch refuses it
