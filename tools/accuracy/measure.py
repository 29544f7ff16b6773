# SPDX-License-Identifier: MIT
"""Errors of a call, in stock torch and under `repdl.enable()`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import repdl
from accuracy.calls import Call


class Errors(NamedTuple):
    """In units of the last place."""

    rms: float
    largest: float


def _precise(value: Tensor) -> np.ndarray:
    """As long doubles, which have 11 bits more than doubles; integers as they are."""
    array = value.detach().numpy()
    if array.dtype.kind == "i":
        return array
    return array.astype(np.clongdouble if array.dtype.kind == "c" else np.longdouble)


def _compared(call: Call, results: Any) -> np.ndarray:
    arrays = [_precise(value) for value in ([results] if isinstance(results, Tensor) else results)]
    if call.after is not None:
        return call.after(*arrays)
    (array,) = arrays
    return array


def _exact(call: Call) -> np.ndarray:
    if call.exact is not None:
        return call.exact(*map(_precise, call.operands))
    doubles = (x.double() if x.dtype == torch.float32 else x for x in call.operands)
    return _compared(call, call.function(*doubles))


def _errors(value: np.ndarray, exact: np.ndarray, dtype: Any, each: bool) -> Errors:
    assert value.shape == exact.shape and np.isfinite(exact).all(), "the reference is not of this call"
    unit = np.spacing(np.abs(exact).astype(dtype) if each else np.abs(exact).max().astype(dtype))
    off = np.abs(value - exact) / unit.astype(np.longdouble)
    return Errors(float(np.sqrt(np.mean(off * off))), float(off.max()))


def measure(call: Call, dtype: torch.dtype, each: bool) -> tuple[Errors, Errors | str] | None:
    """The errors of stock torch and ours, or what ours raises; None where there is no reference."""
    if call.exact is None and dtype == torch.float64:
        return None
    numpy_dtype = np.float32 if dtype == torch.float32 else np.float64
    exact = _exact(call)
    stock = _errors(_compared(call, call.function(*call.operands)), exact, numpy_dtype, each)
    try:
        with repdl.reproducible():
            results = call.function(*call.operands)
    except NotImplementedError as error:
        return stock, str(error).partition("\n")[0]
    return stock, _errors(_compared(call, results), exact, numpy_dtype, each)
