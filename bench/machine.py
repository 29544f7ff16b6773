# SPDX-License-Identifier: MIT
"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

import repdl
from repdl import _core


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def describe() -> str:
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cpu_name()}, {cores} cores; repdl {repdl.__version__} ({_core.active_target()}), torch {torch.__version__} "
        f"({torch.backends.cpu.get_cpu_capability()})"
    )
