# SPDX-License-Identifier: MIT
"""What torch's own kernels write where C++ leaves it to the machine.

Of elements that share memory, as in windows by `unfold`, threads decide which one is written last, and vectors which
ones are read before they are written. NaN and floats out of range become integers by the CPU's instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from repdl import _core
from repdl._symbols import addresses
from repdl.interception.strict import refuses_overlap


@contextmanager
def defined() -> Iterator[None]:
    """In this block copies and conversions have one meaning, and other such writes are refused, by torch's own checks.

    A build of torch whose functions cannot be replaced stays as it is.
    """
    _core.watch_writes(addresses("torch_cpu", *_core.write_functions()), refuses_overlap)
    try:
        yield
    finally:
        _core.end_watch()
