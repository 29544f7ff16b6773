# SPDX-License-Identifier: MIT
"""Functions of extension modules that take or give tensors and do not come by torch's dispatcher: those of pybind11.

A library that compiles its own kernels with torch.utils.cpp_extension calls them so, often with `-march=native`. While
the ops of libraries are held, each such function of a module that was built against torch is replaced in it by one that
raises, or does what `strict` says, unless it was declared: `repdl.declare("package.module::function", "why")`. So are
the methods of its classes, `package.module::Class.method`, the functions of modules within it, and names that other
modules have for the functions. Attributes that are read by a function, and what a program keeps elsewhere, in a list or
a partial, are not.
"""

from __future__ import annotations

import functools
import gc
import mmap
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ExtensionFileLoader
from types import BuiltinFunctionType, ModuleType
from typing import Any

import torch

from repdl.interception import strict

Function = Callable[..., Any]


@dataclass(frozen=True)
class _Replaced:
    """What stands in the place of an attribute of a module or of a class.

    name: what `repdl.declare` takes, "module::function".
    """

    owner: Any
    attribute: str
    name: str
    original: Any
    ours: Any

    def give_back(self) -> None:
        if vars(self.owner).get(self.attribute) is self.ours:
            setattr(self.owner, self.attribute, self.original)


recorded: Callable[[str, Function], Function] | None = None
"""Set while `audit` records: makes of a function, by name, one that tells of its call."""

_in_force: Callable[[], bool] | None = None
_replaced: list[_Replaced] = []

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
    _replace_other_names()
    try:
        yield
    finally:
        _in_force = None
        while _replaced:
            _replaced.pop().give_back()


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
    found = [
        (owner, name, prefix + name, value)
        for owner, prefix in _owners(module)
        for name, value in vars(owner).items()
        if _is_bound(_function_of(value))
    ]
    if not found or not _takes_tensors(loader.path):
        return
    _met.add(module)
    for owner, attribute, name, original in found:
        stub = _stub(name, _function_of(original))
        _replace(owner, attribute, name, staticmethod(stub) if isinstance(original, staticmethod) else stub)


def _owners(module: ModuleType) -> Iterator[tuple[Any, str]]:
    """The module, its classes and the modules within it, and how the names of their functions begin."""
    yield module, f"{module.__name__}::"
    for value in vars(module).values():
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                yield value, f"{module.__name__}::{value.__qualname__}."
        elif type(value) is ModuleType and value.__name__.startswith(f"{module.__name__}.") and value.__spec__ is None:
            yield from _owners(value)


def _replace(owner: Any, attribute: str, name: str, ours: Any) -> None:
    _replaced.append(_Replaced(owner, attribute, name, vars(owner)[attribute], ours))
    setattr(owner, attribute, ours)


def _replace_other_names() -> None:
    """Those by which other modules took functions before."""
    ours = {id(entry.original): entry for entry in _replaced if isinstance(entry.owner, ModuleType)}
    if not ours:
        return
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            for attribute, value in list(vars(module).items()):
                if (entry := ours.get(id(value))) is not None:
                    _replace(module, attribute, entry.name, entry.ours)


def is_held(name: str) -> bool:
    """Whether it is the name of a function that was replaced, or of a class with such methods."""
    return any(entry.name == name or entry.name.startswith(f"{name}.") for entry in _replaced)


def _function_of(value: Any) -> Any:
    """The function of a method or a static one, as pybind11 makes them."""
    is_method = isinstance(value, staticmethod) or type(value).__name__ == "instancemethod"
    return value.__func__ if is_method else value


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
