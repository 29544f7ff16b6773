# SPDX-License-Identifier: MIT
"""Tells when compiled code was loaded, which may have registered ops.

torch's dispatcher has no hook for that. Watched are the ways by which Python loads it: extension modules (so
torch.utils.cpp_extension.load too), and ctypes (so torch.ops.load_library). What came in by another way is met when
Python first asks torch.ops for an op of it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.machinery import ExtensionFileLoader
from typing import Any

import torch


@contextmanager
def told(loaded: Callable[[bool], None], imported: Callable[[Any], None]) -> Iterator[None]:
    """In this block, calls a function after each load, with whether the file may have to do with torch.

    The other is called with each extension module, once its functions are there.
    """
    after: dict[tuple[type, str], Callable[..., None]] = {
        (ExtensionFileLoader, "create_module"): lambda loader, *rest: loaded(speaks_of_torch(loader.path)),
        (ExtensionFileLoader, "exec_module"): lambda loader, module: imported(module),
        (ctypes.CDLL, "__init__"): lambda library, name=None, *rest, **options: loaded(speaks_of_torch(name)),
        (torch._ops._OpNamespace, "__getattr__"): lambda namespace, name: (
            None if namespace.name == "aten" else loaded(False)
        ),
    }
    with ExitStack() as undo:
        for (owner, name), tell in after.items():
            undo.enter_context(_followed(owner, name, tell))
        yield


@contextmanager
def _followed(owner: type, name: str, tell: Callable[..., None]) -> Iterator[None]:
    """In this block, a method is followed by a call of a function with its arguments."""
    original = getattr(owner, name)
    on = True

    @functools.wraps(original)
    def follow(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if on and not sys.is_finalizing():
            tell(*args, **kwargs)
        return result

    setattr(owner, name, follow)
    try:
        yield
    finally:
        on = False
        if getattr(owner, name) is follow:  # else somebody has put another on top, which calls this one
            setattr(owner, name, original)


def speaks_of_torch(path: Any) -> bool:
    """Whether a file has the word in it, as names of libraries and symbols have; True for what cannot be read."""
    if path is None:  # of ctypes: the process itself
        return False
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.find(b"torch") >= 0
    except (OSError, TypeError, ValueError):  # found by the linker
        return True
