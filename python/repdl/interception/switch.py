# SPDX-License-Identifier: MIT
"""Turns the overrides on and off: `enable`, `disable`, `reproducible`.

One torch.library.Library holds every override while at least one `enable` is in force. Registered are, at the CPU key
and at those of tensors that are not dense, our kernels, and for each other op that is not exact one that asks `strict`
what to do.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache, wraps
from typing import Any, TypeVar

import torch

from repdl import _order
from repdl.interception import (
    aten,
    children,
    declared,
    devices,
    distributed,
    libraries,
    machine,
    memory,
    python_math,
    seeding,
    settings,
    strict,
    torchscript,
    versions,
    vision as vision,
    writes,
)
from repdl.interception.exact import LAYOUTS, hidden, why_exact
from repdl.interception.native import is_there, lists_kept, native_of, registered_names
from repdl.interception.override import (
    composites,
    composites_on_devices,
    in_place_of_natives,
    layouts,
    of_transforms,
    overrides,
    recorded,
)
from repdl.interception.registration import register

F = TypeVar("F", bound=Callable[..., Any])

STREAMS = ("philox", "torch")

_lock = threading.RLock()
_enabled: list[_Enabled] = []
_by_enable: _Enabled | None = None
_libraries: list[torch.library.Library] = []
_undo = ExitStack()


class _Enabled:
    """`enable`, or one `reproducible`, in force."""

    def __init__(self, level: str, order: str | None, rng: str) -> None:
        self.level, self.order, self.rng = level, order, rng


def enable(strict: str | None = None, order: str | None = None, rng: str = "philox") -> None:
    """Makes all of torch's operations in this process reproducible, or raise.

    Forward, backward and optimizer of an unchanged program get the same bits on every machine. A second call takes the
    place of the first: one `disable` ends both.

    Args:
        strict: what an operation without a reproducible kernel does: "error" raises NotReproducibleError, "warn" warns
            once and "off" silently runs torch's own. None is what the environment variable REPDL_STRICT
            said when this module was loaded, or "error".
        order: "blocked" or "sequential", the order of sums; None leaves the current one.
        rng: "philox", counter-based random numbers keyed by torch's generators; or "torch", what torch's CPU generator
            draws, for programs whose published results began from `torch.manual_seed`.

    Raises:
        ValueError: for other values, or if the process has a setting that changes bits (flushing of subnormals, reduced
            precision); the message says which.
    """
    global _by_enable
    with _lock:
        before = _by_enable
        entry = _Enabled(_level(strict), order or (None if before is None else before.order), rng)
        _enter(entry)
        _by_enable = entry
        if before is not None:
            _leave(before)


def disable() -> None:
    """Takes back `enable`: restores torch's own kernels, bits and speed, unless a `reproducible` is in force.

    Nothing happens if nothing is enabled.
    """
    global _by_enable
    with _lock:
        if _by_enable is not None:
            _leave(_by_enable)
            _by_enable = None


def is_enabled() -> bool:
    """Whether torch's operations are reproducible now."""
    return bool(_enabled)


def rng_in_force() -> str:
    """Where random numbers come from: set by the latest `enable` or `reproducible` still in force."""
    return _enabled[-1].rng if _enabled else STREAMS[0]


def reproducible(strict: str | None = None, order: str | None = None, rng: str = "philox") -> Block:
    """`with repdl.reproducible():` enables in a block or decorated function; arguments as for `enable`.

    It acts on the whole process, nests, is counted, and may be used by several threads at once: then the level, the
    stream and the order of the block that was entered last hold in all of them, but a block with an order of its own
    computes in that.

    Raises:
        TypeError: as a decorator without parentheses, or of a generator function or `async def`, whose body runs after
            the call that is decorated: have the block inside.
    """
    if callable(strict):
        raise TypeError("[reproducible] a decorator of it has parentheses: @repdl.reproducible()")
    return Block(strict, order, rng)


