# SPDX-License-Identifier: MIT
"""Softmax of float64: the formulas of the ops, with the sums and functions of float64."""

from __future__ import annotations

import torch

from repdl.interception.override import float64_ops as ops


def _sum(x: torch.Tensor, dim: int, order: str) -> torch.Tensor:
    return ops["sum"](x, (dim,), True, False, order) if x.dim() else x


def _less_largest(x: torch.Tensor, dim: int) -> torch.Tensor:
    return x - x.amax(dim, True) if x.numel() else x


def _softmax(x: torch.Tensor, dim: int, order: str = "blocked") -> torch.Tensor:
    e = ops["exp"](_less_largest(x, dim))
    return e / _sum(e, dim, order)


def _log_softmax(x: torch.Tensor, dim: int, order: str = "blocked") -> torch.Tensor:
    rest = _less_largest(x, dim)
    return rest - ops["log"](_sum(ops["exp"](rest), dim, order))


def _log_softmax_grad(grad: torch.Tensor, output: torch.Tensor, dim: int, order: str = "blocked") -> torch.Tensor:
    return grad - ops["exp"](output) * _sum(grad, dim, order)


ops.update(softmax=_softmax, log_softmax=_log_softmax, log_softmax_grad=_log_softmax_grad)
