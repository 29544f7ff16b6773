# SPDX-License-Identifier: MIT
"""Reproducible for single calls, in the thread that makes them: what converted models run under.

While somebody holds `Kernels`, our kernels are registered, but compute only within such a call and in the backward
passes of the nodes that it made. For everything else they pass on to torch's own: its bits stay, and each operation
that is not exact takes some microseconds longer.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from repdl.interception import libraries, settings, switch, versions
from repdl.interception.registration import register

_current_pass = torch._C._current_graph_task_id
_next_node = torch._C._autograd._get_sequence_nr

_MARK = "repdl"


class _Here(threading.local):
    """This thread's calls that are under way, and what its engine computes.

    passes: for each node under way whose backward is ours, the backward pass that it belongs to. One that fails leaves
        its entry, which counts for no other pass: each has a number of its own.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.first_node = 0
        self.passes: list[tuple[int, int]] = []


_here = _Here()


class Kernels:
    """Registered as long as this object lives: models and the graphs of their results refer to it."""

    def __init__(self) -> None:
        versions.tell_once()
        library = register(
            {
                key: {name: _only_here(kernel, switch.hidden_by(key, name)) for name, kernel in of_key.items()}
                for key, of_key in switch.kernels().items()
            }
        )
        weakref.finalize(self, library._destroy).atexit = False
        weakref.finalize(self, libraries.hold(_is_here)).atexit = False
        switch.put_on_top()

    def __deepcopy__(self, memo: Any) -> Kernels:
        return self

    def __reduce__(self) -> Any:
        return kernels, ()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls a function reproducibly, and marks what it returns for the backward pass."""
        if _here.calls:
            return self._marked(_here.first_node, function(*args, **kwargs))
        if _current_pass() < 0:
            _here.passes.clear()
        with settings.route():
            _here.calls, _here.first_node = 1, _next_node()
            try:
                return self._marked(_here.first_node, function(*args, **kwargs))
            finally:
                _here.calls = 0

    def _marked(self, first: int, outputs: Any) -> Any:
        """Hooks the nodes made since `first` that the outputs depend on, so that their backward is ours."""
        if torch.is_grad_enabled():
            tensors = [outputs] if isinstance(outputs, torch.Tensor) else tree_leaves(outputs)
            nodes = [t.grad_fn for t in tensors if isinstance(t, torch.Tensor)]
            end = _next_node()
            while nodes:
                node: Any = nodes.pop()
                # The nodes that add to the gradients of leaves have no place in the sequence.
                if node is None or not first <= node._sequence_nr() < end or _MARK in node.metadata:
                    continue
                node.metadata[_MARK] = True
                node.register_prehook(self._begin)
                node.register_hook(self._end)
                nodes += [function for function, _ in node.next_functions]
        return outputs

    def _begin(self, grad_outputs: Any) -> None:
        _here.passes.append((_current_pass(), _next_node()))

    def _end(self, grad_inputs: Any, grad_outputs: Any) -> None:
        _, first = _here.passes.pop()
        self._marked(first, grad_inputs)  # of a gradient that is differentiated again


def _is_here() -> bool:
    """Whether what this thread calls belongs to a converted model."""
    passes = _here.passes
    return bool(_here.calls or (passes and passes[-1][0] == _current_pass()))


def _only_here(kernel: Callable[..., Any], native: Callable[..., Any]) -> Callable[..., Any]:
    def choose(*args: Any, **kwargs: Any) -> Any:
        if _is_here() or switch.is_enabled():
            return kernel(*args, **kwargs)
        return native(*args, **kwargs)

    return choose


_lock = threading.Lock()
_held: weakref.ref[Kernels] | None = None


def kernels() -> Kernels:
    """Those of the process, shared by all who hold them."""
    global _held
    with _lock:
        found = None if _held is None else _held()
        if found is None:
            found = Kernels()
            _held = weakref.ref(found)
        return found
