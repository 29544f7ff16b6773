# SPDX-License-Identifier: MIT
"""Operands of an op whose gradient is computed in single ops, so that it can be differentiated itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def aliases(operands: Mapping[str, Any]) -> dict[str, Any]:
    """An alias of each operand that needs a gradient, by name.

    One operand may be another, or computed from it. A gradient by the operand itself would take in its way through the
    others; a gradient by its alias is that of the op alone.
    """
    return {name: t.view_as(t) for name, t in operands.items() if t is not None and t.requires_grad}
