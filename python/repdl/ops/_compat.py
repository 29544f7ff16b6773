# SPDX-License-Identifier: MIT
"""The sums of microsoft/RepDL 0.1 under their names. A mean is the sum times float32(1 / N)."""

from __future__ import annotations

from repdl._op import Tensor
from repdl.ops.sum import sum as sum_of


def sum1d(input: Tensor, average: bool = False) -> Tensor:
    """The sum, or mean, of a vector (n)."""
    return sum_of(_with_rank("sum1d", input, 1), None, False, average)


def sum2d_dim0(input: Tensor, keepdim: bool = False, average: bool = False) -> Tensor:
    """The sum, or mean, of each column of a matrix (m, n)."""
    return sum_of(_with_rank("sum2d_dim0", input, 2), 0, keepdim, average)


def sum2d_dim1(input: Tensor, keepdim: bool = False, average: bool = False) -> Tensor:
    """The sum, or mean, of each row of a matrix (m, n)."""
    return sum_of(_with_rank("sum2d_dim1", input, 2), 1, keepdim, average)


def sum4d_dim023(input: Tensor, keepdim: bool = False, average: bool = False) -> Tensor:
    """The sum, or mean, of each channel of images (n, c, h, w)."""
    return sum_of(_with_rank("sum4d_dim023", input, 4), (0, 2, 3), keepdim, average)


def _with_rank(name: str, input: Tensor, rank: int) -> Tensor:
    if not hasattr(input, "ndim"):
        raise TypeError(f"[{name}] input must be a torch tensor or NumPy array, got {type(input).__name__}")
    if input.ndim != rank:
        raise ValueError(f"[{name}] input must have {rank} dimensions, got {input.ndim}")
    return input
