# SPDX-License-Identifier: MIT
"""Settings on which the bits of an op may depend, as a record has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch

from repdl.interception import switch

NAMES = ("threads", "precision of float32 products", "deterministic algorithms", "oneDNN", "repdl.enable()")

_VARIABLES = (
    "ATEN_CPU_", "CUBLAS_", "CUDA_", "DNNL_", "GOMP_", "KMP_", "MKL_", "NVIDIA_TF32", "OMP_", "ONEDNN_", "OPENBLAS_",
    "REPDL_TARGET",
)  # fmt: skip
"""Environment variables begin so that libraries of kernels read."""


def now() -> tuple[object, ...]:
    """The values of this moment; they are asked for at each op."""
    return (
        torch.get_num_threads(),
        torch._C._get_float32_matmul_precision(),
        torch._C._get_deterministic_algorithms(),
        torch._C._get_mkldnn_enabled(),
        switch.is_enabled(),
    )


def text(values: tuple[object, ...]) -> str:
    """As "threads=2, oneDNN=True, …"."""
    return ", ".join(f"{name}={value}" for name, value in zip(NAMES, values, strict=True))


def read(written: str) -> dict[str, str]:
    """By name, what `text` has written."""
    return dict(item.split("=", 1) for item in written.split(", ") if "=" in item)


def variables(header: Mapping[str, Any]) -> dict[str, str]:
    """By name, what `environment` has written."""
    written = header.get("environment")
    items = written if isinstance(written, list) else []
    return dict(item.split("=", 1) for item in items if "=" in item and item.startswith(_VARIABLES))


def environment() -> list[str]:
    """As "OMP_NUM_THREADS=2"."""
    return sorted(f"{name}={value}"[:1000] for name, value in os.environ.items() if name.startswith(_VARIABLES))
