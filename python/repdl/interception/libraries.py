# SPDX-License-Identifier: MIT
"""Compiled ops outside of aten, torch's own and those of other libraries: nobody can see what they compute.

While somebody holds them, each raises, or does what `strict` says, unless libraries.toml has it, or the program
declares it. Kernels in Python are left alone: what they call of torch is dispatched. A kernel that a library puts in
the place of torch's, of aten, is taken as the library's own.

A few ops of such libraries have kernels of ours, declared in `vision`.
"""

from __future__ import annotations

import re
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from repdl.interception import devices, extensions, loading, registration, strict
from repdl.interception.exact import LAYOUTS
from repdl.interception.native import BACKENDS, Kernel, Native, registrations
from repdl.interception.override import of_libraries

Op = tuple[str, str]
"""A dispatch key and the overload, "quantized::linear", that has a kernel there."""

EXPLICIT, IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"
_COMPOSITES = (EXPLICIT, f"{EXPLICIT}NonFunctional", IMPLICIT, f"{IMPLICIT}NestedTensor")
_OUTER = ("Autograd", "AutogradCPU", "BackendSelect")
"""Keys above those of kernels: an op that has only these computes there."""

_PLACES = ("CPU", "CUDA", "XLA")
"""A composite is what is called at the first of these keys where an op has no kernel of its own."""


@cache
def _reasons() -> dict[str, str]:
    groups = tomllib.loads(Path(__file__).with_name("libraries.toml").read_text())
    return {op: group["reason"] for group in groups.values() for op in group["ops"].split()}


def why_runs(op: str) -> str | None:
    """Why a compiled op, "c10d::send", is used as it is; None if it is not."""
    return _reasons().get(op) or _reasons().get(op.partition(".")[0])


_lock = threading.RLock()
_holders: list[Callable[[], bool]] = []
_stubs: dict[Op, Callable[..., Any]] = {}
_libraries: list[torch.library.Library] = []
_undo = ExitStack()
_ours: set[str] = set()
"""The ops among these that have kernels of ours."""

_seen: tuple[list[str], int, int] | None = None
_looking = False

on_new: list[Callable[[list[Op]], None]] = []
"""Told what was taken over of a library that was loaded while somebody held the ops before."""


def hold(in_force: Callable[[], bool]) -> Callable[[], None]:
    """Takes over compiled ops until what it returns is called; they raise while one of the holders is in force."""
    with _lock:
        if not _holders:
            if _seen != _loaded():
                _stubs.clear()
                _ours.clear()
                _stubs.update(_found())
            _register(_stubs)
            _undo.enter_context(extensions.watched(_in_force))
            _undo.enter_context(loading.told(look, extensions.imported))
        _holders.append(in_force)

    def release() -> None:
        with _lock:
            _holders.remove(in_force)
            if not _holders:
                _undo.close()
                while _libraries:
                    _libraries.pop()._destroy()

    return release


def _in_force() -> bool:
    return any(in_force() for in_force in _holders)


def held() -> dict[Op, Callable[..., Any]]:
    """What is registered while somebody holds compiled ops."""
    with _lock:
        return dict(_stubs)


def is_held(op: str) -> bool:
    """Whether an overload is one of those that raise, or would if nobody had declared it."""
    return any(name == op for _, name in _stubs)


def has_kernel(op: str) -> bool:
    """Whether an op that is held has a kernel of ours."""
    return op in _ours


def look(everywhere: bool = True) -> None:
    """Takes over what came with a library: of all ops, or if there are new ones."""
    global _looking
    with _lock:
        if _looking or not _holders or not (everywhere or _seen is None or _names() != _seen[0]):
            return
        _looking = True
        try:
            new = _found()
            _stubs.update(new)
            _register(new)
        finally:
            _looking = False
        if new:
            for tell in on_new:
                tell(list(new))


def _names() -> list[str]:
    return torch._C._dispatch_get_registrations_for_dispatch_key("")


def _loaded() -> tuple[list[str], int, int]:
    """What changes when a library is loaded."""
    return _names(), len(sys.modules), len(torch.ops.loaded_libraries)