class Block(AbstractContextManager[None]):
    """What `reproducible` gives."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._entered: list[AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        self._entered.append(_in_force(*self._arguments))
        self._entered[-1].__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._entered.pop().__exit__(*error)

    def __call__(self, function: F) -> F:
        """As a decorator."""
        for is_of_kind, kind in _RUN_LATER.items():
            if is_of_kind(function):
                name = getattr(function, "__qualname__", function)
                raise TypeError(
                    f"[reproducible] {name} is {kind}, whose body runs after the call that is decorated; have "
                    "`with repdl.reproducible():` inside it"
                )

        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with _in_force(*self._arguments):
                return function(*args, **kwargs)

        return within  # type: ignore[return-value]


_RUN_LATER = {
    inspect.isgeneratorfunction: "a generator function",
    inspect.iscoroutinefunction: "a coroutine function",
    inspect.isasyncgenfunction: "an asynchronous generator function",
}


@contextmanager
def _in_force(strict: str | None, order: str | None, rng: str) -> Iterator[None]:
    entry = _Enabled(_level(strict), order, rng)
    _enter(entry)
    try:
        with nullcontext() if order is None else _order.order(order):
            yield
    finally:
        with _lock:
            _leave(entry)


def _level(given: str | None) -> str:
    chosen = given or strict.DEFAULT_LEVEL
    if chosen not in strict.LEVELS:
        source = "strict" if given else "the environment variable REPDL_STRICT"
        raise ValueError(f"{source} must be one of {strict.LEVELS}, got {chosen!r}")
    return chosen


def _enter(entry: _Enabled) -> None:
    if entry.rng not in STREAMS:
        raise ValueError(f"rng must be one of {STREAMS}, got {entry.rng!r}")
    if entry.order is not None:
        _order.check_order(entry.order)
    versions.tell_once()
    _watch_cuda()  # outside of our lock: CUDA has one of its own, under which it calls back
    with _lock:
        if entry.level == "error":
            settings.check()
        if not _enabled:
            _install()
        if entry.order is not None:
            _order.push_order(entry, entry.order)
        strict.push_level(entry, entry.level)
        _enabled.append(entry)
        aten.random.use_stream(rng_in_force())


def _leave(entry: _Enabled) -> None:
    _enabled.remove(entry)
    strict.pop_level(entry)
    _order.pop_order(entry)
    aten.random.use_stream(rng_in_force())
    if not _enabled:
        _uninstall()


def _install() -> None:
    with lists_kept():
        ours = kernels() | _of_devices(devices.dispatch_keys())
        _libraries.append(register(ours, native_of_integers=_native_of_integers))
        _libraries.append(register({"CPU": distributed.kernels()}, "c10d"))
        _undo.callback(libraries.hold(is_enabled))
    for change in (
        settings.route,
        settings.full_precision,
        memory.filled,
        machine.hidden,
        writes.defined,
        python_math.ours,
        seeding.told,
        torchscript.as_written,
        torchscript.filled,
    ):
        _undo.enter_context(change())
    _undo.enter_context(children.told(_enable_in_child, _of_child))


def _of_child() -> tuple[Any, ...]:
    return strict.level(), _order.get_order(), rng_in_force(), dict(declared.reasons)


def _enable_in_child(level: str, order: str, rng: str, reasons: dict[str, str]) -> None:
    declared.reasons.update(reasons)
    enable(level, order, rng)


over_all: list[Callable[[], None]] = []
"""What registers kernels that belong on top of all others, again: while `audit` records, say."""


def put_on_top() -> None:
    for put in over_all:
        put()


def _uninstall() -> None:
    while _libraries:
        _libraries.pop()._destroy()
    _undo.close()


@cache
def _watch_cuda() -> None:
    devices.when_cuda_starts(_take_cuda)


def _take_cuda() -> None:
    """Takes over the kernels of CUDA too, which the program begins to use."""
    with _lock:
        if _enabled:
            cuda = [key for key in devices.dispatch_keys() if key.endswith(devices.SERVED)]
            _libraries.append(register(_of_devices(cuda)))
            libraries.look()


COMPOSITE = "CompositeImplicitAutograd"

MAPPED = ("FuncTorchBatchedDecomposition", "FuncTorchVmapMode")
"""Where torch has composites of its own for `torch.vmap`; a row would be made in other steps than one alone."""

RECORDED = "AutogradCPU"

_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key


@cache
def kernels() -> dict[str, dict[str, Callable[..., Any]]]:
    """What is registered, by dispatch key and overload. Made once: from then on torch's own kernels are hidden."""
    found = {"CPU": _dense()} | {key: _of_layout(key) for key in LAYOUTS} | {COMPOSITE: _made_of_others(composites)}
    found |= {key: _made_of_others(declared) for key, declared in of_transforms.items()}
    found[RECORDED] = _made_of_others(recorded)
    for key in MAPPED:
        found[key] = {
            name: function for name, function in found[COMPOSITE].items() if _has_kernel(f"aten::{name}", key)
        }
    for key in found:
        for name in found[key]:
            hidden_by(key, name)  # for `local`, which may come to it when ours is on top
    return found


