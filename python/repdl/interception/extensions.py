# SPDX-License-Identifier: MIT
"""Functions of extension modules that take or give tensors and do not come by torch's dispatcher: those of pybind11.

A library that compiles its own kernels with torch.utils.cpp_extension calls them so, often with `-march=native`. While
the ops of libraries are held, each such function of a module that was built against torch is replaced in it by one that
raises, or does what `strict` says, unless it was declared: `repdl.declare("package.module::function", "why")`.
"""

from __future__ import annotations

import functools
import gc
import mmap
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ExtensionFileLoader
from types import BuiltinFunctionType, ModuleType
from typing import Any

import torch

from repdl.interception import strict

Function = Callable[..., Any]

recorded: Callable[[str, Function], Function] | None = None
"""Set while `audit` records: makes of a function, by name, one that tells of its call."""

_in_force: Callable[[], bool] | None = None
_replaced: list[tuple[ModuleType, str, Function, Function]] = []

_met: weakref.WeakSet[ModuleType] = weakref.WeakSet()
_searched: dict[str, Any] = {}
"""What torch.utils.cpp_extension had loaded when its modules were searched for last."""

_TORCH = {"torch", "functorch", "repdl"}
"""Packages whose functions are not another library's."""


@contextmanager
def watched(in_force: Callable[[], bool]) -> Iterator[None]:
    """In this block, the functions of modules that are there raise while it is in force; of others, see `imported`."""
    global _in_force
    _in_force = in_force
    for module in _there():
        imported(module)
    try:
        yield
    finally:
        _in_force = None
        while _replaced:
            module, name, original, ours = _replaced.pop()
            if vars(module).get(name) is ours:
                setattr(module, name, original)


def _there() -> list[Any]:
    """The modules of the process. torch.utils.cpp_extension keeps what it loads out of sys.modules."""
    global _searched
    there = [*sys.modules.values(), *_met]
    extensions = sys.modules.get("torch.utils.cpp_extension")
    loaded = {} if extensions is None else dict(extensions.JIT_EXTENSION_VERSIONER.entries)
    if loaded != _searched:
        _searched = loaded
        there += [value for value in gc.get_objects() if issubclass(type(value), ModuleType)]
    return there


def imported(module: Any) -> None:
    """Replaces the functions of a module, if it is one of those that are meant."""
    loader = getattr(vars(module).get("__spec__"), "loader", None) if issubclass(type(module), ModuleType) else None
    if not isinstance(loader, ExtensionFileLoader) or module.__name__.partition(".")[0] in _TORCH:
        return
    functions = {name: value for name, value in vars(module).items() if _is_bound(value)}
    if not functions or not _takes_tensors(loader.path):
        return
    _met.add(module)
    for name, original in functions.items():
        ours = _stub(f"{module.__name__}::{name}", original)
        _replaced.append((module, name, original, ours))
        setattr(module, name, ours)


def is_held(name: str) -> bool:
    """Whether it is the name of a function that was replaced."""
    return any(f"{module.__name__}::{function}" == name for module, function, _, _ in _replaced)


def _is_bound(value: Any) -> bool:
    """Whether it is a function in C that has its own object in the place of the module, as those of pybind11 have."""
    return isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, (ModuleType, type, type(None)))


@cache
def _takes_tensors(path: str) -> bool:
    """Whether a file was linked with the part of torch that makes a C++ tensor of one in Python, and the reverse."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.find(b"torch_python") >= 0
    except (OSError, ValueError):  # it is gone
        return False


def _stub(name: str, original: Function) -> Function:
    def refused(*args: Any, **kwargs: Any) -> Any:
        return strict.not_reproducible(name, args, kwargs, original, "extension")

    @functools.wraps(original)
    def raise_or_run(*args: Any, **kwargs: Any) -> Any:
        if _in_force is None or not _in_force():
            return original(*args, **kwargs)
        if _has_tensors([*args, *kwargs.values()]):
            return _told(name, refused)(*args, **kwargs)
        result = original(*args, **kwargs)
        if not _has_tensors([result]):
            return result
        return _told(name, lambda: strict.not_reproducible(name, (), {}, lambda: result, "extension"))()

    return raise_or_run


def _told(name: str, function: Function) -> Function:
    return function if recorded is None else recorded(name, function)


def _has_tensors(values: list[Any]) -> bool:
    """Not if each is one of a shape alone, as where a program is traced."""
    tensors = [value for value in strict.flat(values) if isinstance(value, torch.Tensor)]
    return any(not (tensor.is_meta or type(tensor).__name__ == "FakeTensor") for tensor in tensors)
