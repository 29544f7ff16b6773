# SPDX-License-Identifier: MIT
"""Ways out of a process on which Python unwinds nothing: what was recorded is written before them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

_ENDS = ("_exit",)
"""After these no program goes on."""

_MAY_END = ("abort", "execv", "execve", "kill")
"""After these another one does, or the signal may be harmless."""


@contextmanager
def written_before(end: Callable[[], None], write: Callable[[], None]) -> Iterator[None]:
    """Before the program leaves its process in a block, `end` is called, or `write` where it may go on."""
    kept = {name: getattr(os, name) for name in (*_ENDS, *_MAY_END)}
    for name, function in kept.items():
        setattr(os, name, _after(end if name in _ENDS else write, function))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(os, name, function)


def _after(first: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def leave(*args: Any, **kwargs: Any) -> Any:
        first()
        return function(*args, **kwargs)

    return leave
