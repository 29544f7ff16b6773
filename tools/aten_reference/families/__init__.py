# SPDX-License-Identifier: MIT
"""The ops, a module for each family."""

from __future__ import annotations

import importlib
import pkgutil

from . import of_core


def load() -> None:
    """Imports every module of this folder, so that its ops are declared."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    of_core.declare_rest()
