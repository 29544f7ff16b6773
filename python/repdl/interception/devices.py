# SPDX-License-Identifier: MIT
"""Devices other than the CPU.

On CUDA devices our kernels of the CPU's overloads run too, as far as the ops that they call have kernels there; an op
without one says so while it runs, and the call is refused by its name. What is torch's own on the CPU is so there too
where it is exact, or else has what `override.on_devices` declares. On others we have no kernels, and of torch's
only moves are known to be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from repdl.interception.dtypes import FLOAT32, LOW, WIDE, kinds_of
from repdl.interception.exact import LAYOUTS, calls_others, is_exact_on_cuda, is_move, why_exact
from repdl.interception.native import BACKENDS, Kernel, device_of, elsewhere, native_of, registered_names
from repdl.interception.strict import not_reproducible, runs_native

SERVED = "CUDA"
"""The key of dense tensors on devices that we have kernels for."""

_LAYOUTS = {"CPU": "", **{key: key.removesuffix("CPU") for key in LAYOUTS if key != "MkldnnCPU"}}
"""By the dispatch key of a layout on the CPU, what precedes the device in its key."""

_OF_STREAMS = ("record_stream",)

_cuda_starts = False
"""Set before torch says so: what waits for its first use is called while CUDA is not yet initialized."""


def _is_there(backend: str) -> bool:
    """Whether this torch has kernels for the device and, since it starts on demand, the program uses it."""
    has_kernels = torch._C._dispatch_has_kernel_for_dispatch_key("aten::empty.memory_format", backend)
    return has_kernels and (backend != "CUDA" or _cuda_starts or torch.cuda.is_initialized())


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


def kernels(key: str, ours: Mapping[str, Kernel], instead: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """What is registered at a key of `dispatch_keys`, given our kernels of dense tensors on the CPU.

    `instead` is what stands there for torch's own kernels.
    """
    natives = {name: native_of(name, key) for name in registered_names(key)}
    found = {name: _refused(name, natives[name]) for name in _computing(key)}
    if key != SERVED:
        return found
    elsewhere["cuda"] = {
        name: _unless_it_runs(name, native, instead[name]) if name in instead else _if_exact(name, native)
        for name, native in natives.items()
    }
    for name in natives:
        if name in ours:
            found[name] = ours[name]
        elif name in instead:
            found[name] = elsewhere["cuda"][name]
        elif name in found and calls_others(name):
            found[name] = _in_parts(name)
        elif name in found and elsewhere["cuda"][name] is natives[name]:
            del found[name]
        elif name in found:
            found[name] = elsewhere["cuda"][name]
    return found


def _has_own(name: str, key: str) -> bool:
    """Whether torch has a kernel for the device, and not only a composite for all."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)


def _computing(key: str) -> list[str]:
    """The overloads with a kernel at a key of `dispatch_keys` that computes something. torch needs its `detach`."""
    backend = next(backend for backend in BACKENDS if key.endswith(backend))
    layout = next(on_cpu for on_cpu, before in _LAYOUTS.items() if before + backend == key)

    def computes(name: str) -> bool:
        if name == "detach" or name in _OF_STREAMS or is_move(name, layout):
            return False
        return _has_own(name, key) or not calls_others(name)

    return [name for name in registered_names(key) if computes(name)]


def _refused(name: str, native: Kernel) -> Kernel:
    def raise_or_run(*args: Any, **kwargs: Any) -> Any:
        return not_reproducible(name, args, kwargs, native, "device")

    return raise_or_run


def _if_exact(name: str, native: Kernel) -> Kernel:
    """torch's own kernel of a CUDA device, where it gives the bits of the CPU's."""
    if is_exact_on_cuda(name) or (why_exact(name) is not None and not _has_own(name, SERVED)):
        return native  # the latter is the same code as on the CPU, which calls others
    if not is_exact_on_cuda(name, whole=True):
        return _unless_it_runs(name, native, _refused(name, native))
    refused = _unless_it_runs(name, native, _refused(name, native))

    def run(*args: Any, **kwargs: Any) -> Any:
        is_real = kinds_of((*args, *kwargs.values())) & (FLOAT32 | LOW | WIDE)
        return (refused if is_real else native)(*args, **kwargs)

    return run


def _unless_it_runs(name: str, native: Kernel, otherwise: Kernel) -> Kernel:
    def run(*args: Any, **kwargs: Any) -> Any:
        return (native if runs_native(name) else otherwise)(*args, **kwargs)

    return run


def _in_parts(name: str) -> Kernel:
    """What torch calls for tensors on the CPU, of an overload for which it has a kernel of its own here."""
    on_cpu = native_of(name)
    return lambda *args, **kwargs: on_cpu.run(args, on_cpu.with_tensors(args), kwargs)


def on_any(name: str, kernel: Kernel) -> Kernel:
    """A kernel of ours for tensors of any device: what it makes lies where they are.

    Where the device lacks the kernel of an op that it calls, the call is not reproducible.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        device = device_of((*args, *kwargs.values())) if elsewhere else None
        if device is None or device.type not in elsewhere:
            return kernel(*args, **kwargs)
        changed = 1 if name.partition(".")[0].endswith("_") else 0
        moved = (*args[:changed], *(_number_on(device, value) for value in args[changed:]))
        try:
            with device:
                return kernel(*moved, **kwargs)
        except NotImplementedError:
            return not_reproducible(name, args, kwargs, native_of(name, SERVED), "device")

    return run


def _number_on(device: torch.device, value: Any) -> Any:
    """Single numbers on the CPU count among tensors of any device, as in torch."""
    if isinstance(value, torch.Tensor) and value.is_cpu and value.dim() == 0:
        return torch.full((), value.item(), dtype=value.dtype, device=device)
    return value


def when_cuda_starts(do: Callable[[], None]) -> None:
    """Calls a function when the program first uses CUDA; now if it has."""

    def start() -> None:
        global _cuda_starts
        _cuda_starts = True
        do()

    torch.cuda._lazy_call(start)
