# SPDX-License-Identifier: MIT
"""Python's own functions of floats: `**`, `math` and `cmath` call the C library's, which has others for each CPU.

The interpreter and its modules are led to the core's functions of float64. Their checks and errors stay as they are.
"""

from __future__ import annotations

import cmath
import math
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from repdl import _core
from repdl._symbols import addresses
from repdl.interception import places

_told = False


@contextmanager
def ours() -> Iterator[None]:
    """In this block Python computes by the core's functions; those that it does not come to are named, once."""
    of_torch = addresses("torch_cpu", "aoti_torch_get_dim")  # functions of TorchScript compute with numbers too
    of_floats, of_math, *_ = _core.replace_math([float, math.sqrt, cmath.sqrt, *_of_statistics(), *of_torch])
    try:
        _tell_once(_left(of_floats, of_math))
        yield
    finally:
        _core.restore_math()


def _of_statistics() -> list[Any]:
    """Of a module that is the interpreter's own too, and not there in all of them."""
    with suppress(ImportError, AttributeError):
        return [import_module("_statistics")._normal_dist_inv_cdf]
    return []


_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
"""What `math` takes from the C library under the same name."""


def _left(of_floats: list[str], of_math: list[str]) -> list[str]:
    powers = [] if "pow" in of_floats else ["** of floats"]
    return powers + [f"math.{name}" for name in _MATH if hasattr(math, name) and name not in of_math]


def _tell_once(left: list[str]) -> None:
    global _told
    if not left or _told or multiprocessing.parent_process() is not None:
        return
    _told = True
    text = (
        "In this build of Python these cannot be led to functions of repdl, and stay the C library's, whose last bits "
        f"depend on its version and on the CPU: {', '.join(left)}. Learning rates may be such numbers."
    )
    places.warn(text, UserWarning, "repdl.enable")


def forget_notice() -> None:
    global _told
    _told = False
