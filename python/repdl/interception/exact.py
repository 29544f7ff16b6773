# SPDX-License-Identifier: MIT
"""The ops of torch that need no kernel of ours on a CPU: what exact.toml lists, with its reasons."""

from __future__ import annotations

import tomllib
from pathlib import Path

_groups = tomllib.loads(Path(__file__).with_name("exact.toml").read_text())

REASONS: dict[str, str] = {name: group["reason"] for group in _groups.values() for name in group["ops"].split()}
"""Why an op is exact, by its packet ("mul") or overload ("add.Scalar")."""


def why_exact(name: str) -> str | None:
    """Why torch's kernel of an overload, "mul.Tensor", is used as it is; None if it is not."""
    return REASONS.get(name) or REASONS.get(name.partition(".")[0])
