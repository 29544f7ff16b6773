# SPDX-License-Identifier: MIT
"""What another process has to load so that it has the ops of this one."""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys

import torch

from repdl.interception.loading import speaks_of_torch


def loaded(namespace: str) -> list[str]:
    """The libraries and modules that may have registered ops."""
    modules = [namespace] if namespace in sys.modules and namespace != "torch" else []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        compiled = isinstance(file, str) and file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
        if compiled and name.partition(".")[0] not in ("torch", "repdl", "functorch") and speaks_of_torch(file):
            modules.append(str(file))
    return [*modules, *torch.ops.loaded_libraries]


def load(what: str) -> None:
    """A library or module that `loaded` has named."""
    if os.path.isfile(what):
        torch.ops.load_library(what)
    else:
        importlib.import_module(what)
