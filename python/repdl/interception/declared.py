# SPDX-License-Identifier: MIT
"""What a program says of ops that nobody else vouches for, by `repdl.declare`."""

from __future__ import annotations

reasons: dict[str, str] = {}
"""By op, "boxes::inside", or overload, "boxes::inside.default", what was said of it."""


def why_declared(op: str) -> str | None:
    """What was said of an overload, "boxes::inside" or "my::add.Scalar"; None if nothing."""
    if not reasons:
        return None
    namespace, colons, name = op.rpartition("::")
    packet, _, overload = name.partition(".")
    return (
        reasons.get(op) or reasons.get(namespace + colons + packet) or reasons.get(op if overload else f"{op}.default")
    )
