# SPDX-License-Identifier: MIT
"""What happens to an op whose bits nobody promises: the error, the warning, the permission."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from repdl import _core
from repdl._context import InContext
from repdl.interception.declared import why_declared
from repdl.interception.dtypes import OTHER, kinds_of, map_tensors
from repdl.interception.native import native_of, overload, packet, qualified
from repdl.interception.remedies import remedies

LEVELS = ("error", "warn", "off")

DEFAULT_LEVEL = os.environ.get("REPDL_STRICT") or "error"
"""Where none is given. The variable is read once; what it says is checked where it is used."""

_lock = threading.Lock()
_levels: list[tuple[object, str]] = []
_warned: set[str] = set()
_reason: InContext[str] = InContext("repdl_allow_native")


class NotReproducibleError(RuntimeError):
    """An operation whose result would depend on the machine, and for which there is no reproducible kernel.

    Attributes:
        op: the overload, "aten::special_bessel_j0".
        device: of its first tensor, or None.
        tensors: dtype and shape of each tensor, "float32[2, 3]", and its layout if it is not dense.
        reason: "reduction", "transcendental", "random", "dtype", "layout", "device", "library", "extension" or
            "unknown".
        remedy: what to do instead, in words.

    Like any RuntimeError it is made from its text alone. Others do that to add words of theirs, a DataLoader with the
    error of a worker for one, and such an error has the text and not the attributes.
    """

    op: str = ""
    device: str | None = None
    tensors: tuple[str, ...] = ()
    reason: str = "unknown"
    remedy: str = ""

    @classmethod
    def of(cls, op: str, device: str | None, tensors: tuple[str, ...], reason: str) -> NotReproducibleError:
        of = f" of {', '.join(tensors)}" if tensors else ""
        on = f" on {device}" if device else ""
        remedy = _remedy(op, reason, tensors)
        error = cls(f"[{op}]{of}{on} is not reproducible ({REASONS[reason]}). {remedy}")
        error.op, error.device, error.tensors, error.reason, error.remedy = op, device, tensors, reason, remedy
        return error


REASONS = {
    "reduction": "the order of its sums depends on the machine",
    "transcendental": "its functions are rounded differently by different machines",
    "random": "its numbers depend on the machine",
    "dtype": "there is no kernel for these dtypes, and torch's own depends on the machine",
    "layout": "there is no kernel for tensors of this layout",
    "device": "there is no kernel for this device, and torch's own depends on it",
    "library": "it is compiled code of a library, which may compute otherwise on another machine",
    "extension": "it is compiled code of an extension module, which may compute otherwise on another machine",
    "unknown": "nobody has shown that torch's kernel gives the same bits everywhere",
}
_PERMIT = 'use `with repdl.allow_native("why"):` where its bits do not matter, or strict="warn"'
_OR_PERMIT = f"; or {_PERMIT}."
_PARTS = f"Compute with its parts, which torch.view_as_real gives; or {_PERMIT}."
_REMEDIES = {
    "complex32": f"Convert to complex64; or {_PERMIT}.",
    "complex64": _PARTS,
    "complex128": _PARTS,
    "random": f'Draw with `repdl.enable(rng="philox")`, if it is not what is in force; or {_PERMIT}.',
    "dtype": f"Convert to float32, bfloat16 or float16; or {_PERMIT}.",
    "layout": f"Convert with .to_dense(), .to_padded_tensor() or .dequantize(); or {_PERMIT}.",
    "device": f"Move its tensors to the CPU, with .cpu(); or {_PERMIT}.",
    "library": 'If it gives the same bits everywhere, say so: `repdl.declare("{op}", "why")`, which '
    f"`repdl.conformance.check_declared` tries; or {_PERMIT}.",
    "extension": f'If it gives the same bits everywhere, say so: `repdl.declare("{{op}}", "why")`; or {_PERMIT}.',
}


def _remedy(op: str, reason: str, tensors: tuple[str, ...]) -> str:
    known = remedies().get(op_of(op.removeprefix("aten::")))
    if known is not None and reason not in ("dtype", "device"):
        return f"{known}; or {_PERMIT}."
    kinds = [reason]
    if reason == "dtype":
        kinds[:0] = [tensor.partition("[")[0] for tensor in tensors]
    said = next((_REMEDIES[kind] for kind in kinds if kind in _REMEDIES), f"No other call gives it here: {_PERMIT}.")
    return said.replace("{op}", op if reason == "extension" else packet(op))


class NotReproducibleWarning(UserWarning):
    """Given once for each op by `repdl.enable(strict="warn")`."""


@dataclass(frozen=True)
class Permission:
    """A call that `allow_native` let through."""

    op: str
    reason: str


permissions: dict[Permission, int] = {}
"""How often each op ran natively, by op and reason given."""

watch: Callable[[str, str | None, str | None], None] | None = None
"""Set while `audit` records, and nothing raises: told why a call is not reproducible, its permission, and what was
declared of the op."""


def push_level(token: object, level: str) -> None:
    if level not in LEVELS:
        raise ValueError(f"strict must be one of {LEVELS}, got {level!r}")
    with _lock:
        _levels.append((token, level))


def pop_level(token: object) -> None:
    with _lock:
        _levels[:] = [entry for entry in _levels if entry[0] is not token]


def level() -> str:
    """That of the latest `enable` or `reproducible` still in force; without one, that of converted models."""
    return _levels[-1][1] if _levels else DEFAULT_LEVEL


@contextmanager
def allow_native(reason: str) -> Iterator[None]:
    """Lets operations without a reproducible kernel run with torch's own, in this block (or decorated function).

    It holds in this thread or task; what ran is counted in `repdl.interception.permissions` and told by `repdl.audit`.
    Operations that have a reproducible kernel keep it. A backward pass needs its own permission, and the caller of a
    generator that is suspended within the block has none.

    Raises:
        ValueError: without a reason.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError('[allow_native] reason must say why the bits do not matter: allow_native("only for a plot")')
    with _reason.set(reason):
        yield


