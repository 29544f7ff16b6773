# SPDX-License-Identifier: MIT
"""torch's own kernels, as they were before anything was overridden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import torch
from torch.autograd import forward_ad

Kernel = Callable[..., Any]

LOW_DTYPES = (torch.bfloat16, torch.float16)


def wide(dtype: torch.dtype) -> torch.dtype:
    """What numbers of this type are computed in: float32 in place of bfloat16 and float16."""
    return torch.float32 if dtype in LOW_DTYPES else dtype


def qualified(name: str) -> str:
    """The name with its namespace, which is aten where there is none: "aten::add.Tensor"."""
    return name if "::" in name else f"aten::{name}"


def packet(name: str) -> str:
    """The name without that of the overload: "add", "quantized::linear"; of "package.module::function" all of it."""
    namespace, colons, op = name.rpartition("::")
    return namespace + colons + op.partition(".")[0]


def overload(name: str) -> Any:
    """The OpOverload of "add.Tensor", "mm", "quantized::linear", …"""
    namespace, _, op = qualified(name).partition("::")
    packet, _, overload_name = op.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload_name or "default")


@cache
def schemas(packet: str) -> dict[str, Any]:
    """Those of the overloads of "add", by their names: "add.Tensor", …; without making objects of the overloads."""
    found = torch._C._jit_get_schemas_for_operator(f"aten::{packet}")
    return {f"{packet}.{s.overload_name}" if s.overload_name else packet: s for s in found}


def is_there(name: str) -> bool:
    """Whether this version of torch has an overload; one that it lacks is left out of whatever names it.

    An op of another library, "quantized::linear", is only ever named because it is there.
    """
    return "::" in name or name in schemas(name.partition(".")[0])


BACKENDS = ("CUDA", "XPU", "MPS", "MTIA", "HPU", "PrivateUse1")
"""The dispatch keys of dense tensors on other devices."""


_kept: dict[str, list[str]] | None = None


@contextmanager
def lists_kept() -> Iterator[None]:
    """In this block, which is to be short, torch is asked only once for each list of kernels."""
    global _kept
    _kept = {}
    try:
        yield
    finally:
        _kept = None


def registrations(key: str) -> list[str]:
    """The overloads of all namespaces, "aten::add.Tensor", that have a kernel at a dispatch key."""
    kept = _kept
    if kept is None:
        return torch._C._dispatch_get_registrations_for_dispatch_key(key)
    if key not in kept:
        kept[key] = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return kept[key]


def registered_names(key: str = "CPU") -> list[str]:
    """Every aten overload with a kernel at a dispatch key; for dense tensors also those of composites."""
    composites = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    names = {
        name
        for key in (key, *(composites if key in ("CPU", *BACKENDS) else ()))
        for name in registrations(key)
        if name.startswith("aten::")
    }
    return sorted(name.removeprefix("aten::") for name in names)


@cache
def _parsed(key: str) -> tuple[Any, Any]:
    """A dispatch key, of which torch._C.DispatchKey does not have all, and the set of it."""
    parsed = torch._C._dispatch_key_parse(key)
    return parsed, torch._C.DispatchKeySet(parsed)


elsewhere: dict[str, dict[str, Kernel]] = {}
"""By the type of a device that we serve and that is in use, what runs in the place of torch's kernels of the CPU."""


def is_served(device: torch.device) -> bool:
    """Whether our ops run on a device; on the meta device they say what they would return."""
    return device.type in ("cpu", "meta") or device.type in elsewhere


def device_of(values: Any) -> torch.device | None:
    """The device of the first tensor that is not on the CPU, or what is given as a device; None if there is none."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if not value.is_cpu:
                return value.device
        elif isinstance(value, torch.device):
            if value.type != "cpu":
                return value
        elif isinstance(value, (list, tuple)) and (found := device_of(value)) is not None:
            return found
    return None


class _Missing:
    """In the place of a kernel that this version of torch does not have."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call_boxed(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"[aten::{self.name}] torch {torch.__version__} has no such operation")


