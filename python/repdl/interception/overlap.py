# SPDX-License-Identifier: MIT
"""Writes to a tensor of which elements share memory, as windows by `unfold` do: which one comes last is a race."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from repdl import _core
from repdl._symbols import addresses
from repdl.interception.strict import refuses_overlap


@contextmanager
def refused() -> Iterator[None]:
    """In this block torch refuses them all, in every kernel that asks its own check; by itself that knows expanded
    tensors alone. A build of torch whose check cannot be replaced stays as it is."""
    functions = addresses(
        "torch_cpu",
        "_ZN2at20has_internal_overlapEPN3c1010TensorImplE",
        "aoti_torch_get_dim",
        "aoti_torch_get_sizes",
        "aoti_torch_get_strides",
    )
    _core.watch_overlap(functions, refuses_overlap)
    try:
        yield
    finally:
        _core.end_overlap()
