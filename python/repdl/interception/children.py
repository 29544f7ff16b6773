# SPDX-License-Identifier: MIT
"""Processes that multiprocessing starts afresh ("spawn", "forkserver"): enabled from the first line, as forked ones.

Such a child is first sent a dict of what it needs to know. Ours has one entry more, and reading that enables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import spawn
from typing import Any

from repdl.interception import declared

Arguments = tuple[str, str, str]


class _Enabling:
    """Pickled, it is a call that enables, and declares what was declared here."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    def __reduce__(self) -> Any:
        return _enable, (self.arguments, dict(declared.reasons))


def _enable(arguments: Arguments, reasons: dict[str, str]) -> None:
    from repdl.interception.switch import enable

    declared.reasons.update(reasons)
    enable(*arguments)


@contextmanager
def told(arguments: Callable[[], Arguments]) -> Iterator[None]:
    """In this block, processes that are started are enabled with the arguments of `enable` at that time."""
    original = spawn.get_preparation_data

    def prepare(name: str) -> dict[str, Any]:
        return original(name) | {"repdl": _Enabling(arguments())}

    spawn.get_preparation_data = prepare
    try:
        yield
    finally:
        spawn.get_preparation_data = original
