# SPDX-License-Identifier: MIT
"""Foreach forms that torch makes of other ops than their names say: its `_foreach_maximum` is `clamp_min`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from repdl.interception.override import ANY_DTYPE, Kernel, Override, enter, variants

_Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class OfEach(Override):
    """An override of lists of tensors."""

    def kernels(self, native: Kernel) -> Iterator[tuple[str, Kernel]]:
        kernel = self.bind(native)
        yield self.name, kernel
        for name, _, _ in variants(self.name):
            yield name, _into_each(kernel) if name.endswith("out") else _each_in_place(kernel)


def _into_each(kernel: Kernel) -> Kernel:
    def filled(self: _Tensors, *args: Any, out: _Tensors) -> None:
        for target, result in zip(out, kernel(self, *args), strict=True):
            target.copy_(result)

    return filled


def _each_in_place(kernel: Kernel) -> Kernel:
    def changed(self: _Tensors, *args: Any) -> None:
        for target, result in zip(self, kernel(self, *args), strict=True):
            target.copy_(result)

    return changed


def _declare(name: str, of_two: Kernel) -> None:
    def with_number(x: torch.Tensor, number: Any) -> torch.Tensor:
        return of_two(x, torch.full((), number, dtype=x.dtype))

    def of_lists(self: _Tensors, other: _Tensors) -> _Tensors:
        return [of_two(x, y) for x, y in zip(self, other, strict=True)]

    def of_number(self: _Tensors, scalar: Any) -> _Tensors:
        return [with_number(x, scalar) for x in self]

    def of_numbers(self: _Tensors, scalars: list[Any]) -> _Tensors:
        return [with_number(x, number) for x, number in zip(self, scalars, strict=True)]

    for overload, compute in (("List", of_lists), ("Scalar", of_number), ("ScalarList", of_numbers)):
        enter(OfEach(f"{name}.{overload}", compute, **ANY_DTYPE))


_declare("_foreach_maximum", torch.maximum)
_declare("_foreach_minimum", torch.minimum)
