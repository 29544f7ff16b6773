# SPDX-License-Identifier: MIT
"""What the figures were measured on."""

from __future__ import annotations

import os

import torch

from repdl.cli.info import collect


def describe() -> str:
    info = collect()
    return (
        f"{info['CPU']}, {len(os.sched_getaffinity(0))} cores; repdl {info['version']} ({info['CPU target chosen']}), "
        f"torch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()})"
    )
