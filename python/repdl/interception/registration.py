# SPDX-License-Identifier: MIT
"""Puts kernels into torch's dispatcher."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

Kernels = Mapping[str, Mapping[str, Callable[..., Any]]]
"""By dispatch key, the kernel of each overload."""


def register(kernels: Kernels, namespace: str = "aten") -> torch.library.Library:
    """Overrides overloads of aten, or of another namespace, while the library that it returns lives.

    torch's warning, once a process, that a kernel is replaced is not given: here that is asked for.
    """
    library = torch.library.Library(namespace, "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel.*")
        for key, of_key in kernels.items():
            for name, kernel in of_key.items():
                library.impl(name, kernel, key)
    return library