def _found() -> dict[Op, Callable[..., Any]]:
    """The compiled kernels on top of which none of ours is; of aten, those that are not torch's."""
    global _seen
    _seen = _loaded()
    found = {}
    for key, name, place in _kernels():
        if why_runs(name) is None and _has_tensors(name):
            native = Native(name, place)
            if _is_compiled(_file(native.kernel)):
                found[key, name] = _stub(name, native, "device" if key.endswith(BACKENDS) else "library")
    for name in registrations("CPU"):
        if name.startswith("aten::"):
            file = _file(torch._C._dispatch_get_computed_kernel_for_dispatch_key(name, torch._C.DispatchKey.CPU))
            if _IN_TORCH not in file and _is_compiled(file):
                found["CPU", name] = _stub(name, Native(name, "CPU"), "library")
    found.update((("CPU", name), kernel) for name, kernel in _found_of_ours())
    return found


def _found_of_ours() -> Iterator[tuple[str, Kernel]]:
    """Our kernels of the ops that libraries have defined, unless they are on top already."""
    for declared in of_libraries:
        name = declared.name
        if not declared.is_there():
            continue
        native: Kernel = partial(_no_kernel, name)
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"):
            native = Native(name, "CPU")
            if name in _ours and not _is_compiled(_file(native.kernel)):
                continue
        _ours.add(name)
        yield name, declared.override.bind(native)


def _no_kernel(name: str, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(f"{name} has no kernel for the CPU")


def _kernels() -> Iterator[tuple[str, str, str]]:
    """The kernels outside of aten: their dispatch key, the overload, and a key at which the dispatcher calls them."""
    known: set[str] = set()
    for key in ("CPU", *LAYOUTS, *devices.dispatch_keys()):
        names = _others(key)
        known.update(names)
        for name in names:
            yield key, name, key
    for key in _COMPOSITES:
        for name in _others(key):
            known.add(name)
            places = (place for place in _PLACES if not torch._C._dispatch_has_kernel_for_dispatch_key(name, place))
            yield key, name, next(places, "Undefined")
    for key in _OUTER:
        for name in set(_others(key)) - known:
            yield key, name, "AutogradCPU" if key == "Autograd" else key


def _others(key: str) -> list[str]:
    return [name for name in registrations(key) if not name.startswith(("aten::", "prims::", "repdl::"))]


@cache
def _has_tensors(name: str) -> bool:
    """Whether an op takes or gives tensors; one without a schema cannot be called."""
    packet, _, overload = name.partition(".")
    for schema in torch._C._jit_get_schemas_for_operator(packet):
        if schema.overload_name == overload:
            return any(_TENSOR.search(str(value.type)) for value in (*schema.arguments, *schema.returns))
    return False


_TENSOR = re.compile(r"(^|[^.\w])(Tensor|Any)\b")


_IN_TORCH = "aten/src/ATen/"
"""In the names of the files that register torch's kernels of aten."""


def _file(kernel: Any) -> str:
    """The file that registered a kernel, of which the dispatcher keeps the name."""
    return repr(kernel).partition("registered at ")[2].rpartition(":")[0]


def _is_compiled(file: str) -> bool:
    return not file.endswith((".py", ".pyc")) and not file.startswith("<")


def _register(stubs: dict[Op, Callable[..., Any]]) -> None:
    _libraries.extend(registered(stubs))


def registered(kernels: dict[Op, Callable[..., Any]]) -> Iterator[torch.library.Library]:
    """Registers kernels of several namespaces."""
    by_namespace: dict[str, dict[str, dict[str, Callable[..., Any]]]] = {}
    for (key, name), kernel in kernels.items():
        namespace, _, op = name.partition("::")
        by_namespace.setdefault(namespace, {}).setdefault(key, {})[op] = kernel
    for namespace, of_namespace in by_namespace.items():
        yield registration.register(of_namespace, namespace)


def _stub(name: str, native: Native, why: str) -> Callable[..., Any]:
    def raise_or_run(*args: Any, **kwargs: Any) -> Any:
        if _in_force() and _has_numbers([*args, *kwargs.values()]):
            return strict.not_reproducible(name, args, kwargs, native, why)
        return native(*args, **kwargs)

    return raise_or_run


def _has_numbers(values: list[Any]) -> bool:
    """Not if every tensor is one of a shape alone, as where a program is traced."""
    tensors = [value for value in strict.flat(values) if isinstance(value, torch.Tensor)]
    return not tensors or not all(t.is_meta or type(t).__name__ == "FakeTensor" for t in tensors)
