# SPDX-License-Identifier: MIT
"""Softmax and log-softmax along a dimension."""

from __future__ import annotations

import torch

from repdl._order import get_order
from repdl.interception import core as _core
from repdl.interception.aten.reduction import checked_dim
from repdl.interception.override import override


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.to(torch.float32)


def _forward(name: str, op: str) -> None:
    @override(name, op=op, constants={2: False}, low="compute", wide="float64", converts=False)
    def forward(self: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
        result = _core.ops[op](_wide(self), checked_dim(self, dim), get_order())
        return result if half_to_float else result.to(self.dtype)


def _backward(name: str, op: str) -> None:
    @override(name, op=op, constants={3: torch.dtype}, low="compute", wide="float64", converts=False)
    def backward(grad_output: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype) -> torch.Tensor:
        result = _core.ops[op](_wide(grad_output), _wide(output), dim, get_order())
        return result.to(input_dtype)


_forward("_softmax", "softmax")
_forward("_log_softmax", "log_softmax")
_backward("_softmax_backward_data", "softmax_grad")
_backward("_log_softmax_backward_data", "log_softmax_grad")
