# SPDX-License-Identifier: MIT
"""Functions of torch's own libraries, which the core calls without Python."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import torch


@cache
def _loaded(library: str) -> ctypes.CDLL:
    """Opened once: what is opened while repdl is enabled is looked through for new ops."""
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / f"lib{library}.so"))


def addresses(library: str, *names: str) -> list[int]:
    """Where a library of torch, "torch_cpu", has functions of these names; none if it lacks one of them, as other
    versions and systems may."""
    try:
        loaded = _loaded(library)
        functions = [getattr(loaded, name) for name in names]
    except (OSError, AttributeError):
        return []
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
