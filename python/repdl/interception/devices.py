# SPDX-License-Identifier: MIT
"""Devices other than the CPU: we have no kernels there, and of torch's only moves are known to be exact."""

from __future__ import annotations

from collections.abc import Callable

import torch

from repdl.interception.exact import LAYOUTS, calls_others, is_move
from repdl.interception.native import BACKENDS, registered_names

_LAYOUTS = {"CPU": "", **{key: key.removesuffix("CPU") for key in LAYOUTS if key != "MkldnnCPU"}}
"""By the dispatch key of a layout on the CPU, what precedes the device in its key."""

_OF_STREAMS = ("record_stream",)


def _is_there(backend: str) -> bool:
    """Whether this torch has kernels for the device and, since it starts on demand, the program uses it."""
    has_kernels = torch._C._dispatch_has_kernel_for_dispatch_key("aten::empty.memory_format", backend)
    return has_kernels and (backend != "CUDA" or torch.cuda.is_initialized())


def _is_key(name: str) -> bool:
    """Not every layout has a key on every device."""
    try:
        torch._C._dispatch_key_parse(name)
    except RuntimeError:
        return False
    return True


def dispatch_keys() -> list[str]:
    """The dispatch keys of the devices that are in use."""
    keys = [before + backend for backend in BACKENDS if _is_there(backend) for before in _LAYOUTS.values()]
    return [key for key in keys if _is_key(key)]


def computing(key: str) -> list[str]:
    """The overloads with a kernel at a key of `dispatch_keys` that computes something. torch needs its `detach`."""
    backend = next(backend for backend in BACKENDS if key.endswith(backend))
    layout = next(on_cpu for on_cpu, before in _LAYOUTS.items() if before + backend == key)

    def computes(name: str) -> bool:
        if name == "detach" or name in _OF_STREAMS or is_move(name, layout):
            return False
        has_own = torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)
        return has_own or not calls_others(name)

    return [name for name in registered_names(key) if computes(name)]


def when_cuda_starts(do: Callable[[], None]) -> None:
    """Calls a function when the program first uses CUDA; now if it has."""
    torch.cuda._lazy_call(do)