class Native:
    """torch's kernel of one overload at a dispatch key; at that of the CPU also of tensors on devices that we serve."""

    def __init__(self, name: str, key: str) -> None:
        self.name = name
        self.key = key
        dispatch_key, self.keys = _parsed(key)
        if not is_there(name):
            self.kernel: Any = _Missing(name)
            return
        # What torch.library.get_kernel calls; that takes 30 µs to look up the key.
        self.kernel = torch._C._dispatch_get_computed_kernel_for_dispatch_key(qualified(name), dispatch_key)

    @cached_property
    def _tensor_places(self) -> list[int]:
        if isinstance(self.kernel, _Missing):
            return []
        return [i for i, arg in enumerate(overload(self.name)._schema.arguments) if str(arg.type) == "Tensor"]

    @cached_property
    def _divides(self) -> bool:
        """Whether torch divides integers as floating-point numbers."""
        return self.name.partition(".")[0].rstrip("_") == "div" and "mode" not in self.name

    @cached_property
    def _in_float32(self) -> bool:
        """Whether torch computes with a number beside bfloat16 in float32, and rounds only the result."""
        return self.name.partition(".")[0].rstrip("_") in ("add", "sub", "mul", "div")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if elsewhere and self.key == "CPU" and (device := device_of((*args, *kwargs.values()))) is not None:
            kernel = elsewhere.get(device.type, {}).get(self.name)
            if kernel is not None:
                return kernel(*args, **kwargs)
        return self.run(args, self.with_tensors(args), kwargs)

    def run(self, args: tuple[Any, ...], given: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the kernel with the arguments, of which `given` is the form that it takes."""
        result = self.kernel.call_boxed(self.keys, *given, **kwargs)
        if given is not args and isinstance(result, torch.Tensor) and result.dtype == torch.float32:
            dtypes = [as_given.dtype for t, as_given in zip(args, given, strict=True) if isinstance(t, torch.Tensor)]
            if dtypes and dtypes[0] in LOW_DTYPES:  # of a single number, see `_as_tensor`
                return result.to(dtypes[0])
        return result

    def with_tensors(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the kernel takes them: no numbers in the places of tensors."""
        if all(isinstance(args[i], torch.Tensor) for i in self._tensor_places if i < len(args)):
            return args
        if torch.get_default_dtype() in LOW_DTYPES and (self._divides or any(type(a) is float for a in args)):
            args = tuple(map(_floating_by_default, args))
        for i in self._tensor_places:
            if i < len(args) and not isinstance(args[i], torch.Tensor):
                number = _as_tensor(args[i], args, self._in_float32, self._divides)
                args = (*args[:i], number, *args[i + 1 :])
        return args


_cached = cache(Native)


def native_of(name: str, key: str = "CPU") -> Native:
    """The kernel of an overload: looked up once, so that nothing that comes on top of it later is taken for it."""
    return _cached(name, key)


class Recorded:
    """torch's kernel of an overload where autograd records it, and a function in its place where that is so.

    That is so where its first operand requires a gradient or a tangent may be taken, but not within a transform of
    torch.func: there torch's own stands.
    """

    def __init__(self, name: str, function: Kernel) -> None:
        self.function = function
        self.native = torch._C._dispatch_get_computed_kernel_for_dispatch_key(
            qualified(name), torch._C.DispatchKey.AutogradCPU
        )

    def __call__(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        is_recorded = x.requires_grad and torch.is_grad_enabled()
        if (is_recorded or forward_ad._current_level >= 0) and not torch._C._are_functorch_transforms_active():
            return self.function(x, *args, **kwargs)
        return self.pass_on(x, *args, **kwargs)

    def pass_on(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Calls torch's kernel, which goes on to the kernel below by these keys, with those of modes."""
        keys = torch._C._dispatch_keys(x) | torch._C._dispatch_tls_local_include_set()
        keys = keys - torch._C._dispatch_tls_local_exclude_set() - _WITHOUT_KERNELS
        return self.native.call_boxed(keys, x, *args, **kwargs)


_WITHOUT_KERNELS: Any = _parsed("ADInplaceOrView")[1] | _parsed("BackendSelect")[1]
"""Keys of a call that torch's dispatcher would leave out for an op that writes and makes nothing by itself."""


def _floating_by_default(value: Any) -> Any:
    """A tensor of integers as torch has it beside a floating-point number."""
    is_whole = isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex())
    return value.to(torch.get_default_dtype()) if is_whole else value


def _as_tensor(number: Any, args: tuple[Any, ...], in_float32: bool, divides: bool) -> torch.Tensor:
    """A Python number among tensors: a saved kernel takes it as a tensor of the type that torch would give it.

    Beside bfloat16 and float16 that is float32 where torch computes with it. A tensor of one dimension or more decides
    the type of the result, and of the number where torch does not; then float32 is right as well. A truth value decides
    nothing. The number stays on the CPU, as a program's does: a copy to a device would wait for it.
    """
    if type(number) is bool:
        return _number_on_cpu(number)
    for other in args:
        if isinstance(other, torch.Tensor):
            simple = type(number) is float and other.dtype.is_floating_point
            dtype = other.dtype if simple else torch.result_type(other, number)
            if divides and not (dtype.is_floating_point or dtype.is_complex):
                dtype = torch.get_default_dtype()
            if dtype in LOW_DTYPES and (in_float32 or other.dim()):
                dtype = torch.float32
            # A float64 would lose digits as float32, and an integer beyond the type cannot be made one of it.
            return _number_on_cpu(number, dtype) if type(number) is float else _number_on_cpu(number).to(dtype)
    return _number_on_cpu(number)


def _number_on_cpu(number: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.tensor(number, dtype=dtype, device="cpu")
