# SPDX-License-Identifier: MIT
"""The settings of a process that bits depend on: those that must be the same, and those that are told of."""

from __future__ import annotations

import platform
import warnings
from typing import Any

import numpy as np
import torch

from repdl import _core
from repdl._order import get_order
from repdl.checkpoint.errors import CheckpointError, VersionWarning
from repdl.interception import switch

_REMEDIES = {
    "arithmetic version": "go on with the version of repdl that wrote it",
    "order": "call repdl.set_order, or repdl.enable(order=…)",
    "repdl.enable": "call repdl.enable or repdl.disable",
    "rng": "call repdl.enable(rng=…)",
}


def here() -> dict[str, dict[str, Any]]:
    """What this process has."""
    enabled = switch.is_enabled()
    same = {
        "arithmetic version": _core.arithmetic_version,
        "order": get_order(),
        "repdl.enable": enabled,
        "rng": switch.rng_in_force() if enabled else None,
    }
    told = {
        "repdl": _core.__version__,
        "torch": torch.__version__.split("+")[0],
        "numpy": np.__version__,
        "Python": platform.python_version(),
    }
    if not enabled:  # where these change bits
        told |= {
            "torch's CPU capability": torch.backends.cpu.get_cpu_capability(),
            "torch's threads": str(torch.get_num_threads()),
        }
    return {"same": same, "told": told}


def check(found: Any) -> None:
    """CheckpointError for a setting that must be another, and a warning for the versions that are."""
    expected = here()
    for name, value in expected["same"].items():
        if found["same"].get(name) != value:
            raise CheckpointError(
                f"it was written with {name} {found['same'].get(name)!r}, but this process has {value!r}; "
                f"{_REMEDIES[name]}"
            )
    others = [
        f"{name} {found['told'].get(name)} (here {value})"
        for name, value in expected["told"].items()
        if found["told"].get(name) != value
    ]
    if others:
        warnings.warn(f"a checkpoint was written with {', '.join(others)}; bits may differ", VersionWarning, 3)
