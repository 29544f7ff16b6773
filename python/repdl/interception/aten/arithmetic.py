# SPDX-License-Identifier: MIT
"""Arithmetic with a product before a sum, which torch fuses on some machines. Here every step is rounded."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.aten.functions import pow_scalar
from repdl.interception.dtypes import LOW, kinds_of
from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.operands import check_factors, of_common_type
from repdl.interception.override import ANY_DTYPE, on_devices, override
from repdl.interception.rounding import rounded_once
from repdl.interception.variants import check_shape, fill

# Of any dtype: where the op does not take a call, a step is torch's own kernel, which rounds once.
_STEPS: dict[str, Any] = {"wide": "compute", "integers": "compute"}


def _with_alpha(name: str, op: str) -> None:
    native = native_of(name)

    def in_steps(self: Any, other: Any, alpha: Any) -> torch.Tensor:
        if isinstance(other, torch.Tensor):
            other = other.to(torch.result_type(self, other))
        return native(self, other * alpha)

    rounded = rounded_once(in_steps)

    def kernel(self: Any, other: Any, *, alpha: Any = 1) -> torch.Tensor:
        if isinstance(alpha, bool):
            return native(self, other, alpha=alpha)  # which takes it for truth values alone
        if alpha == 1:
            return native(self, other)
        dtype = torch.result_type(self, other)
        check_factors(dtype, alpha=alpha)
        is_whole = not (dtype.is_floating_point or dtype.is_complex)
        if is_whole or (op == "sub" and torch.bool in (getattr(self, "dtype", None), getattr(other, "dtype", None))):
            return native(self, other, alpha=alpha)  # which is exact, or refuses it
        return (rounded if kinds_of((self, other)) & LOW else in_steps)(self, other, alpha)

    override(name, op=op, pairs=f"complex_{op}", low="compute", whole=True, elementwise=True, **_STEPS)(kernel)


def _may_be_scaled(*operands: Any) -> bool:
    return any(t.is_floating_point() or t.is_complex() for t in operands if isinstance(t, torch.Tensor))


_with_alpha("add.Tensor", "add")
_with_alpha("sub.Tensor", "sub")


@override("rsub.Tensor", whole=True, **_STEPS)
def rsub_tensor(self: Any, other: Any, *, alpha: Any = 1) -> torch.Tensor:
    return torch.sub(other, self, alpha=alpha)


@override("addcmul", op="addcmul", elementwise=True, wide="compute")
def addcmul(self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: Any = 1) -> torch.Tensor:
    """Of integers torch's own kernel, which cuts the value to one."""
    self, tensor1, tensor2 = of_common_type(self, tensor1, tensor2)
    check_factors(self.dtype, value=value)
    return self + (tensor1 if value == 1 else tensor1 * value) * tensor2


_native_addcdiv = native_of("addcdiv")


@override("addcdiv", op="addcdiv", elementwise=True, **_STEPS)
def addcdiv(self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: Any = 1) -> torch.Tensor:
    if not _may_be_scaled(tensor1, tensor2):
        return _native_addcdiv(self, tensor1, tensor2, value=value)  # which refuses integers
    self, tensor1, tensor2 = of_common_type(self, tensor1, tensor2)
    check_factors(self.dtype, value=value)
    return self + (tensor1 if value == 1 else tensor1 * value) / tensor2


@override("lerp.Scalar", op="lerp", elementwise=True, wide="compute", alike=(0, 1))
def lerp_scalar(self: torch.Tensor, end: torch.Tensor, weight: Any) -> torch.Tensor:
    return _lerp(self, end, torch.full((), weight, dtype=self.dtype))


def _has_other_weights(self: torch.Tensor, end: torch.Tensor, weight: torch.Tensor) -> bool:
    return weight.dim() > 0 and weight.dtype != self.dtype


