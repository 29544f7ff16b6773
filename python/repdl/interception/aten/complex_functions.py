# SPDX-License-Identifier: MIT
"""Ops of complex numbers, by the names and with the arguments of those of real ones: the core's, which take pairs."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.ops_by_dtype import complex_ops

PREFIX = "complex_"
"""Of the names of the core's."""

TO_REAL = {f"{PREFIX}{name}" for name in ("abs", "angle", "norm", "std", "var")}
"""Those whose results are real."""


def _of_pairs(name: str) -> None:
    """Makes an op of the core an op by the name that it has for real numbers."""
    kernel = core.ops[name]
    gives_pairs = name not in TO_REAL

    def op(*args: Any) -> torch.Tensor:
        result = kernel(*(torch.view_as_real(a.resolve_conj()) if isinstance(a, torch.Tensor) else a for a in args))
        return torch.view_as_complex(result) if gives_pairs else result

    complex_ops[name.removeprefix(PREFIX)] = op


for _name in core.ops:
    if _name.startswith(PREFIX):
        _of_pairs(_name)


def _mm(a: torch.Tensor, b: torch.Tensor, _trans_a: bool, _trans_b: bool, order: str) -> torch.Tensor:
    operands = (torch.view_as_real(x.conj() if x.is_conj() else x) for x in (a, b))
    return torch.view_as_complex(core.ops["complex_mm"](*operands, a.is_conj(), b.is_conj(), order))


def _addmm(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, order: str) -> torch.Tensor:
    return _mm(a, b, False, False, order) + bias


def _mv(a: torch.Tensor, b: torch.Tensor, order: str) -> torch.Tensor:
    return _mm(a, b.unsqueeze(1), False, False, order).squeeze(1)


def _dot(a: torch.Tensor, b: torch.Tensor, order: str) -> torch.Tensor:
    return _mv(a.unsqueeze(0), b, order).squeeze(0)


complex_ops.update(mm=_mm, addmm=_addmm, mv=_mv, dot=_dot)
