# SPDX-License-Identifier: MIT
"""Turns a torch model into one that is computed by repdl.ops."""

from __future__ import annotations

import copy
from typing import Any

import torch

from repdl import nn

LAYERS: dict[type[torch.nn.Module], type[torch.nn.Module]] = {
    torch.nn.BatchNorm1d: nn.BatchNorm1d,
    torch.nn.BatchNorm2d: nn.BatchNorm2d,
    torch.nn.Conv2d: nn.Conv2d,
    torch.nn.CrossEntropyLoss: nn.CrossEntropyLoss,
    torch.nn.Linear: nn.Linear,
    torch.nn.LogSoftmax: nn.LogSoftmax,
    torch.nn.MaxPool2d: nn.MaxPool2d,
    torch.nn.ReLU: nn.ReLU,
    torch.nn.Softmax: nn.Softmax,
}
"""The layers that are converted."""


def from_torch_module(m: torch.nn.Module) -> torch.nn.Module:
    """A copy of a model whose layers, as far as LAYERS has them, are those of repdl.nn.

    Parameters, buffers and hooks are copied; weights that are tied stay tied to each other. A layer of a class
    derived from one in LAYERS keeps its class and what it overrides; what it inherits becomes ours. Other modules are
    copied as they are.

    As in microsoft/RepDL 0.1, a converted Linear or Conv2d draws as many numbers from torch's generator as its
    construction would, so that what a program draws afterwards (the shuffling of its data, say) is the same.

    Raises:
        TypeError: if m is not a module.
    """
    if not isinstance(m, torch.nn.Module):
        raise TypeError(f"[from_torch_module] m must be a torch.nn.Module, got {type(m).__name__}")
    converted = copy.deepcopy(m)
    for module in converted.modules():
        kind = type(module)
        if kind in (torch.nn.Linear, torch.nn.Conv2d):
            for parameter in module.parameters(recurse=False):
                torch.rand(parameter.shape)
        module.__class__ = _converted_class(kind)
    return converted


def _converted_class(kind: type[torch.nn.Module]) -> type[torch.nn.Module]:
    if kind in LAYERS:
        return LAYERS[kind]
    for theirs, ours in LAYERS.items():
        if issubclass(kind, theirs) and not issubclass(kind, ours):
            return _derived_class(kind, ours)
    return kind


class _Derived:
    """Mixed into the converted form of a derived layer, which pickles as the original class and this conversion."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        original = type(self).__mro__[2]
        return _rebuild, (original,), self.__dict__


_derived: dict[type[torch.nn.Module], type[torch.nn.Module]] = {}


def _derived_class(kind: type[torch.nn.Module], ours: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """A class that looks up methods in `kind` first, then in our layer, then in torch's."""
    if kind not in _derived:
        members: dict[str, Any] = {"__module__": kind.__module__}
        if (eager := getattr(kind, "cls_to_become", None)) is not None:  # a lazy layer, after its first input
            members["cls_to_become"] = _converted_class(eager)
        _derived[kind] = type(kind.__name__, (_Derived, kind, ours), members)
    return _derived[kind]


def _rebuild(kind: type[torch.nn.Module]) -> torch.nn.Module:
    converted = _converted_class(kind)
    return converted.__new__(converted)
