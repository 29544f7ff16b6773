# SPDX-License-Identifier: MIT
"""Where in the user's program a call comes from."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any, TypeVar

import torch

F = TypeVar("F", bound=Callable[..., Any])

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = ("site-packages", "dist-packages")
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH = os.path.dirname(torch.__file__) + os.sep
_LAYERS = os.path.join(_TORCH, "nn", "modules") + os.sep
_BACKWARD = os.path.join(_TORCH, "autograd", "graph.py")


_edges: dict[int, CodeType] = {}
"""By identity: Python's hash of a code object reads all of it, at each frame that is asked about."""


def edge(function: F) -> F:
    """Marks a function of ours that calls the user's program: what called it is no part of that."""
    _edges[id(function.__code__)] = function.__code__
    return function


_USER, _US, _OTHERS = range(3)


@cache
def _owner(path: str) -> int:
    if path.startswith(_OURS):
        return _US
    if path.startswith((_TORCH, "<frozen ")):
        return _OTHERS
    return _OTHERS if path.startswith(_LIBRARY) and not any(name in path for name in _PACKAGES) else _USER


def users_frame() -> FrameType | None:
    """The innermost frame outside torch, this package and Python's own library."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        owner = _owner(code.co_filename)
        if owner == _USER:
            return frame
        if owner == _US and id(code) in _edges:
            return None
        frame = frame.f_back
    return None


def warn(text: str, category: type[Warning], otherwise: str) -> None:
    """Warns at the user's line, with its module's filters and memory; without one, at the place that is named."""
    frame = users_frame()
    if frame is None:
        warnings.warn_explicit(text, category, otherwise, 0)
        return
    names = frame.f_globals
    said = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, names.get("__name__"), said)


_old_calls: set[str] = set()


def warn_of_old_call(text: str) -> None:
    """Warns of a call that torch will not have for long, once in a process, as torch does."""
    if text not in _old_calls:
        _old_calls.add(text)
        warn(text, UserWarning, "torch")


def place() -> str:
    """The user's line, "train.py:31"; without one, that of the layer of torch. "(backward)" is in a backward pass."""
    frame: FrameType | None = sys._getframe(1)
    layer, backward = "", False
    while frame is not None and id(frame.f_code) not in _edges:
        path = frame.f_code.co_filename
        if _owner(path) == _USER:
            return line(frame) + (" (backward)" if backward else "")
        if path.startswith(_LAYERS) and not layer:
            layer = line(frame)
        backward = backward or path == _BACKWARD
        frame = frame.f_back
    return "(backward)" if backward else layer or "(no Python frame)"


def line(frame: FrameType) -> str:
    """As "train.py:31"."""
    path = frame.f_code.co_filename
    # The packages first: an environment may lie inside the folder one works in.
    for root in (*(p for p in sys.path if p.endswith(_PACKAGES)), os.getcwd()):
        if path.startswith(root + os.sep):
            path = path[len(root) + 1 :]
            break
    return f"{path}:{frame.f_lineno}"
