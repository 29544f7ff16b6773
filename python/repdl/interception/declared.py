# SPDX-License-Identifier: MIT
"""What a program says of ops that nobody else vouches for: `repdl.declare`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import torch

from repdl.interception.exact import why_exact

reasons: dict[str, str] = {}
"""By op, "torchvision::nms", or overload, "torchvision::nms.default", what was said of it."""


def why_declared(op: str) -> str | None:
    """What was said of an overload, "torchvision::nms" or "my::add.Scalar"; None if nothing."""
    if not reasons:
        return None
    packet, _, overload = op.partition(".")
    return reasons.get(op) or reasons.get(packet) or reasons.get(op if overload else f"{op}.default")


def declare(op: str, reason: str, samples: Sequence[Any] | None = None) -> None:
    """Says that a compiled op gives the same bits on every machine, so that it runs under `repdl.enable()`.

    It holds in this process, and in those that multiprocessing starts while it is enabled, for tensors on the CPU. The
    claim is the caller's: `repdl.conformance.check_declared` tries it. It may be made before the library is loaded.
    An op of torch for which there is no kernel, "aten::special_airy_ai", may be declared as well; where there is one
    it keeps that, for the types that it takes.

    Args:
        op: "library::name", which is every overload of it, or "library::name.overload".
        reason: why its bits are the same everywhere; `repdl.audit` repeats it.
        samples: calls to try first, as `repdl.conformance.check_declared` takes them.

    Raises:
        ValueError: without a reason; for what is no op, or one that needs no declaration; and if a sample shows that
            the bits are not the same.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError('[declare] reason must say why the bits are the same: declare("torchvision::nms", "compares")')
    check_name(op)
    if samples is not None:
        from repdl.conformance.declared import check_declared

        check = check_declared(op, samples)
        if not check.passed:
            raise ValueError(f"[declare] {check}")
    reasons[op] = reason


def check_name(op: str) -> None:
    """Raises ValueError for what cannot be declared."""
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
    if not found:
        _refuse_unknown(op, namespace, f"{namespace}::{packet}")
    from repdl.interception import libraries  # which needs this module

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