@override("lerp.Tensor", op="lerp_tensor", elementwise=True, wide="compute", alike=(0, 1), refused=_has_other_weights)
def lerp_tensor(self: torch.Tensor, end: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        dtype = torch.result_type(self, weight)
        self, end = self.to(dtype), end.to(dtype)
    is_whole = not (weight.is_floating_point() or weight.is_complex())
    return _lerp(self, end, weight.to(self.dtype) if is_whole else weight)


def _lerp(start: torch.Tensor, end: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """From the nearer end, as torch: start + weight * (end - start), or end - (end - start) * (1 - weight)."""
    difference = end - start
    near = weight.abs() < 0.5
    if weight.dim() == 0:
        return start + difference * weight if near else end - difference * (1 - weight)
    near = near.contiguous()  # the strides of a result are those of `start` before those of the weight
    return torch.where(near, start + difference * weight, end - difference * (1 - weight))


_native_arange, _native_range = native_of("arange.start_out"), native_of("range.out")

_WHOLE = {torch.float32: 2**24, torch.float64: 2**53}
"""Up to here whole numbers, and steps between them, are exact."""


@override("arange.start_out", whole=True, **ANY_DTYPE)
def arange(start: Any, end: Any, step: Any = 1, *, out: torch.Tensor) -> torch.Tensor:
    """start + i * step in float64, rounded once more to another type. torch's own counts from where a thread begins."""
    return _by_place(_native_arange(start, end, step, out=out), start, end, step)


@override("range.out", **ANY_DTYPE)
def range_(start: Any, end: Any, step: Any = 1, *, out: torch.Tensor) -> torch.Tensor:
    """As arange, with the end."""
    return _by_place(_native_range(start, end, step, out=out), start, end, step)


@on_devices("range.out")
def range_on_devices(start: Any, end: Any, step: Any = 1, *, out: torch.Tensor) -> torch.Tensor:
    """That of the CPU: on devices torch counts the terms in float32, and has another number of them."""
    found = _native_range(start, end, step, out=torch.empty(0, dtype=out.dtype, device="cpu"))
    return out.resize_(found.shape).copy_(found)


def _by_place(out: torch.Tensor, start: Any, end: Any, step: Any) -> torch.Tensor:
    is_floating = out.is_floating_point()
    if not is_floating or (start == int(start) and step == int(step) and _ends_below(out, start, end)):
        return out
    place = torch.arange(out.numel(), dtype=torch.float64)
    return out.copy_((place * float(step) + float(start)).reshape(out.shape))


def _ends_below(out: torch.Tensor, start: Any, end: Any) -> bool:
    return bool(max(abs(start), abs(end)) <= _WHOLE.get(out.dtype, 0))


@override("linspace", **_STEPS)
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **options: Any) -> torch.Tensor:
    """From both ends to the middle, as torch: start + step * i, and end - step * (steps - 1 - i) in the upper half."""
    dtype = dtype or torch.get_default_dtype()
    if dtype.is_complex or isinstance(start, complex) or isinstance(end, complex):
        wide = dtype if dtype.is_complex else torch.get_default_dtype().to_complex()
        ends = complex(start), complex(end)
        parts = ((ends[0].real, ends[1].real), (ends[0].imag, ends[1].imag))
        return torch.complex(*(torch.linspace(a, b, steps, dtype=wide.to_real()) for a, b in parts)).to(wide)
    if not dtype.is_floating_point:
        return torch.linspace(float(int(start)), float(int(end)), steps, dtype=torch.float64).to(dtype)
    if dtype in LOW_DTYPES:
        return torch.linspace(start, end, steps, dtype=torch.float32).to(dtype)
    if steps < 2:
        return torch.full((steps,), float(start), dtype=dtype)
    return core.ops["spaced"](torch.arange(steps, dtype=dtype), float(start), float(end), steps)


@override("linspace.out", **ANY_DTYPE)
def linspace_out(start: Any, end: Any, steps: int, *, out: torch.Tensor) -> torch.Tensor:
    if out.numel() != steps:
        out.resize_(steps)  # here torch does not warn
    return fill(out, torch.linspace(start, end, steps, dtype=out.dtype))


@override("logspace.out", **ANY_DTYPE)
def logspace_out(start: Any, end: Any, steps: int, base: float = 10.0, *, out: torch.Tensor) -> torch.Tensor:
    """The base to the powers that `linspace` gives."""
    if out.numel() != steps:
        out.resize_(steps)
    wide = out.dtype if out.dtype.is_floating_point or out.dtype.is_complex else torch.float32
    return fill(out, pow_scalar(base, torch.linspace(start, end, steps, dtype=wide)).to(out.dtype))


@override("ldexp.out", **ANY_DTYPE)
def ldexp_out(self: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    """In place too: of the three, ldexp alone is made of ops that torch's dispatcher sees."""
    result = torch.ldexp(self, other)
    if out is self:
        check_shape(out, result)
    return fill(out, result)