def hidden_by(key: str, name: str) -> Callable[..., Any]:
    """torch's kernel in the place of which ours is registered."""
    if key == RECORDED:
        return recorded[name].pass_on
    return native_of(name, "CPU" if key in (COMPOSITE, *MAPPED, *of_transforms) else key)


def _made_of_others(declared: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {name: function for name, function in declared.items() if is_there(name)}


def _dense() -> dict[str, Callable[..., Any]]:
    found = _ours() | memory.kernels()
    for name in registered_names():
        if name not in found and why_exact(name) is None and name != "detach":
            found[name] = _stub(name, native_of(name))
    return found


@cache
def _ours() -> dict[str, Callable[..., Any]]:
    """Our kernels of dense tensors, on the CPU and, where their ops have kernels there, on CUDA devices."""
    found: dict[str, Callable[..., Any]] = {}
    for override in overrides.values():
        takes_natively = override.takes_natively()
        for name, kernel in override.kernels(native_of(override.name)):
            if name != override.name and name in found:
                continue
            found[name] = kernel
            _natively.discard(name)
            # torch's own kernels that write over an operand read it while they do, unless each element is by itself.
            if takes_natively and (name == override.name or override.elementwise):
                _natively.add(name)
    return found


_natively: set[str] = set()
"""The overloads of `_ours` of which torch's own kernel is called for integers."""


def _native_of_integers(name: str, kernel: Callable[..., Any]) -> Any:
    """torch's own kernel, in the place of this one of ours for calls with integers alone; or None."""
    if name not in _natively or _ours()[name] is not kernel:
        return None
    return native_of(name).kernel


def _of_layout(key: str) -> dict[str, Callable[..., Any]]:
    """For tensors that are not dense. torch needs its own kernel of `detach`."""
    found = {name: kernel for name, kernel in layouts.get(key, {}).items() if is_there(name)}
    for name in registered_names(key):
        if name not in found and why_exact(name, key) is None and name != "detach":
            found[name] = _stub(name, native_of(name, key), "layout")
    for name in filter(is_there, hidden(key)):
        found[name] = _stub(name, settings.with_onednn(native_of(name, key)), "layout")
    return found


def _of_devices(keys: list[str]) -> dict[str, dict[str, Callable[..., Any]]]:
    """What is registered at the keys of devices in use; and for all, what torch makes of other steps on these."""
    found = {key: _of_device(key) for key in keys}
    if devices.SERVED in keys:
        found[COMPOSITE] = _made_of_others(composites | composites_on_devices)
        found[f"Autograd{devices.SERVED}"] = _made_of_others(recorded)
    return found


@cache
def _of_device(key: str) -> dict[str, Callable[..., Any]]:
    return devices.kernels(key, _ours(), in_place_of_natives())


def _stub(name: str, native: Callable[..., Any], why: str | None = None) -> Callable[..., Any]:
    def raise_or_run(*args: Any, **kwargs: Any) -> Any:
        return strict.not_reproducible(name, args, kwargs, native, why)

    return raise_or_run
