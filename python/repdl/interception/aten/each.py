# SPDX-License-Identifier: MIT
"""Ops of lists of tensors.

Those that optimizers step with call the kernel of one tensor for each, without torch's dispatcher between. torch makes
some of other ops than their names say: its `_foreach_maximum` is `clamp_min`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.graph import increment_version

from repdl import _core
from repdl.interception.aten.functions import pow_tensor_scalar
from repdl.interception.native import Kernel, is_there, native_of
from repdl.interception.operands import in_type
from repdl.interception.override import ANY_DTYPE, Override, enter, overrides
from repdl.interception.variants import check_cast, variants

_Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class OfEach(Override):
    """An override of lists of tensors."""

    def kernels(self, native: Kernel) -> Iterator[tuple[str, Kernel]]:
        if not is_there(self.name):
            return
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
            check_cast(result.dtype, target.dtype)
            target.copy_(result)

    return changed


@dataclass(frozen=True)
class OfOne(Override):
    """An override of lists of tensors, and its form in place, that calls the kernel of an overload of one tensor.

    one: that overload.
    first_named: the place from which on arguments go to it by the names in `named`.
    """

    one: str = ""
    first_named: int = 0
    named: tuple[str, ...] = ()

    def kernels(self, native: Kernel) -> Iterator[tuple[str, Kernel]]:
        of_one = dict(overrides[self.one].kernels(native_of(self.one)))
        for suffix in ("", "_"):
            name, one = _with_suffix(self.name, suffix), _with_suffix(self.one, suffix)
            if one in of_one and is_there(name):
                changed = increment_version if suffix else None
                yield name, _core.make_each(of_one[one], self.first_named, list(self.named), changed, native_of(name))


def _with_suffix(name: str, suffix: str) -> str:
    packet, dot, overload = name.partition(".")
    return f"{packet}{suffix}{dot}{overload}"


def _step_of_one(name: str, one: str, first_named: int = 9, *named: str) -> None:
    def compute(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # the kernels are those of the other overload

    enter(OfOne(name, compute, **ANY_DTYPE, one=one, first_named=first_named, named=named))


for _name in ("add", "sub", "mul", "div"):
    for _overload in ("List", "Scalar", "ScalarList"):
        _step_of_one(f"_foreach_{_name}.{_overload}", f"{_name}.Tensor")
for _name in ("addcmul", "addcdiv"):
    for _overload in ("Scalar", "ScalarList"):
        _step_of_one(f"_foreach_{_name}.{_overload}", _name, 3, "value")
_step_of_one("_foreach_lerp.Scalar", "lerp.Scalar")
_step_of_one("_foreach_norm.Scalar", "linalg_vector_norm", 2, "dtype")
_step_of_one("_foreach_mm", "mm")
for _name in ("acos", "asin", "atan", "cosh", "lgamma", "sinh", "sqrt"):
    _step_of_one(f"_foreach_{_name}", _name)
for _name in ("clamp_min", "clamp_max"):
    _step_of_one(f"_foreach_{_name}.List", f"{_name}.Tensor")
    for _overload in ("Scalar", "ScalarList"):
        _step_of_one(f"_foreach_{_name}.{_overload}", _name)


def _declare(name: str, of_two: Kernel) -> None:
    def with_number(x: torch.Tensor, number: Any) -> torch.Tensor:
        dtype = torch.result_type(x, number)
        return of_two(*in_type(dtype, x, number))

    def of_lists(self: _Tensors, other: _Tensors) -> _Tensors:
        return [of_two(x, y) for x, y in zip(self, other, strict=True)]

    def of_number(self: _Tensors, scalar: Any) -> _Tensors:
        return [with_number(x, scalar) for x in self]

    def of_numbers(self: _Tensors, scalars: list[Any]) -> _Tensors:
        return [with_number(x, number) for x, number in zip(self, scalars, strict=True)]

    for overload, compute in (("List", of_lists), ("Scalar", of_number), ("ScalarList", of_numbers)):
        enter(OfEach(f"{name}.{overload}", compute, **ANY_DTYPE))


def _clones(self: _Tensors, *, memory_format: torch.memory_format | None = None) -> _Tensors:
    return [torch.clone(x, memory_format=memory_format or torch.preserve_format) for x in self]


def _sums_of_powers(self: _Tensors, ord: float = 2, dtype: torch.dtype | None = None) -> _Tensors:
    return [torch.sum(pow_tensor_scalar(torch.abs(x), ord), dtype=dtype) for x in self]


enter(OfEach("_foreach_clone", _clones, **ANY_DTYPE))
enter(OfEach("_foreach_powsum.Scalar", _sums_of_powers, **ANY_DTYPE))
_declare("_foreach_maximum", torch.maximum)
_declare("_foreach_minimum", torch.minimum)
