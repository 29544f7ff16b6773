# SPDX-License-Identifier: MIT
"""Ops of float64 that the core does not have yet, by its names and arguments, in steps of torch that round once."""

from repdl import _core
from repdl.interception import core
from repdl.interception.float64 import (
    functions as functions,
    gamma as gamma,
    gamma_integral as gamma_integral,
)
from repdl.interception.ops_by_dtype import float64_ops as ops

ops.update({name: op for name, op in core.ops.items() if "float64" in _core.dtypes[name]})

__all__ = ["ops"]
