# SPDX-License-Identifier: MIT
"""Settings on which the bits of an op may depend, as a record has them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import torch

from repdl.interception import choices, switch
from repdl.interception.machine import CAPABILITIES

NAMES = ("threads", "precision of float32 products", "deterministic algorithms", "oneDNN", "repdl.enable()")
_NAMES_OF_CUDA = tuple(choice.name for choice in choices.OF_CUDA)

_VARIABLES = (
    "ATEN_CPU_", "CUBLAS_", "CUDA_", "DNNL_", "GOMP_", "KMP_", "MKL_", "NVIDIA_TF32", "OMP_", "ONEDNN_", "OPENBLAS_",
    "REPDL_TARGET",
)  # fmt: skip
"""Environment variables begin so that libraries of kernels read."""

_HARMLESS = re.compile(r"(?!.*(TOOL|INJECT|PATH|FILE|DIR|DUMP|LOG|VERBOSE|DISPLAY))[A-Z0-9_]+")
"""Others may name a file that a library loads or writes: OMP_TOOL_LIBRARIES, CUDA_INJECTION64_PATH."""

_MOST_THREADS = 1024


def now() -> tuple[object, ...]:
    """The values of this moment; they are asked for at each op. Those of CUDA once the program uses it."""
    values = (
        torch.get_num_threads(),
        choices.float32_precision(),
        torch._C._get_deterministic_algorithms(),
        torch._C._get_mkldnn_enabled(),
        switch.is_enabled(),
    )
    return (*values, *(choice.now() for choice in choices.OF_CUDA)) if torch.cuda._initialized else values


def text(values: tuple[object, ...]) -> str:
    """As "threads=2, oneDNN=True, …"."""
    return ", ".join(f"{name}={value}" for name, value in zip(NAMES + _NAMES_OF_CUDA, values, strict=False))


def read(written: str) -> dict[str, str]:
    """By name, what `text` has written."""
    return dict(item.split("=", 1) for item in written.split(", ") if "=" in item)


def of_state(told: Mapping[str, str]) -> dict[str, Any]:
    """Of settings that `read` has given, those that another process can be given."""
    found: dict[str, Any] = {}
    if (precision := told.get(NAMES[1])) in choices.PRECISION.values:
        found["precision"] = precision
    for name, key in ((NAMES[2], "deterministic"), (NAMES[3], "onednn")):
        if (value := told.get(name)) in ("True", "False"):
            found[key] = value == "True"
    return found


def variables(header: Mapping[str, Any]) -> dict[str, str]:
    """By name, what `environment` has written."""
    written = header.get("environment")
    items = written if isinstance(written, list) else []
    return dict(item.split("=", 1) for item in items if "=" in item and item.startswith(_VARIABLES))


def harmless(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Of settings that a stranger may have recorded, or sent, those that can be tried here without harm."""
    kept: dict[str, Any] = {}
    if "enabled" in wanted:
        kept["enabled"] = bool(wanted["enabled"])
    if isinstance(threads := wanted.get("threads"), int) and 0 < threads <= _MOST_THREADS:
        kept["threads"] = threads
    if (capability := wanted.get("capability")) in CAPABILITIES:
        kept["capability"] = capability
    if (precision := wanted.get("precision")) in choices.PRECISION.values:
        kept["precision"] = precision
    kept |= {name: wanted[name] for name in ("deterministic", "onednn") if isinstance(wanted.get(name), bool)}
    given = variables({"environment": [f"{name}={value}" for name, value in wanted.get("environment", {}).items()]})
    if environment := {name: value for name, value in given.items() if _HARMLESS.fullmatch(name)}:
        kept["environment"] = environment
    return kept


def environment() -> list[str]:
    """As "OMP_NUM_THREADS=2"."""
    return sorted(f"{name}={value}"[:1000] for name, value in os.environ.items() if name.startswith(_VARIABLES))
