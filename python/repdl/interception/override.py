# SPDX-License-Identifier: MIT
"""How an aten overload is taken over: a function of its arguments, declared once, with what to do for other types.

    @override("mm")
    def _(self, mat2): ...

The function sees float32 tensors (and integers beside them), on the CPU, below autograd. From it come the variants of
the overload that write into a given tensor ("mm.out", "exp_"), found by their schemas, and the low-precision form:
operands are widened exactly, the results rounded once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from inspect import unwrap
from typing import Any

import torch
from torch._prims_common import compute_elementwise_output_logical_to_physical_perm as physical_order

from repdl import _core
from repdl.interception import core
from repdl.interception.native import is_there, native_of, schemas
from repdl.interception.strict import native_within, not_reproducible

Kernel = Callable[..., Any]
Ops = Mapping[str, Kernel]

# What a call's tensors are, as bits.
FLOAT32, LOW, FLOAT64, OTHER, COMPLEX = 1, 2, 4, 8, 16
WIDE = FLOAT64 | COMPLEX
_KINDS = {
    torch.float32: FLOAT32,
    torch.bfloat16: LOW,
    torch.float16: LOW,
    torch.float64: FLOAT64,
    torch.complex32: COMPLEX,
    torch.complex64: COMPLEX,
    torch.complex128: COMPLEX,
}

_NO_TENSORS = frozenset({bool, int, float, str, type(None)})

float64_ops: dict[str, Kernel] = {}
"""Ops of float64 tensors: those of the core that take them, and others by its names and with its arguments, which are
in interception/float64."""


complex_ops: dict[str, Kernel] = {}
"""Ops of complex tensors, in the same way: interception/aten/complex_functions.py."""


def ops_of(x: torch.Tensor) -> Ops:
    """The ops that take a tensor: those of complex numbers, or the core's."""
    return complex_ops if x.is_complex() else core.ops


ANY_DTYPE: dict[str, Any] = {"low": "compute", "wide": "compute", "integers": "compute"}
"""Settings of an override whose function takes tensors of any type."""


