# SPDX-License-Identifier: MIT
"""Ops of float64, by the names and with the arguments of those of the core, in steps of torch that round once."""

from repdl.interception.float64 import (
    activations as activations,
    bessel as bessel,
    erf as erf,
    functions as functions,
    gamma as gamma,
    gamma_integral as gamma_integral,
    layers as layers,
    losses as losses,
    selection as selection,
    softmax as softmax,
    sums as sums,
    trigonometry as trigonometry,
)
from repdl.interception.override import float64_ops as ops

__all__ = ["ops"]
