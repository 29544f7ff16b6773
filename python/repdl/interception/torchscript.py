# SPDX-License-Identifier: MIT
"""TorchScript computes what the program says: what freezing would fold, or hand to oneDNN, stays as it is.

And its scripts find in memory what Python finds there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch

from repdl.interception import memory
from repdl.interception.replaced import replaced


@contextmanager
def as_written() -> Iterator[None]:
    """In this block, `torch.jit.freeze` and `optimize_for_inference` keep the bits of the module.

    By themselves they fold what follows a convolution into its weights, and give convolutions to oneDNN below the
    dispatcher, where no kernel of ours could stand.
    """
    with ExitStack() as stack:
        for name, make in (
            ("_jit_pass_optimize_frozen_graph", _without_folding),
            ("_jit_pass_optimize_for_inference", _left_out),
        ):
            stack.enter_context(replaced(torch._C, name, make))
        yield


def _without_folding(original: Callable[..., Any]) -> Callable[..., Any]:
    def optimize_frozen_graph(graph: Any, optimize_numerics: bool = True) -> Any:
        return original(graph, False)

    return optimize_frozen_graph


def _left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    def optimize_for_inference(module: Any, other_methods: Any = ()) -> None:
        pass

    return optimize_for_inference


@contextmanager
def filled() -> Iterator[None]:
    """In this block, scripts are left no memory as it was found.

    Their interpreter calls torch's functions for it by itself. Those fill it with the same, as long as torch's
    deterministic algorithms are asked for: while a script runs in which there is such a call.
    """
    with ExitStack() as stack:
        for kind in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            stack.enter_context(replaced(kind, "__call__", _filling))
        stack.enter_context(replaced(torch._C, "_freeze_module", _filling_always))
        yield


def _filling(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(script: Any, *args: Any, **kwargs: Any) -> Any:
        if (asks := _asks_for_memory.get(script)) is None:
            asks = _asks_for_memory[script] = _may_ask(script)
        if not asks:
            return original(script, *args, **kwargs)
        with _deterministic_fill:
            return original(script, *args, **kwargs)

    return call


def _filling_always(original: Callable[..., Any]) -> Callable[..., Any]:
    """For what computes constants of a graph."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with _deterministic_fill:
            return original(*args, **kwargs)

    return call


_asks_for_memory: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

_OPEN_ENDED = (
    *(f"aten::{name}" for name in memory.ASKING),
    *("prim::CallFunction", "prim::CallMethod", "prim::fork", "prim::forkClosure", "prim::awaitableClosure"),
)
"""Kinds of nodes that ask for memory, and those that call what is not part of the graph."""


_IN_CPP = "__torch__.torch.classes."
"""How names of classes begin that are written in C++, as that of torch.distributed's reductions is."""


def _may_ask(script: Any) -> bool:
    owner = getattr(script, "raw_owner", None)
    if owner is not None and str(owner._type()).startswith(_IN_CPP):  # its methods have no graph
        return False
    return any(script.inlined_graph.findAllNodes(kind, recurse=True) for kind in _OPEN_ENDED)


class _DeterministicFill:
    """Has torch fill memory while any thread is within; then its settings are those of before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._before = (False, False, False)

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._before = self._settings()
                is_on, is_warning, _ = self._before
                self._set(True, is_warning or not is_on, True)
            self._within += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._set(*self._before)

    @staticmethod
    def _settings() -> tuple[bool, bool, bool]:
        return (
            torch._C._get_deterministic_algorithms(),
            torch._C._get_deterministic_algorithms_warn_only(),
            torch._C._get_deterministic_fill_uninitialized_memory(),
        )

    @staticmethod
    def _set(is_on: bool, is_warning: bool, fills: bool) -> None:
        torch._C._set_deterministic_algorithms(is_on, warn_only=is_warning)
        torch._C._set_deterministic_fill_uninitialized_memory(fills)


_deterministic_fill = _DeterministicFill()
