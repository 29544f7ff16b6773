# SPDX-License-Identifier: MIT
"""RepDL: the same program, the same bits, everywhere.

`repdl.ops` works on NumPy arrays without torch; what is built on torch is imported when it is first used, and so is
`repdl.conformance`.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Before NumPy, which a second interpreter of the process cannot import either, but does not say why.
from repdl._core import (
    __version__ as __version__,
    arithmetic_version as arithmetic_version,
    get_num_threads as get_num_threads,
    set_num_threads as set_num_threads,
)

# isort: split
from repdl._order import get_order as get_order, order as order, set_order as set_order
from repdl._seeds import Seeder as Seeder, manual_seed as manual_seed, seed_worker as seed_worker

if TYPE_CHECKING:
    from repdl import (
        checkpoint as checkpoint,
        conformance as conformance,
        experiments as experiments,
        func as func,
        interception as interception,
        library as library,
        nn as nn,
        optim as optim,
        random as random,
        receipts as receipts,
        utils as utils,
    )
    from repdl.conformance.declared import declare as declare
    from repdl.convert import from_torch_module as from_torch_module
    from repdl.interception import (
        NotReproducibleError as NotReproducibleError,
        NotReproducibleWarning as NotReproducibleWarning,
        UnmeasuredTorchWarning as UnmeasuredTorchWarning,
        allow_native as allow_native,
        audit as audit,
        disable as disable,
        enable as enable,
        is_enabled as is_enabled,
        reproducible as reproducible,
    )
    from repdl.reveal import reveal as reveal
    from repdl.runs import record as record

# What is declared stays: a collection of garbage would find nothing, and go through all objects of torch.
_collects = gc.isenabled()
gc.disable()
try:
    from repdl import ops as ops
finally:
    if _collects:
        gc.enable()

_MODULES = {
    "checkpoint", "conformance", "experiments", "func", "interception", "library", "nn", "optim", "random", "receipts",
    "reveal", "utils",
}  # fmt: skip
_NAMES = {
    "declare": "repdl.conformance.declared",
    "from_torch_module": "repdl.convert",
    "record": "repdl.runs",
} | dict.fromkeys(
    (
        "NotReproducibleError",
        "NotReproducibleWarning",
        "UnmeasuredTorchWarning",
        "allow_native",
        "audit",
        "disable",
        "enable",
        "is_enabled",
        "reproducible",
    ),
    "repdl.interception",
)
"""What needs torch, and where it is."""


def __getattr__(name: str) -> Any:
    try:
        if name in _MODULES:
            return import_module(f"repdl.{name}")
        if name in _NAMES:
            return getattr(import_module(_NAMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        text = f"repdl.{name} needs torch, which is not installed: pip install 'repdl[torch]'"
        raise ModuleNotFoundError(text, name="torch") from None
    raise AttributeError(f"module 'repdl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})


if sys.modules.get("torch") is not None:
    # torch.ops.repdl is there for whoever has torch.
    import_module("repdl._torch")
