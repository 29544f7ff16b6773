# SPDX-License-Identifier: MIT
"""`save`, `load` and `read`."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from repdl.checkpoint import file, generators, settings
from repdl.checkpoint.errors import CheckpointError
from repdl.checkpoint.tree import Decoder, Encoder, first_difference

_Path = str | os.PathLike[str]

_STATE, _VALUE = "state", "value"


def save(path: _Path, /, **parts: Any) -> None:
    """Writes a checkpoint: the states of the parts, of every generator, and the settings that bits depend on.

    `save("run.ckpt", model=model, optimizer=optimizer, scheduler=scheduler, sampler=sampler, best=0.71)`

    The file at `path` is replaced in one step, when the new one is on the disk: a process that is killed at any time
    leaves the one or the other, whole. It may also leave an unfinished one beside it, which nothing reads; its name
    begins with a dot.

    Save between steps. What no state has is not saved: gradients that are being accumulated, buffers that are not
    persistent, whether a module trains, the program.

    Args:
        path: of the file.
        parts: by names of your choice: anything with `state_dict` and `load_state_dict` (models, optimizers,
            schedulers, a GradScaler, a `ResumableBatchSampler`, a StatefulDataLoader), or a torch.Generator, whose
            states are saved; and values, which `load` returns. Values and states may hold None, bool, integers, floats,
            complex numbers, texts, bytes, lists, tuples, dicts with keys of texts, integers, bool or None, dense
            tensors and NumPy arrays of numbers; all come back exactly. Tensors come back on the CPU.

    Raises:
        TypeError: for what a checkpoint does not hold, naming where it is; for what is no path.
        ValueError: for what holds itself, for texts that are not Unicode, for too much outside of tensors, or for a
            path that is a device or a pipe.
        OSError: if the file cannot be written.
    """
    _check_path("save", path)
    encoder = Encoder()
    encoded = {}
    try:
        for name, part in parts.items():
            if not name.isidentifier():
                raise ValueError(f"[checkpoint.save] the name of a part must be an identifier, got {name!r}")
            access = _access(part)
            kind, value = (_VALUE, part) if access is None else (_STATE, access[0]())
            encoded[name] = [kind, encoder.encode(value, name)]
        states = encoder.encode(generators.states(), "(generators)")  # last: some parts draw when asked for their state
        classes = {name: stepper for name, part in parts.items() if (stepper := _stepper(part)) is not None}
        text = json.dumps({"settings": settings.here(), "parts": encoded, "classes": classes, "generators": states})
    except RecursionError:
        raise ValueError("[checkpoint.save] a part holds itself, or is nested too deeply") from None
    file.write(path, text, encoder.tensors)


def load(path: _Path, /, **parts: Any) -> dict[str, Any]:
    """Brings back what `save` has written, so that the run goes on as if it had never stopped.

    `best = load("run.ckpt", model=model, optimizer=optimizer, scheduler=scheduler, sampler=sampler)["best"]`

    Call it when all parts are made, right before training: what draws random numbers afterwards has to be what did so
    after `save`. Before anything is changed, the file is checked, all of it. If a part then refuses its state, the
    parts that have changed get their former states back; each module and optimizer is compared with the file. This
    takes memory for the states twice, the new and the former ones.

    Args:
        path: of the file.
        parts: objects by the names by which their states were saved, all of them; `read` gives states singly.

    Returns:
        The values that were saved, by name.

    Raises:
        CheckpointError: for a file that is not a whole checkpoint; for another arithmetic version or order, or if
            `repdl.enable` was in force and is not, or the reverse; for other parts, generators or devices than there
            are, or an optimizer or scheduler of another class; for a part that refuses its state, or has another one
            afterwards. Nothing is changed then.
        OSError: if the file cannot be read.

    Warns:
        VersionWarning: if a version of torch, NumPy, Python or this library is another one; without `repdl.enable`
            also for other threads or another instruction set of torch's, with which stock torch computes other bits.
    """
    _check_path("load", path)
    with _about(path):
        saved, written = _read(path)
        settings.check(saved["settings"])
        states = {name: value for name, (kind, value) in written.items() if kind == _STATE}
        access = {}
        for name, part in parts.items():
            if name not in states:
                raise CheckpointError(f"it has no state of {name}; it has those of {', '.join(states) or 'nothing'}")
            found = _access(part)
            if found is None:
                raise TypeError(f"[checkpoint.load] {name} must have state_dict and load_state_dict, got {type(part)}")
            access[name] = found
            _check_class(name, part, saved["classes"].get(name))
        if missing := states.keys() - parts.keys():
            raise CheckpointError(f"it has states of {', '.join(sorted(missing))} too; give all, or take read")
        generators.check(saved["generators"])
        with ExitStack() as undo:
            undo.callback(generators.restore, generators.states())
            for name, (get, put) in access.items():
                undo.push(_putting_back(name, put, copy.deepcopy(get())))
                _put(name, parts[name], states[name], get, put)
            generators.restore(saved["generators"])
            undo.pop_all()
    return {name: value for name, (kind, value) in written.items() if kind == _VALUE}


def read(path: _Path, /) -> dict[str, Any]:
    """The states and values in a checkpoint by name, on the CPU: `read("run.ckpt")["model"]`. It changes nothing.

    It asks for no setting, no version and no part.

    Raises:
        CheckpointError: for a file that is not a whole checkpoint.
        OSError: if it cannot be read.
    """
    _check_path("read", path)
    with _about(path):
        return {name: value for name, (_, value) in _read(path)[1].items()}


_Access = tuple[Callable[[], Any], Callable[[Any], Any]]


def _access(part: Any) -> _Access | None:
    """How the state of a part is taken and given; None for a value."""
    if isinstance(part, torch.Generator):
        return part.get_state, part.set_state
    if isinstance(part, type) or not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
        return None
    return part.state_dict, part.load_state_dict


def _stepper(part: Any) -> str | None:
    """The class of an optimizer or a scheduler, which takes the state of any other and steps as itself."""
    is_stepper = isinstance(part, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler)
    return type(part).__qualname__ if is_stepper else None


def _check_class(name: str, part: Any, saved: str | None) -> None:
    if saved is not None and _stepper(part) != saved:
        raise CheckpointError(f"it has {name} of the class {saved}, but here it is of {type(part).__qualname__}")


def _read(path: _Path) -> tuple[dict[str, Any], dict[str, tuple[str, Any]]]:
    """What a file has, decoded; its parts apart, each with its kind."""
    text, tensors = file.read(path)
    decoder = Decoder(tensors)
    try:
        saved = json.loads(text)
        parts = {name: (kind, decoder.decode(code)) for name, (kind, code) in saved["parts"].items()}
        if not {kind for kind, _ in parts.values()} <= {_STATE, _VALUE}:
            raise CheckpointError("it has a part of an unknown kind")
        saved["generators"] = decoder.decode(saved["generators"])
        if any(not isinstance(saved["settings"][which], dict) for which in ("same", "told")):
            raise CheckpointError("it lacks the settings")
        if not isinstance(saved.setdefault("classes", {}), dict):  # files from before they were kept have none
            raise CheckpointError("it has classes of no parts")
    except CheckpointError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"it is not what save has written: {type(error).__name__} ({error})") from None
    if not decoder.all_are_used():
        raise CheckpointError("it has tensors that no part has")
    return saved, parts


def _put(name: str, part: Any, state: Any, get: Callable[[], Any], put: Callable[[Any], Any]) -> None:
    try:
        put(state)
    except Exception as error:
        raise CheckpointError(f"{name} refuses its state: {type(error).__name__}: {error}") from error
    is_checked = isinstance(part, torch.nn.Module | torch.optim.Optimizer)
    if is_checked and (difference := first_difference(state, get(), name)) is not None:
        raise CheckpointError(f"{difference}, so the run would go on with other bits")


def _putting_back(name: str, put: Callable[[Any], Any], state: Any) -> Callable[..., None]:
    """Gives a part its former state; one that refuses that too is told in the error."""

    def put_back(kind: Any, error: BaseException, trace: Any) -> None:
        try:
            put(state)
        except Exception as again:
            told = f"{name} refuses its former state too, and may have neither: {type(again).__name__}: {again}"
            error.args = (f"{error}; {told}",)

    return put_back


def _check_path(function: str, path: _Path) -> None:
    """Numbers too, which `open` takes for files that are open already."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"[checkpoint.{function}] path must be a text or a path, got {type(path).__name__}")


@contextmanager
def _about(path: _Path) -> Iterator[None]:
    """Names the file in errors of it."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"[checkpoint] {os.fspath(path)}: {error}") from error.__cause__
