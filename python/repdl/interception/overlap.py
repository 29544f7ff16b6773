# SPDX-License-Identifier: MIT
"""Writes to elements that share memory with others, as windows by `unfold` do, or with what is read.

Which one comes last, and what is read before it is written, is for threads and vectors to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from repdl import _core
from repdl._symbols import addresses
from repdl.interception.strict import refuses_overlap


@contextmanager
def refused() -> Iterator[None]:
    """In this block torch refuses them all, in every kernel that makes its checks; by itself it knows expanded tensors
    and dense ones alone. A build of torch whose checks cannot be replaced stays as it is."""
    _core.watch_overlap(addresses("torch_cpu", *_core.overlap_functions()), refuses_overlap)
    try:
        yield
    finally:
        _core.end_overlap()
