# SPDX-License-Identifier: MIT
"""Softmax and log-softmax along a dimension."""

from __future__ import annotations

import torch

from repdl import _core
from repdl._order import get_order
from repdl.interception.aten.reduction import checked_dim
from repdl.interception.override import override


def _forward(name: str, op: str) -> None:
    @override(name, op=op, constants={2: False}, low="compute", converts=False)
    def _(self: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
        result = _core.ops[op](self.to(torch.float32), checked_dim(self, dim), get_order())
        return result if half_to_float else result.to(self.dtype)


def _backward(name: str, op: str) -> None:
    @override(name, op=op, constants={3: torch.float32}, low="compute", converts=False)
    def _(grad_output: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype) -> torch.Tensor:
        result = _core.ops[op](grad_output.to(torch.float32), output.to(torch.float32), dim, get_order())
        return result.to(input_dtype)


_forward("_softmax", "softmax")
_forward("_log_softmax", "log_softmax")
_backward("_softmax_backward_data", "softmax_grad")
_backward("_log_softmax_backward_data", "log_softmax_grad")
