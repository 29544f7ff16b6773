# SPDX-License-Identifier: MIT
"""What the schema of an op says of its arguments: which it writes, and which of those it does not read."""

from __future__ import annotations

from typing import Any

import torch

from repdl._workspaces import WORKSPACES

_FILLERS = ("copy_", "fill_", "zero_", "eye_", "resize_", "resize_as_")
"""Write all of the tensor, whatever it held."""

_STATISTICS = ("running_mean", "running_var")
"""Written by the kernels of batch norms, whose schemas do not say so."""

_OF_TORCH = ("aten", "prims", "c10d", "_c10d_functional", "repdl")
"""Namespaces of ops whose schemas are trusted to say what they write."""

READ_OUT = {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.equal.default}
"""Give a number to the program; they are recorded in all steps."""


class Op:
    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        base = schema.name.partition("::")[2]
        self.names = [argument.name for argument in schema.arguments]
        self.is_view = bool(func.is_view) or base in ("_unsafe_view", "_reshape_alias")
        self.is_handed = base == "set_"  # memory from elsewhere, as from a worker of a DataLoader
        self.is_uninitialised = base.startswith(("empty", "new_empty", "_empty"))
        self.is_resize = base in ("resize_", "resize_as_")
        self.is_of_torch = func.namespace in _OF_TORCH
        self.is_collective = func.namespace in ("c10d", "_c10d_functional")
        self.is_point_to_point = base in ("send", "recv_", "recv_any_source_")
        self.is_settled = not (
            self.is_view or self.is_handed or self.is_uninitialised or self.is_resize or self.is_collective
        )
        self.is_seeded = torch.Tag.nondeterministic_seeded in func.tags
        self.workspaces = WORKSPACES.get(schema.name, set())
        self.writes: set[str] = set()
        self.overwrites: set[str] = set()
        for argument in schema.arguments:
            alias = argument.alias_info
            if alias is not None and alias.is_write:
                self.writes.add(argument.name)
                if argument.kwarg_only or base in _FILLERS or self.is_seeded:
                    self.overwrites.add(argument.name)
        if func.namespace == "c10d" and base != "send":  # their schemas say nothing
            self.overwrites.update(name for name in self.names if name.startswith("output"))
            self.writes.update(self.overwrites, {"tensors"} & set(self.names))
        if "batch_norm" in base and "backward" not in base:
            self.writes.update(name for name in self.names if name in _STATISTICS)
        self.is_hashed = not (self.is_view or self.is_handed or self.is_point_to_point)  # all that it gives
        self.is_reading = self.is_hashed and self.is_of_torch and not (self.writes or self.is_seeded)  # and no more


_known: dict[Any, Op] = {}


def of(func: Any) -> Op:
    op = _known.get(func)
    if op is None:
        op = _known[func] = Op(func)
    return op
