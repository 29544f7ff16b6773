# SPDX-License-Identifier: MIT
"""What to call instead of an op that has no reproducible kernel: remedies.toml, read when the first one raises."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Remedy:
    """A call, and where it stands for the op."""

    call: str
    where: str = ""

    def __str__(self) -> str:
        return f"Call {self.call}" + (f", {self.where}" if self.where else "")


@cache
def remedies() -> dict[str, Remedy]:
    """By the name of an op, "linalg_eig"."""
    rows = tomllib.loads(Path(__file__).with_name("remedies.toml").read_text())["remedy"]
    return {op: Remedy(row["call"], row.get("where", "")) for row in rows for op in row["ops"].split()}
