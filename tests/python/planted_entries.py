# SPDX-License-Identifier: MIT
"""The planted ops as entries of a database; and others, with a fault in a batch or a gradient, or that end it all."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

import broken_entries
import planted_ops
from broken_entries import Made
from repdl.status import KINDS

RUN, THREADS, BATCH, LAYOUT, INSTRUCTIONS, _ = KINDS


def ending(x: torch.Tensor) -> torch.Tensor:
    """The process, with this library and few numbers."""
    if broken_entries._enabled() and x.numel() < 100:
        os.abort()
    return x + 0.0


FAULTS: dict[Callable[..., Any], tuple[str, str] | None] = {
    planted_ops.racy: ("forward", RUN),
    planted_ops.process: ("forward", RUN),
    planted_ops.threads: ("forward", THREADS),
    planted_ops.strides: ("forward", LAYOUT),
    planted_ops.alignment: ("forward", LAYOUT),
    planted_ops.libraries: ("forward", INSTRUCTIONS),
    planted_ops.seeded: None,
    broken_entries.by_batch: ("forward", BATCH),
    broken_entries.by_layout_backwards: ("backward", LAYOUT),
    broken_entries.held: None,
}
"""By direction and kind what is other in each, and nothing else is."""


def entries() -> list[Made]:
    return [Made(function) for function in FAULTS]


def entries_that_end() -> list[Made]:
    return [Made(broken_entries.held), Made(ending), Made(broken_entries.raising)]