def not_reproducible(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    native: Callable[..., Any],
    why: str | None = None,
) -> Any:
    """What an op without a reproducible kernel does: raise, warn once, or run torch's own kernel.

    It runs too if it was declared, but not on another device.
    """
    op = qualified(name)
    claim = why_declared(op) if why != "device" else None
    if claim is not None:
        if watch is not None:
            watch(why or reason_of(name), None, claim)
        return native(*args, **kwargs)
    reason = _reason.get()
    if reason is not None:
        _count(Permission(op, reason))
    if watch is not None:
        watch(why or reason_of(name), reason, None)
    if watch is not None or reason is not None:
        return _run_native(name, native, args, kwargs)
    now = level()
    if now == "off":
        return _run_native(name, native, args, kwargs)
    error = _describe(name, args, kwargs, why)
    if now != "warn":
        if why == "dtype":
            _raise_as_torch(name, native, args, kwargs, error.remedy)
        raise error
    _warn_once(name, str(error))
    return _run_native(name, native, args, kwargs)


def _raise_as_torch(
    name: str, native: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], remedy: str
) -> None:
    """Raises torch's own error where it has no kernel for these dtypes either: a permission would be no remedy."""
    try:
        with _without_traces(name, args, kwargs) as (others, named):
            _run_native(name, native, others, named)
    except NotReproducibleError:  # of a step of it
        return
    except Exception as error:
        error.add_note(f"[{qualified(name)}] {remedy.removesuffix(_OR_PERMIT)}.")
        raise


