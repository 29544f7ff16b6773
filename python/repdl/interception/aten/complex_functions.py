# SPDX-License-Identifier: MIT
"""Ops of complex numbers, by the names and with the arguments of those of real ones.

Functions and products of matrices are ops of the core; sums, means and variances are those of the parts.
"""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.ops_by_dtype import complex_ops, ops_of

Parts = tuple[torch.Tensor, torch.Tensor]


def _parts(z: torch.Tensor) -> Parts:
    real, imaginary = torch.view_as_real(z.resolve_conj()).movedim(-1, 0).contiguous().unbind(0)
    return real, imaginary


# Sums and products.


def _of_each(name: str) -> None:
    def op(x: torch.Tensor, *arguments: Any) -> torch.Tensor:
        return torch.complex(*(ops_of(part)[name](part, *arguments) for part in _parts(x)))

    complex_ops[name] = op


_of_each("sum")
_of_each("mean")


def _norm(x: torch.Tensor, dims: Any, keepdim: bool, order: str) -> torch.Tensor:
    """Of real and imaginary parts by turns."""
    parts = torch.view_as_real(x.resolve_conj())
    reduced = {d % x.dim() for d in dims} if x.dim() else set()
    result = ops_of(parts)["norm"](parts, (*sorted(reduced), x.dim()), keepdim, order)
    return result[..., 0] if keepdim else result


def _var(x: torch.Tensor, *arguments: Any) -> torch.Tensor:
    real, imaginary = (ops_of(part)["var"](part, *arguments) for part in _parts(x))
    return real + imaginary


def _std(x: torch.Tensor, *arguments: Any) -> torch.Tensor:
    variance = _var(x, *arguments)
    return ops_of(variance)["sqrt"](variance)


def _mm(a: torch.Tensor, b: torch.Tensor, _trans_a: bool, _trans_b: bool, order: str) -> torch.Tensor:
    operands = (torch.view_as_real(x.conj() if x.is_conj() else x) for x in (a, b))
    return torch.view_as_complex(core.ops["complex_mm"](*operands, a.is_conj(), b.is_conj(), order))


def _addmm(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, order: str) -> torch.Tensor:
    return _mm(a, b, False, False, order) + bias


complex_ops.update(norm=_norm, var=_var, std=_std, mm=_mm, addmm=_addmm)


# Functions.


def _of_pairs(name: str) -> None:
    """Makes an op of the core, which takes complex numbers as pairs, an op by the name that it has for real ones."""
    kernel = core.ops[f"complex_{name}"]

    def op(*operands: torch.Tensor) -> torch.Tensor:
        return torch.view_as_complex(kernel(*[torch.view_as_real(z.resolve_conj()) for z in operands]))

    complex_ops[name] = op


for _name in (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "div",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "mul",
    "pow",
    "reciprocal",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
):
    _of_pairs(_name)


complex_ops["silu"] = lambda z: z * complex_ops["sigmoid"](z)
complex_ops["tanh_grad"] = lambda grad, y: grad * (1 - y * y).conj()
complex_ops["sigmoid_grad"] = lambda grad, y: grad * ((1 - y) * y).conj()