@dataclass(frozen=True)
class Override:
    """What is registered for one overload, and for its in-place and out= variants.

    name: "add.Tensor".
    compute: the function, of float32 tensors.
    low: what a call with bfloat16 or float16 does: "widen"; "first", which also widens, and rounds the first result to
        the type of the first operand, and others to that of the next one, if any; "alike", which widens operands of one
        type, and refuses others as torch does; or "compute" if the function takes them.
    wide: what a call with float64 or complex numbers does: "refuse"; "compute"; "native" where torch's own kernel is
        exact; or "float64", which calls the function and refuses complex numbers.
    complex: whether, with "float64", complex numbers are not refused, but go to the op of `complex_ops` if the function
        is the op itself, or to the function, with these as its argument `ops` if it takes one.
    integers: what a call without floating-point tensors does: "native", "float32" (a conversion first, to torch's
        default type), or "compute".
    elementwise: whether the result takes its layout from the operands, as torch's pointwise results do.
    op: the op of the core that takes the same arguments. Then ordinary calls go straight to it, and `compute` has the
        others, such as strided operands and wrong shapes.
    contiguous: whether the tensors of an ordinary call are row-major, as its result is.
    rank: of the tensors of an ordinary call; 0 for any.
    in_place: whether the op may write its result over its first argument.
    converts: whether `out` may be of another type than the result.
    constants: by their place, the arguments that the op does not have, and what they are in an ordinary call.
    of_constants: ops of the core that take the first arguments alone, and stand for a call of float32 where those at
        these places are what is said here.
    choices: by their place, the arguments that torch gives as numbers, and what the op calls each.
    """

    name: str
    compute: Kernel
    low: str = "widen"
    wide: str = "refuse"
    complex: bool = False
    integers: str = "native"
    elementwise: bool = False
    op: str = ""
    contiguous: bool = False
    rank: int = 0
    in_place: bool = False
    converts: bool = True
    constants: Mapping[int, object] = field(default_factory=dict)
    of_constants: Mapping[str, Mapping[int, object]] = field(default_factory=dict)
    choices: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def kernels(self, native: Kernel) -> Iterator[tuple[str, Kernel]]:
        """The kernels of the overload and its variants, given torch's own for the overload; none if torch lacks it."""
        if not is_there(self.name):
            return
        kernel = self.bind(native)
        yield self.name, self.short_cut(_core.OverrideTarget.NEW, self.chosen(self.name, kernel))
        for name, target, make in variants(self.name, self.converts):
            yield name, self.short_cut(target, native_within(name, self.chosen(name, make(kernel))))

    def chosen(self, name: str, kernel: Kernel) -> Kernel:
        """What a variant runs where the call is not an ordinary one."""
        return kernel

    def short_cut(self, target: _core.OverrideTarget | None, kernel: Kernel) -> Kernel:
        if target is None:
            return kernel
        for op, constants in self.of_constants.items():
            kernel = _core.make_override(
                op, target, self.elementwise, False, False, self.rank, False, dict(constants), {}, kernel
            )
        if not self.op:
            return kernel
        low = self.low == "compute"
        special = self.contiguous, self.rank, self.in_place, dict(self.constants), dict(self.choices)
        return _core.make_override(self.op, target, self.elementwise, low, *special, kernel)

    def bind(self, native: Kernel) -> Kernel:
        """The kernel, given torch's own."""
        compute = self._laid_out(self.compute)

        def refuse(*args: Any, **kwargs: Any) -> Any:
            narrow = narrowed(args)
            if narrow is not None and not kinds_of(kwargs.values()) & WIDE:
                return kernel(*narrow, **kwargs)
            return not_reproducible(self.name, args, kwargs, native, why="dtype")

        ways: dict[str, Kernel] = {
            "compute": compute,
            "native": native,
            "refuse": refuse,
            "float64": self.in_float64(refuse) if self.wide == "float64" else refuse,
            "widen": rounded_once(compute),
            "first": first_rounded(compute),
            "alike": of_one_type(rounded_once(compute)),
            "float32": lambda *args, **kwargs: kernel(*map(_to_floating, args), **kwargs),
        }
        low, wide, integers = ways[self.low], ways[self.wide], ways[self.integers]
        if self.elementwise and self.low == "compute":
            low = as_operands(low)

        def of_any_dtype(*args: Any, **kwargs: Any) -> Any:
            try:
                return compute(*args, **kwargs)
            except ValueError as error:
                raise RuntimeError(str(error)) from error

        if low is wide is integers is compute:
            return of_any_dtype

        def kernel(*args: Any, **kwargs: Any) -> Any:
            kinds = kinds_of(args)
            if kwargs:
                kinds |= kinds_of(kwargs.values())
            try:
                if kinds & FLOAT32 and not kinds & (LOW | WIDE):
                    return compute(*args, **kwargs)
                if kinds & WIDE:
                    return wide(*args, **kwargs)
                if kinds & LOW:
                    return low(*args, **kwargs)
                return integers(*args, **kwargs)
            except ValueError as error:  # of an op of the core; torch's kernels raise RuntimeError
                raise RuntimeError(str(error)) from error

        return kernel

    def in_float64(self, refuse: Kernel) -> Kernel:
        """The kernel of float64 and complex numbers, given what refuses a call or narrows it."""
        compute = self._laid_out(self.compute)
        of_complex = self._of_complex(refuse) if self.complex else refuse

        def kernel(*args: Any, **kwargs: Any) -> Any:
            kinds = kinds_of(args) | kinds_of(kwargs.values()) if kwargs else kinds_of(args)
            if kinds & COMPLEX:
                return (refuse if _is_half(args) else of_complex)(*args, **kwargs)
            if not kinds & (FLOAT32 | LOW):  # nothing to convert
                return compute(*args, **kwargs)
            if narrowed(args) is not None:
                return refuse(*args, **kwargs)
            return compute(*map(_to_float64, args), **{name: _to_float64(value) for name, value in kwargs.items()})

        return of_one_type(kernel) if self.low == "alike" else kernel

    def _of_complex(self, refuse: Kernel) -> Kernel:
        """The function with ops of complex numbers; or the op itself, where the function is one."""
        if self.compute is core.ops.get(self.op):
            compute = complex_ops.get(self.op, refuse)
        elif _takes_ops(self.compute):
            compute = partial(self.compute, ops=complex_ops)
        else:
            compute = self.compute
        return self._laid_out(compute)

    def _laid_out(self, compute: Kernel) -> Kernel:
        return laid_out(compute) if self.elementwise else compute


def _takes_ops(function: Kernel) -> bool:
    """Sooner than inspect.signature, which the first `enable` would wait for."""
    code = getattr(unwrap(function), "__code__", None)
    return code is not None and "ops" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@dataclass(frozen=True)
class ForComplex(Override):
    """An override for complex numbers alone: torch's kernels, that of each variant, are exact for all others."""

    def chosen(self, name: str, kernel: Kernel) -> Kernel:
        native = native_of(name)

        def choose(*args: Any, **kwargs: Any) -> Any:
            return (kernel if has_complex(args) else native)(*args, **kwargs)

        return choose


def has_complex(values: Any) -> bool:
    for value in values:  # noqa: SIM110 - any() takes longer, and this is in the way of every product
        if value.is_complex() if isinstance(value, torch.Tensor) else type(value) is complex:
            return True
    return False


