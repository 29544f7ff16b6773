# SPDX-License-Identifier: MIT
"""Settings that hold in a block, in its thread or task, however blocks overlap.

A ContextVar alone does less: blocks that are left out of turn bring back what was before, and a generator that is
suspended within a block leaves its setting to whoever called it.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_MANAGERS = ("contextlib", "_pytest.fixtures")
"""Modules that suspend a generator in order to keep its blocks open for others."""


class _Entry(Generic[T]):
    """A block under way."""

    def __init__(self, value: T, generator: FrameType | None) -> None:
        self.value, self.generator = value, generator
        self.left = False

    def holds(self) -> bool:
        # The frame of a generator has a caller while the generator runs.
        return not self.left and (self.generator is None or self.generator.f_back is not None)


class InContext(Generic[T]):
    """A setting: the value of the latest block under way in this context; None outside of all."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._entries: ContextVar[tuple[_Entry[T], ...]] = ContextVar(name, default=())

    def get(self) -> T | None:
        for entry in reversed(self._entries.get() or self._of_caller()):
            if entry.holds():
                return entry.value
        return None

    @contextmanager
    def set(self, value: T) -> Iterator[None]:
        """A block in which `get` gives this value; not in the caller of a generator that the block is part of."""
        entry = _Entry(value, _owner())
        self._enter((*self._entries.get(), entry))
        try:
            yield
        finally:
            before = self._entries.get()
            if entry in before:
                self._enter(tuple(other for other in before if other is not entry))
            else:  # entered in another context
                entry.left = True

    def _enter(self, entries: tuple[_Entry[T], ...]) -> None:
        self._entries.set(entries)
        if (torch := _torch()) is not None:
            _stash(torch, self._name, (get_ident(), entries))

    def _of_caller(self) -> tuple[_Entry[T], ...]:
        """In a thread in which torch computes gradients for a device: the blocks of the thread that asked for them.

        torch lets such a thread have the objects that are stashed in the other.
        """
        torch = _torch()
        if torch is None or torch._current_graph_task_id() < 0 or not torch._is_key_in_tls(self._name):
            return ()
        thread, entries = torch._get_obj_in_tls(self._name)
        return () if thread == get_ident() else entries


def _torch() -> Any:
    """torch's module in C, if the program has it."""
    return getattr(sys.modules.get("torch"), "_C", None)


def _stash(torch: Any, name: str, value: object) -> None:
    """For the threads in which torch computes gradients; torch drops a reference to the value when another comes.

    Not every torch takes one of its own before, as 2.11 does not: then it is ours that it drops.
    """
    references = sys.getrefcount(value)
    torch._stash_obj_in_tls(name, value)
    if sys.getrefcount(value) == references:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _owner() -> FrameType | None:
    """The frame that a block is part of, if it is that of a generator."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        caller = frame.f_back
        if frame.f_globals.get("__name__") in _MANAGERS:
            frame = caller
        elif not frame.f_code.co_flags & _GENERATOR:
            return None
        elif caller is not None and caller.f_globals.get("__name__") in _MANAGERS:
            frame = caller  # it is suspended for a block of its caller
        else:
            return frame
    return None
