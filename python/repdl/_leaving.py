# SPDX-License-Identifier: MIT
"""Ways out of a process on which Python unwinds nothing: what was found out is written before them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import Any

_MAY_END = ("abort", "execv", "execve", "kill")
"""After these another program goes on, or the signal may be harmless."""

leave = os._exit
"""As Python has it: nothing is written before."""


@contextmanager
def written_before(end: Callable[[int], None], write: Callable[[], None] = lambda: None) -> Iterator[None]:
    """In a block, `end` is called before os._exit ends the program, with its status, and `write` where it may go on.

    They are not called in other threads, nor in processes that the block forks.
    """
    here = os.getpid(), get_ident()

    def after(first: Callable[..., None], function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def written_and_left(*args: Any, **kwargs: Any) -> Any:
            if (os.getpid(), get_ident()) == here:
                first(*args, **kwargs)
            return function(*args, **kwargs)

        return written_and_left

    firsts = {"_exit": end, **dict.fromkeys(_MAY_END, lambda *args, **kwargs: write())}
    kept = {name: getattr(os, name) for name in firsts}
    for name, first in firsts.items():
        setattr(os, name, after(first, kept[name]))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(os, name, function)
