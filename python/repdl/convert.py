# SPDX-License-Identifier: MIT
"""Turns a torch model into one that is computed by repdl.ops."""

from __future__ import annotations

import copy
import copyreg
from typing import Any

import torch

from repdl import nn
from repdl.interception import local
from repdl.interception.untraced import untraced

LAYERS: dict[type[torch.nn.Module], type[torch.nn.Module]] = {
    torch.nn.BatchNorm1d: nn.BatchNorm1d,
    torch.nn.BatchNorm2d: nn.BatchNorm2d,
    torch.nn.Conv1d: nn.Conv1d,
    torch.nn.Conv2d: nn.Conv2d,
    torch.nn.Conv3d: nn.Conv3d,
    torch.nn.ConvTranspose1d: nn.ConvTranspose1d,
    torch.nn.ConvTranspose2d: nn.ConvTranspose2d,
    torch.nn.ConvTranspose3d: nn.ConvTranspose3d,
    torch.nn.CrossEntropyLoss: nn.CrossEntropyLoss,
    torch.nn.Linear: nn.Linear,
    torch.nn.LogSoftmax: nn.LogSoftmax,
    torch.nn.MaxPool2d: nn.MaxPool2d,
    torch.nn.ReLU: nn.ReLU,
    torch.nn.Softmax: nn.Softmax,
}
"""The layers that are converted."""


_ONLY_CALL_OTHERS = (torch.nn.Sequential, torch.nn.Identity, torch.nn.Flatten, torch.nn.Unflatten)


def from_torch_module(m: torch.nn.Module) -> torch.nn.Module:
    """A copy of a model that computes the same bits everywhere, forward and backward.

    Layers, as far as LAYERS has them, become those of repdl.nn. A call of any other module runs as under
    `repdl.reproducible()`, in its thread alone, and so does the backward pass of what the call returns, whenever that
    comes: nothing stays enabled for other models. An operation without a reproducible kernel raises
    NotReproducibleError (REPDL_STRICT=warn or `repdl.allow_native` let it run).

    What is called outside of the model (a loss, an optimizer), methods of it other than a call, and tensors that it
    keeps instead of returning them are not covered by that; nor is a module of TorchScript. While a call runs,
    torch.compile and the fused layers of torch are off in the whole process; while the model lives, torch's own
    operations take some microseconds longer. A model made only of converted layers, Sequential and Flatten
    needs none of this, and has none.

    Parameters, buffers and hooks are copied; weights that are tied stay tied to each other. A module of a class derived
    from one in LAYERS keeps its class and what it overrides; what it inherits becomes ours.

    As in microsoft/RepDL 0.1, a converted Linear or Conv2d draws as many numbers from torch's generator as its
    construction would, so that what a program draws afterwards (the shuffling of its data, say) is the same.

    Raises:
        TypeError: if m is not a module.
    """
    if not isinstance(m, torch.nn.Module):
        raise TypeError(f"[from_torch_module] m must be a torch.nn.Module, got {type(m).__name__}")
    converted = copy.deepcopy(m)
    for module in reversed(list(converted.modules())):  # children first
        kind = type(module)
        if kind in (torch.nn.Linear, torch.nn.Conv2d):
            for parameter in module.parameters(recurse=False):
                torch.rand(parameter.shape)
        if kind in LAYERS:
            module.__class__ = LAYERS[kind]
        elif not _is_ours(module) and not isinstance(module, torch.jit.ScriptModule):
            _derive(module)
    return converted


def _is_ours(module: torch.nn.Module) -> bool:
    """Whether all that a call of it computes is reproducible already."""
    kind = type(module)
    if kind in LAYERS.values() or issubclass(kind, _Derived):
        return True
    calls_others = any(issubclass(kind, base) and kind.forward is base.forward for base in _ONLY_CALL_OTHERS)
    return calls_others and all(map(_is_ours, module.children()))


class _Derived:
    """Mixed into the converted form of another class, which pickles as the original class and this conversion."""

    @untraced
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "_repdl_kernels" not in self.__dict__:  # the class made it of its type, as some do to copy themselves
            self.__dict__["_repdl_kernels"] = local.kernels()
        return self.__dict__["_repdl_kernels"].call(super().__call__, *args, **kwargs)  # type: ignore[misc]

    def __reduce_ex__(self, protocol: Any) -> Any:
        made = super().__reduce_ex__(protocol)
        if made[0] is copyreg.__newobj__:  # type: ignore[attr-defined]
            return _rebuild, (type(self).__bases__[1], *made[1][1:]), *made[2:]
        return made


_derived: dict[type[torch.nn.Module], type[torch.nn.Module]] = {}


def _derived_class(kind: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """A class that looks up methods in `kind` first, then in our layer if it is one, then in torch's."""
    if kind not in _derived:
        members: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        if (eager := getattr(kind, "cls_to_become", None)) is not None:  # a lazy layer, after its first input
            members["cls_to_become"] = LAYERS.get(eager) or _derived_class(eager)
        if hasattr(kind, "__deepcopy__"):
            members["__deepcopy__"] = _deepcopied
        layers = [ours for theirs, ours in LAYERS.items() if issubclass(kind, theirs)]
        _derived[kind] = type(kind.__name__, (_Derived, kind, *layers), members)
    return _derived[kind]


def _derive(module: torch.nn.Module) -> torch.nn.Module:
    module.__class__ = _derived_class(type(module))
    module.__dict__["_repdl_kernels"] = local.kernels()
    return module


def _deepcopied(self: Any, memo: Any) -> Any:
    """By its own way, as the class that was converted: that of torch.fx.GraphModule makes a new class of its type."""
    converted = type(self)
    self.__class__ = converted.__bases__[1]
    try:
        copied = copy.deepcopy(self, memo)
    finally:
        self.__class__ = converted
    return _derive(copied)


def _rebuild(kind: type[torch.nn.Module], *arguments: Any) -> torch.nn.Module:
    converted = _derived_class(kind)
    return converted.__new__(converted, *arguments)