def _is_half(values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) and value.dtype == torch.complex32 for value in values)


overrides: dict[str, Override] = {}
"""Every declared override by the name of its overload."""

composites: dict[str, Kernel] = {}
"""Functions that stand for a composite op, above autograd: they are made of differentiable torch calls."""


layouts: dict[str, dict[str, Kernel]] = {}
"""By dispatch key, kernels for tensors that are not dense."""


def enter(declared: Override) -> None:
    """Enters an override in the table, which has one for each overload."""
    if (other := overrides.get(declared.name)) is not None:
        raise ValueError(f"{declared.name} has two kernels: {other.compute} and {declared.compute}")
    overrides[declared.name] = declared


def _enter_once(table: dict[str, Kernel], name: str, kernel: Kernel) -> None:
    if table.setdefault(name, kernel) is not kernel:
        raise ValueError(f"{name} has two kernels: {table[name]} and {kernel}")


def override(*names: str, **settings: Any) -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of these overloads; `Override` explains the settings."""

    def declare(compute: Kernel) -> Kernel:
        for name in names:
            enter(Override(name, compute, **settings))
        return compute

    return declare


def for_complex(name: str, elementwise: bool = False, op: str = "") -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of an overload for complex numbers, and of its variants.

    With `op`, that of the core which does the same for real numbers: it tells them sooner than a kernel in Python.
    """

    def declare(compute: Kernel) -> Kernel:
        enter(ForComplex(name, compute, elementwise=elementwise, op=op, **ANY_DTYPE))
        return compute

    return declare


def composite(name: str) -> Callable[[Kernel], Kernel]:
    """Declares a function as the composite op of that name."""

    def declare(function: Kernel) -> Kernel:
        _enter_once(composites, name, function)
        return function

    return declare


def layout(key: str, *names: str) -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of these overloads at a dispatch key of tensors that are not dense."""

    def declare(kernel: Kernel) -> Kernel:
        for name in names:
            _enter_once(layouts.setdefault(key, {}), name, kernel)
        return kernel

    return declare


def kinds_of(values: Any) -> int:
    kinds = 0
    for value in values:
        kind = type(value)
        if kind in _NO_TENSORS:  # sooner told than by isinstance, and this is in the way of every kernel in Python
            continue
        if kind is torch.Tensor or isinstance(value, torch.Tensor):
            kinds |= _KINDS.get(value.dtype, OTHER)
        elif kind is list or kind is tuple:
            for item in value:
                if isinstance(item, torch.Tensor):
                    kinds |= _KINDS.get(item.dtype, OTHER)
    return kinds


def _to_floating(value: Any) -> Any:
    return value.to(torch.get_default_dtype()) if isinstance(value, torch.Tensor) else value


def _to_float64(value: Any) -> Any:
    return value.to(torch.float64) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def floating_type(values: Any) -> torch.dtype:
    """The floating-point type of a result, by torch's rule: single numbers count only among themselves."""
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    wide = [v for v in tensors if v.dim() > 0] or tensors
    return reduce(torch.promote_types, (v.dtype for v in wide))


