# SPDX-License-Identifier: MIT
"""Which ops `repdl.declare` takes."""

from __future__ import annotations

from difflib import get_close_matches

import torch

from repdl.interception import extensions, libraries
from repdl.interception.exact import why_exact


def check_name(op: str) -> None:
    """Raises TypeError for what is no text, ValueError for what cannot be declared."""
    if not isinstance(op, str):
        raise TypeError(f'[declare] op must be a text, "library::name", got {type(op).__name__}')
    namespace, colons, name = op.partition("::")
    packet, _, overload = name.partition(".")
    if not (colons and namespace and packet):
        raise ValueError(f'[declare] op must be "library::name" or "library::name.overload", got {op!r}')
    if namespace == "repdl":
        raise ValueError(f"[declare] {op} is an op of repdl, and needs no declaration")
    found = torch._C._jit_get_schemas_for_operator(f"{namespace}::{packet}")
    wanted = "" if overload == "default" else overload
    if found and overload and wanted not in [schema.overload_name for schema in found]:
        names = ", ".join(f"{packet}.{schema.overload_name or 'default'}" for schema in found)
        raise ValueError(f"[declare] {namespace}::{packet} has no overload {overload!r}; there are: {names}")
    if not found and not extensions.is_held(op):
        _refuse_unknown(op, namespace, f"{namespace}::{packet}")
    of_torch = namespace == "aten" and not libraries.is_held(op)
    if of_torch and (why := why_exact(f"{packet}.{wanted}" if wanted else packet)):
        raise ValueError(f"[declare] {op} needs no declaration: it runs with torch's own kernel. {why}")


def _refuse_unknown(op: str, namespace: str, packet: str) -> None:
    """A library that is not loaded yet may have any op; one that is there has those that it has."""
    there = {
        name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names() if name.startswith(namespace + "::")
    }
    if there:
        close = get_close_matches(packet, there, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"[declare] {op} is no op of {namespace}, which is loaded{hint}")
