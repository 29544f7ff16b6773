# SPDX-License-Identifier: MIT
"""The ops of torch that need no kernel of ours on a CPU: what exact.toml and layouts.toml list, with their reasons."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import torch


def _groups(file: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(file).read_text())


_dense = _groups("exact.toml")
MEASURED: list[str] = _dense.pop("measured")  # type: ignore[assignment]
"""The versions of torch, "2.13", with which the lists were measured."""
_on_cuda: dict[str, str] = _dense.pop("on_cuda")

_layouts = _groups("layouts.toml")
_hidden = _layouts.pop("hidden")

LAYOUTS = ("SparseCPU", "SparseCsrCPU", "NestedTensorCPU", "QuantizedCPU", "MkldnnCPU")
"""The dispatch keys of tensors that are not dense."""

REASONS: dict[str, dict[str, str]] = {
    "CPU": {name: group["reason"] for group in _dense.values() for name in group["ops"].split()}
} | {
    key: {name: group["reason"] for group in _layouts.values() for name in group.get(key, "").split()}
    for key in LAYOUTS
}
"""By dispatch key, why an op is exact, by its packet ("mul") or overload ("add.Scalar")."""


_RELEASE = re.compile(r"(\d+\.\d+)(\.\d+)*(\.post\d+)?(\+.*)?")


@cache
def is_measured(version: str) -> bool:
    """Whether a version of torch, "2.13.0+cpu", is a release of a line that was measured; a nightly build is none."""
    release = _RELEASE.fullmatch(version)
    return release is not None and release[1] in MEASURED


@cache
def measured_overloads() -> frozenset[str]:
    """Every overload with a kernel that one of the measured versions has."""
    lines = Path(__file__).with_name("overloads.txt").read_text().splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def _is_known(name: str) -> bool:
    return is_measured(torch.__version__) or name in measured_overloads()


def why_exact(name: str, key: str = "CPU") -> str | None:
    """Why torch's kernel of an overload, "mul.Tensor", is used as it is; None if it is not."""
    if not _is_known(name):
        return None
    reasons = REASONS[key]
    return reasons.get(name) or reasons.get(name.partition(".")[0])


def is_move(name: str, key: str) -> bool:
    """Whether an overload only moves, makes or reads data, for tensors of a layout."""
    return bool(why_exact(name, key) == _dense["moves"]["reason"])


def calls_others(name: str) -> bool:
    """Whether the composite that torch has for an overload only calls others, through the dispatcher."""
    return bool(why_exact(name) == _dense["calls_others"]["reason"])


_REAL_ON_CUDA, _WHOLE_ON_CUDA, _CPU_ALONE = (frozenset(_on_cuda[k].split()) for k in ("real", "whole", "cpu_alone"))


def _names(name: str) -> tuple[str, str]:
    """An overload, and its packet without the underscore of a form in place."""
    return name, name.partition(".")[0].removesuffix("_")


def is_exact_on_cuda(name: str, whole: bool = False) -> bool:
    """Whether torch's own kernel of an overload is used for tensors on CUDA devices, `whole` if all are of integers.

    No one has measured this: it is what CUDA and torch promise of single operations.
    """
    names = _names(name)
    if whole and any(n in _WHOLE_ON_CUDA for n in names):
        return True
    if any(n in _CPU_ALONE for n in names):
        return False
    selects = why_exact(name) == _dense["selects"]["reason"]
    return selects or is_move(name, "CPU") or any(n in _REAL_ON_CUDA for n in names)


def hidden(key: str) -> list[str]:
    """Composites without a kernel at a key that nevertheless compute there what the dispatcher does not see."""
    return _hidden.get(key, "").split()  # type: ignore[no-any-return]
