# SPDX-License-Identifier: MIT
"""The ops that serve tensors of a dtype: the core's, and those of complex numbers."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from repdl.interception import core
from repdl.interception.native import Kernel

Ops = Mapping[str, Kernel]

complex_ops: dict[str, Kernel] = {}
"""Ops of complex tensors, by the names and with the arguments of the core's: aten/complex_functions.py."""


def ops_of(x: torch.Tensor) -> Ops:
    """The ops that take a tensor: those of complex numbers, or the core's."""
    return complex_ops if x.is_complex() else core.ops