def narrowed(args: tuple[Any, ...]) -> list[Any] | None:
    """Arguments whose only wide tensors are single numbers beside a narrower tensor: torch gives them its type."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    wide = [t for t in tensors if _KINDS.get(t.dtype, 0) & WIDE]
    if any(t.dim() > 0 or t.is_complex() for t in wide) or not any(t.is_floating_point() and t.dim() for t in tensors):
        return None
    dtype = floating_type(tensors)
    return [a.to(dtype) if isinstance(a, torch.Tensor) and _KINDS.get(a.dtype, 0) & WIDE else a for a in args]


def rounded_once(compute: Kernel) -> Kernel:
    """From a kernel of float32 to one of bfloat16 and float16: widened, computed, and each result rounded once."""

    def low(*args: Any, **kwargs: Any) -> Any:
        dtype = floating_type([*args, *kwargs.values()])

        result = compute(*map(_widen, args), **{name: _widen(value) for name, value in kwargs.items()})
        return map_tensors(lambda t: t.to(dtype) if t.is_floating_point() else t, result)

    return low


def as_operands(compute: Kernel) -> Kernel:
    """Rounds the result to the type of the tensors, where a number beside single ones has made it float32."""

    def low(*args: Any, **kwargs: Any) -> Any:
        result = compute(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.dtype == torch.float32 and not kinds_of(args) & FLOAT32:
            return result.to(floating_type(args))
        return result

    return low


def first_rounded(compute: Kernel) -> Kernel:
    """As `rounded_once`, where the first result gets the type of the first operand, others that of the parameters."""

    def low(input: torch.Tensor, *args: Any) -> Any:
        given = next((a.dtype for a in args if isinstance(a, torch.Tensor)), input.dtype)
        first, *others = compute(_widen(input), *map(_widen, args))
        return first.to(input.dtype), *(t.to(given) for t in others)

    return low


def of_one_type(kernel: Kernel) -> Kernel:
    def checked(*args: Any, **kwargs: Any) -> Any:
        dtypes = {a.dtype for a in args if isinstance(a, torch.Tensor)}
        if len(dtypes) > 1:
            raise RuntimeError(f"expected operands of the same dtype, but got {' and '.join(sorted(map(str, dtypes)))}")
        return kernel(*args, **kwargs)

    return checked


def _widen(value: Any) -> Any:
    is_low = isinstance(value, torch.Tensor) and _KINDS.get(value.dtype) == LOW
    return value.to(torch.float32) if is_low else value


def map_tensors(change: Callable[[torch.Tensor], Any], value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(change, item) for item in value)
    return value


_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def memory_format(*operands: torch.Tensor) -> torch.memory_format:
    """That of a result: channels last if one of the operands is."""
    for x in operands:
        channels_last = _CHANNELS_LAST.get(x.dim())
        if channels_last and not x.is_contiguous() and x.is_contiguous(memory_format=channels_last):
            return channels_last
    return torch.contiguous_format


def laid_out(compute: Kernel) -> Kernel:
    """Gives the result of a pointwise kernel the strides that torch would give it: those of its operands, in order.

    A single number is not expanded: it would count in the type of the result.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if all(t.is_contiguous() for t in tensors):
            return compute(*args, **kwargs)
        rank = max(t.dim() for t in tensors)
        shape = torch.broadcast_shapes(*(t.shape for t in tensors))
        full = [t.expand(shape) if t.dim() else t for t in tensors]
        order, _ = physical_order(*(t for t, own in zip(full, tensors, strict=True) if own.dim() == rank))
        back = sorted(range(rank), key=order.__getitem__)
        turned = iter([t.permute(order) if t.dim() else t for t in full])
        result = compute(*(next(turned) if isinstance(a, torch.Tensor) else a for a in args), **kwargs)
        return map_tensors(lambda t: t.permute(back), result)

    return kernel


def variants(
    name: str, converts: bool = True
) -> Iterator[tuple[str, _core.OverrideTarget | None, Callable[[Kernel], Kernel]]]:
    """The overloads that compute the same as a functional one into a given tensor, and how they are made of it."""
    packet = name.partition(".")[0]
    same = schemas(packet)
    if name not in same:
        return
    taken = [(a.name, str(a.type)) for a in same[name].arguments]
    for other, schema in same.items():
        outs = [a.name for a in schema.arguments if a.is_out]
        if outs and [(a.name, str(a.type)) for a in schema.arguments if not a.is_out] == taken:
            yield other, _core.OverrideTarget.OUT if outs == ["out"] else None, into(outs, converts)
    for other, schema in schemas(packet + "_").items():
        if [(a.name, str(a.type)) for a in schema.arguments] == taken:
            yield other, _core.OverrideTarget.FIRST_ARGUMENT, in_place


def in_place(kernel: Kernel) -> Kernel:
    def changed(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        result = kernel(self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        if not torch.can_cast(result.dtype, self.dtype):
            raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {self.dtype}")
        return self.copy_(result)

    return changed


def into(outs: list[str], converts: bool = True) -> Callable[[Kernel], Kernel]:
    def make(kernel: Kernel) -> Kernel:
        def filled(*args: Any, **kwargs: Any) -> Any:
            targets = [kwargs.pop(name) for name in outs]
            results = kernel(*args, **kwargs)
            if isinstance(targets[0], list):
                for target, result in zip(targets[0], results, strict=True):
                    fill(target, result, converts)
                return None
            if len(outs) == 1:
                return fill(targets[0], results, converts)
            return tuple(fill(target, result, converts) for target, result in zip(targets, results, strict=True))

        return filled

    return make


def fill(target: torch.Tensor, result: torch.Tensor, converts: bool = True) -> torch.Tensor:
    """Writes a result into the tensor given for it, which is resized, with torch's warning if it held elements."""
    if not converts and result.dtype != target.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {target.dtype} instead")
    if not torch.can_cast(result.dtype, target.dtype):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {target.dtype}")
    if target.shape != result.shape:
        if target.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does "
                f"not match the required output shape {list(result.shape)}. Resize the out "
                "tensor to no elements first, t.resize_(0)",
                stacklevel=3,
            )
        target.resize_(result.shape)
    return target.copy_(result)
