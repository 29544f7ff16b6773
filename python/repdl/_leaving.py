# SPDX-License-Identifier: MIT
"""Ways out of a process on which Python unwinds nothing: what was found out is written before them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import Any, NoReturn

_MAY_END = ("abort", "execv", "execve", "kill")
"""After these another program goes on, or the signal may be harmless."""

leave = os._exit
"""As Python has it: nothing is written before."""


@contextmanager
def unwound() -> Iterator[None]:
    """In a block that waits for a process of ours, SIGTERM unwinds this one, so that none is left to run without it.

    But where somebody has said already what the signal does.
    """

    def end(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()  # which alone may say what a signal does
    if not is_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


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
