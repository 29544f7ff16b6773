# SPDX-License-Identifier: MIT
"""Versions of torch: those whose kernels were measured, and what is said of the others."""

from __future__ import annotations

import multiprocessing
import threading

import torch

from repdl.interception import places
from repdl.interception.exact import MEASURED, is_measured

_lock = threading.Lock()
_told = False


class UnmeasuredTorchWarning(UserWarning):
    """Given once by the first `repdl.enable()`, if nobody has measured which kernels of this torch are exact."""


def measured_versions() -> str:
    """In words, "2.13, 2.14 and 2.15"."""
    *others, last = MEASURED
    return f"{', '.join(others)} and {last}" if others else last


def tell_once() -> None:
    """Warns, once, of a torch that was never measured; but not in a process that another, which was told, started."""
    global _told
    version = str(torch.__version__)
    if is_measured(version) or multiprocessing.parent_process() is not None:
        return
    with _lock:
        if _told:
            return
        _told = True
    text = (
        f"Which kernels of torch give the same bits everywhere was measured with {measured_versions()}, and this is "
        f"torch {version}. What it has under the same names is trusted unmeasured; what is new in it raises. "
        "`repdl conformance --torch` measures it on this machine."
    )
    places.warn(text, UnmeasuredTorchWarning, "repdl")


def forget_notice() -> None:
    global _told
    _told = False
