# SPDX-License-Identifier: MIT
"""What is known of the bits of an overload: the one table that `audit` and docs/torch-ops.md speak from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from repdl.interception import strict, switch
from repdl.interception.dtypes import COMPLEX, KINDS, OTHER, WIDE, has_complex, kinds_of
from repdl.interception.exact import why_exact
from repdl.interception.native import overload
from repdl.interception.override import ForComplex, Override, layouts, overrides
from repdl.interception.report import Report
from repdl.interception.variants import variants

Class = tuple[str, str]
"""One of `report.CLASSES`, and the reason."""

STEPS = "steps of torch that round once each"
KERNEL = "a kernel of repdl"
NATIVE = "torch's own kernel, which is exact for these dtypes"


@cache
def declared() -> dict[str, Override]:
    """The override behind each overload, in-place and out= variants among them."""
    found = dict(overrides)
    for name, override in overrides.items():
        for variant, *_ in variants(name, override.converts):
            found.setdefault(variant, override)
    return found


def classifier(name: str, key: str = "CPU") -> Callable[[Any], Class]:
    """Of an overload at a dispatch key, what tells the class of a call from its arguments."""
    ours = switch.kernels()[key]
    if key != "CPU" and name in layouts.get(key, {}):
        return always("guarded", STEPS)
    if key == "CPU" and name in declared():
        return _of_override(name, declared()[name])
    if name in ours:
        return always("not", strict.REASONS[strict.reason_of(name) if key == "CPU" else "layout"])
    return always("exact", why_exact(name, key) or "")


def classify(name: str, values: Any, key: str = "CPU") -> Class:
    """The class of a call of an overload, "add.Tensor", with these arguments."""
    return classifier(name, key)(values)


def always(kind: str, reason: str) -> Callable[[Any], Class]:
    return lambda values: (kind, reason)


def _of_override(name: str, override: Override) -> Callable[[Any], Class]:
    ours, steps, native = ("reproducible", KERNEL), ("guarded", STEPS), ("guarded", NATIVE)
    if torch.Tag.nondeterministic_seeded in overload(name).tags:
        return lambda values: ("reproducible", f"random numbers of the stream {switch.rng_in_force()!r}")

    if isinstance(override, ForComplex):
        exact = ("exact", why_exact(name) or "")
        return lambda values: steps if has_complex(values) else exact

    def of_call(values: Any) -> Class:
        kinds = kinds_of(values)
        way = override.wide if kinds & WIDE else override.integers if kinds in (0, OTHER) else ""
        if way == "native" or (way == "dtype" and not any(isinstance(v, torch.dtype) and v in KINDS for v in values)):
            return native
        other = {"refuse": WIDE, "float64": COMPLEX}.get(override.wide)
        return steps if other is None or kinds & other else ours

    return of_call


def word(kind: str, reason: str) -> str:
    """The class in a word: "ours", "exact" or "raises"."""
    if kind == "not":
        return "raises"
    return "exact" if kind == "exact" or reason == NATIVE else "ours"


class Counted:
    """The words of several calls of one op."""

    def __init__(self) -> None:
        self.calls: list[set[str]] = []

    def add(self, report: Report) -> None:
        self.calls.append({word(row.kind, row.reason) for row in report})

    def words(self) -> str:
        """One word; "… some" if only some calls raise. "–" without a call."""
        if not self.calls:
            return "–"
        raising = [words for words in self.calls if "raises" in words]
        if len(raising) == len(self.calls):
            return "raises"
        met = set[str]().union(*(words for words in self.calls if "raises" not in words))
        name = "ours" if "ours" in met else "exact"
        return f"{name}, some raise" if raising else name
