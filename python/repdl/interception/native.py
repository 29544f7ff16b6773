# SPDX-License-Identifier: MIT
"""torch's own kernels, as they were before anything was overridden."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import torch


def overload(name: str) -> Any:
    """The OpOverload of "add.Tensor", "mm", …"""
    packet, _, overload_name = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload_name or "default")


def registered_names(key: str = "CPU") -> list[str]:
    """Every aten overload with a kernel at a dispatch key; for dense tensors also those of composites."""
    composites = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    names = {
        name
        for key in (key, *(composites if key == "CPU" else ()))
        for name in torch._C._dispatch_get_registrations_for_dispatch_key(key)
        if name.startswith("aten::")
    }
    return sorted(name.removeprefix("aten::") for name in names)


@cache
def _parsed(key: str) -> tuple[Any, Any]:
    """A dispatch key, of which torch._C.DispatchKey does not have all, and the set of it."""
    parsed = torch._C._dispatch_key_parse(key)
    return parsed, torch._C.DispatchKeySet(parsed)


class Native:
    """torch's kernel of one overload at a dispatch key."""

    def __init__(self, name: str, key: str) -> None:
        self.name = name
        dispatch_key, self.keys = _parsed(key)
        # What torch.library.get_kernel calls; that takes 30 µs to look up the key.
        self.kernel = torch._C._dispatch_get_computed_kernel_for_dispatch_key(f"aten::{name}", dispatch_key)

    @cached_property
    def _tensor_places(self) -> list[int]:
        return [i for i, arg in enumerate(overload(self.name)._schema.arguments) if str(arg.type) == "Tensor"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel.call_boxed(self.keys, *self.with_tensors(args), **kwargs)

    def with_tensors(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the kernel takes them: no numbers in the places of tensors."""
        for i in self._tensor_places:
            if i < len(args) and not isinstance(args[i], torch.Tensor):
                args = (*args[:i], _as_tensor(args[i], args), *args[i + 1 :])
        return args


_cached = cache(Native)


def native_of(name: str, key: str = "CPU") -> Native:
    """The kernel of an overload: looked up once, so that nothing that comes on top of it later is taken for it."""
    return _cached(name, key)


def _as_tensor(number: Any, args: tuple[Any, ...]) -> torch.Tensor:
    """A Python number among tensors: a saved kernel takes it as a tensor of the type that torch would give it."""
    for other in args:
        if isinstance(other, torch.Tensor):
            return torch.tensor(number).to(torch.result_type(other, number))
    return torch.tensor(number)