@contextmanager
def _without_traces(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[Sequence[Any], Mapping[str, Any]]]:
    """The arguments with copies of what the op writes to; afterwards the generators are as they were."""
    written = {
        at
        for place, argument in enumerate(overload(name)._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
        for at in (place, argument.name)
    }
    generators = [g for g in (torch.default_generator, *args, *kwargs.values()) if isinstance(g, torch.Generator)]
    states = [g.get_state() for g in generators]
    try:
        yield (
            [_copied(value) if at in written else value for at, value in enumerate(args)],
            {key: _copied(value) if key in written else value for key, value in kwargs.items()},
        )
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def _copied(value: Any) -> Any:
    return map_tensors(torch.clone, value)


def _count(used: Permission) -> None:
    with _lock:
        permissions[used] = permissions.get(used, 0) + 1


def _warn_once(name: str, message: str) -> None:
    with _lock:
        first = name not in _warned
        _warned.add(name)
    if first:
        warnings.warn(message, NotReproducibleWarning, stacklevel=4)


OVERLAPPING = "a write to elements that share memory"


def refuses_overlap() -> bool:
    """Whether torch is to refuse, in its own words, a write to elements that share memory, with what is read too."""
    reason = _reason.get()
    if reason is not None:
        _count(Permission(OVERLAPPING, reason))
    if watch is not None or reason is not None or level() == "off":
        return False
    if level() == "warn":
        _warn_once(OVERLAPPING, f"{OVERLAPPING} is not reproducible: nothing says which comes first. Use a .clone()")
        return False
    return True


_running: dict[int, list[tuple[str, bool]]] = {}
"""By thread, the ops whose kernels of torch's own run, and whether only because these are exact for integers."""


def with_variants(name: str, native: Callable[..., Any], of_integers: bool = True) -> Callable[..., Any]:
    """torch's own kernel of an op, within which its variants, or those of integers, are torch's own too: see
    `native_within`."""
    entry = op_of(name), of_integers

    def run(*args: Any, **kwargs: Any) -> Any:
        here = _running.setdefault(threading.get_ident(), [])
        here.append(entry)
        try:
            return native(*args, **kwargs)
        finally:
            here.pop()
            if not here:
                _running.pop(threading.get_ident(), None)

    return run


def _run_native(name: str, native: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    # A kernel that Python calls keeps the interpreter to itself. What its threads call, to allocate memory say, has
    # kernels in Python: each would wait for the interpreter, and this thread for them. So it has no others.
    threads = _core.set_openmp_threads(1)
    try:
        return with_variants(name, native, of_integers=False)(*args, **kwargs)
    finally:
        _core.set_openmp_threads(threads)


def op_of(name: str) -> str:
    """What an overload has in common with its in-place and out= variants: "exp" of "exp_" and "exp.out"."""
    return packet(name).rstrip("_")


def runs_native(name: str) -> bool:
    """Whether this thread runs torch's own kernel of an op, or of a variant of it, for what was not reproducible."""
    return bool(_running) and (op_of(name), False) in _running.get(threading.get_ident(), ())


def _runs_of_integers(name: str, values: Sequence[Any]) -> bool:
    """Whether it runs for integers, and these are such: no operand, number or result is a floating-point one."""
    return (
        (op_of(name), True) in _running.get(threading.get_ident(), ())
        and not kinds_of(values) & ~OTHER
        and not any(isinstance(value, float | complex) for value in values)
    )


def native_within(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of ours, but torch's own within torch's own of the same op, which is often made of its variants.

    Ours would ask there for the very kernel that runs, without end.
    """

    def choose(*args: Any, **kwargs: Any) -> Any:
        if _running and (runs_native(name) or _runs_of_integers(name, [*args, *kwargs.values()])):
            return native_of(name)(*args, **kwargs)
        return kernel(*args, **kwargs)

    return choose


def _describe(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], why: str | None) -> NotReproducibleError:
    tensors = [value for value in flat([*args, *kwargs.values()]) if isinstance(value, torch.Tensor)]
    device = str(tensors[0].device) if tensors else None
    return NotReproducibleError.of(qualified(name), device, tuple(map(_shown, tensors)), why or reason_of(name))


def _shown(tensor: torch.Tensor) -> str:
    text = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_nested:
        return f"nested {text}[{tensor.size(0)}]"
    layout = "" if tensor.layout == torch.strided else str(tensor.layout).removeprefix("torch.").lstrip("_") + " "
    return f"{layout}{text}{list(tensor.shape)}"


def flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def reason_of(name: str) -> str:
    """Why torch's kernel of an overload is not trusted, from its tags."""
    tags = overload(name).tags
    if torch.Tag.nondeterministic_seeded in tags:
        return "random"
    if torch.Tag.reduction in tags:
        return "reduction"
    if torch.Tag.pointwise in tags:
        return "transcendental"
    return "unknown"
