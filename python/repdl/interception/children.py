# SPDX-License-Identifier: MIT
"""Processes that multiprocessing starts afresh ("spawn", "forkserver"): enabled from the first line, as forked ones.

Such a child is first sent a dict of what it needs to know. Ours has one entry more, and reading that enables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import spawn
from typing import Any


class _Call:
    """Pickled, it is a call of a function, which is made where it is read."""

    def __init__(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@contextmanager
def told(enable: Callable[..., None], arguments: Callable[[], tuple[Any, ...]]) -> Iterator[None]:
    """In this block, processes that are started call `enable` with what `arguments` gives at that time."""
    original = spawn.get_preparation_data

    def prepare(name: str) -> dict[str, Any]:
        return original(name) | {"repdl": _Call(enable, arguments())}

    spawn.get_preparation_data = prepare
    try:
        yield
    finally:
        spawn.get_preparation_data = original
