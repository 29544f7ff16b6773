# SPDX-License-Identifier: MIT
"""The overloads that an op of the core is as it stands: `@op(aten=[…])` in repdl.ops names them."""

from __future__ import annotations

from typing import Any

import repdl.ops  # noqa: F401 (declares the ops)
from repdl._op import GRADIENT, INT_TO_FLOAT, SAME_TYPE, registry
from repdl.interception import core
from repdl.interception.override import override

_RULES: dict[str, dict[str, Any]] = {
    INT_TO_FLOAT: {"low": "compute", "complex": True, "integers": "float32"},
    SAME_TYPE: {"low": "compute"},
    GRADIENT: {"complex": True},
}

for _op in registry.values():
    _pairs = f"complex_{_op.name}"
    override(
        *_op.aten,
        op=_op.name,
        pairs=_pairs if _pairs in registry else "",
        wide="float64",
        elementwise=True,
        **_RULES[_op.promotion],
    )(core.ops[_op.name])
