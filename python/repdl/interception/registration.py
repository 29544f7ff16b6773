# SPDX-License-Identifier: MIT
"""Puts kernels into torch's dispatcher."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

Kernels = Mapping[str, Callable[..., Any]]


def register(kernels: Kernels, composites: Kernels | None = None) -> torch.library.Library:
    """Overrides overloads of aten for dense CPU tensors, and composite ops, while the library that it returns lives.

    torch's warning, once a process, that a kernel is replaced is not given: here that is asked for.
    """
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel.*")
        for name, kernel in kernels.items():
            library.impl(name, kernel, "CPU")
        for name, function in (composites or {}).items():
            library.impl(name, function, "CompositeImplicitAutograd")
    return library
