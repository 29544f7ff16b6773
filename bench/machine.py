# SPDX-License-Identifier: MIT
"""What the figures were measured on."""

from __future__ import annotations

import os

import torch

from repdl._machine import describe_machine


def describe() -> str:
    info = describe_machine()
    return (
        f"{info['CPU']}, {len(os.sched_getaffinity(0))} cores; repdl {info['version']} ({info['CPU target chosen']}), "
        f"torch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()})"
    )
