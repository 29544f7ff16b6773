# SPDX-License-Identifier: MIT
"""How an aten overload is taken over: a function of its arguments, declared once, with what to do for other types.

    @override("mm")
    def mm(self, mat2): ...

The function sees float32 tensors (and integers beside them), on the CPU, below autograd. From it come the variants of
the overload that write into a given tensor ("mm.out", "exp_"), found by their schemas, and the low-precision form:
operands are widened exactly, the results rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import unwrap
from typing import Any

import torch

from repdl import _core
from repdl.interception import core
from repdl.interception.devices import on_any
from repdl.interception.dtypes import (
    COMPLEX,
    FLOAT32,
    FLOAT64,
    KINDS,
    LOW,
    WIDE,
    has_complex,
    is_complex_half,
    kinds_of,
    narrowed,
    to_float64,
    to_floating,
)
from repdl.interception.exact import is_exact_on_cuda
from repdl.interception.native import Kernel, Native, Recorded, device_of, elsewhere, is_there, native_of
from repdl.interception.ops_by_dtype import complex_ops
from repdl.interception.rounding import as_operands, first_rounded, of_one_type, rounded_once
from repdl.interception.strict import native_within, not_reproducible, with_variants
from repdl.interception.strides import laid_out
from repdl.interception.variants import ForOut, variants

ANY_DTYPE: dict[str, Any] = {"low": "compute", "wide": "compute", "integers": "compute"}
"""Settings of an override whose function takes tensors of any type."""


@dataclass(frozen=True)
class Override:
    """What is registered for one overload, and for its in-place and out= variants.

    name: "add.Tensor".
    compute: the function, of float32 tensors.
    low: what a call with bfloat16 or float16 does: "widen"; "first", which also widens, and rounds the first result to
        the type of the first operand, as with float64 a single one, and others to that of the next one, if any;
        "alike", which widens operands of one type, and refuses others as torch does; or "compute" if the function takes
        them, or "steps" if the op does not do the same.
    wide: what a call with float64 or complex numbers does: "refuse"; "compute"; "native" where torch's own kernel is
        exact; or "float64", which calls the function and refuses complex numbers.
    complex: whether, with "float64", complex numbers are not refused, but go to the op of `complex_ops` if the function
        is the op itself, or to the function, with these as its argument `ops` if it takes one.
    alike: the places of operands that torch wants of one type.
    beside_float32: whether the others of these may be float32 where the first one is bfloat16 or float16.
    refused: whether torch refuses a call for its dtypes, as they are before anything is converted.
    integers: what a call without floating-point tensors does: "native", "float32" (a conversion first, to torch's
        default type), "compute", or "dtype", which is "compute" where the argument of that name is floating-point or
        complex, and else "native".
    whole: whether torch's own kernel does a call with integers alone, though the function takes them.
    elementwise: whether the result takes its layout from the operands, as torch's pointwise results do.
    op: the op of the core that takes the same arguments. Then ordinary calls go straight to it, and `compute` has the
        others, such as strided operands and wrong shapes.
    pairs: the op of the core that takes complex numbers as pairs, and has their ordinary calls.
    to_real: whether that one gives real numbers.
    from_real: whether it takes real numbers.
    contiguous: whether the tensors of an ordinary call are row-major, as its result is.
    unless: is called each time, and says that a call is no ordinary one where the arguments do not show it.
    rank: of the tensors of an ordinary call; 0 for any.
    in_place: whether the op may write its result over its first argument.
    converts: whether tensors given for results may be of other types; by default a single one may, and none of several.
    for_out: from the type of `out` and the arguments of a call to those of the one that fills it, where that type has
        a say in how the result is computed.
    constants: by their place, the arguments that the op does not have, and what they are in an ordinary call; `...`
        where that does not matter, `torch.dtype` for the one that the tensors have, a slice for the product of those
        sizes of the first tensor.
    of_constants: ops of the core that take the first arguments alone, and stand for a call of float32 where those at
        these places are what is said here.
    choices: by their place, the arguments that torch gives as numbers, and what the op calls each.
    moved: by their place, the arguments that the op has at another one, and their names there.
    last_dims: the argument of the op that names the last dimensions of the first tensor, in order, in an ordinary call.
    below_terms: the one that is less than the number of terms of each result there.
    transposed: the arguments of the op that are matrices, and transposes of torch's.
    results: what torch has in the place of each result of the op, if it has not just these: a name of `OverrideResult`.
    """

    name: str
    compute: Kernel
    low: str = "widen"
    wide: str = "refuse"
    complex: bool = False
    alike: tuple[int, ...] = ()
    beside_float32: bool = False
    refused: Callable[..., bool] | None = None
    integers: str = "native"
    whole: bool = False
    elementwise: bool = False
    op: str = ""
    pairs: str = ""
    to_real: bool = False
    from_real: bool = False
    contiguous: bool = False
    unless: Callable[[], bool] | None = None
    rank: int = 0
    in_place: bool = False
    converts: bool | None = None
    for_out: ForOut | None = None
    constants: Mapping[int, object] = field(default_factory=dict)
    of_constants: Mapping[str, Mapping[int, object]] = field(default_factory=dict)
    choices: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    moved: Mapping[int, str] = field(default_factory=dict)
    last_dims: str = ""
    below_terms: str = ""
    transposed: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    def kernels(self, native: Kernel) -> Iterator[tuple[str, Kernel]]:
        """The kernels of the overload and its variants, given torch's own for the overload; none if torch lacks it."""
        if not is_there(self.name):
            return
        kernel = self.bind(native)
        yield self.name, self.short_cut(_core.OverrideTarget.NEW, on_any(self.name, self.chosen(self.name, kernel)))
        for name, target, make in variants(self.name, self.converts, self.for_out, self.elementwise):
            yield name, self.short_cut(target, on_any(name, native_within(name, self.chosen(name, make(kernel)))))

    def chosen(self, name: str, kernel: Kernel) -> Kernel:
        """What a variant runs where the call is not an ordinary one."""
        return kernel

    def takes_natively(self) -> bool:
        """Whether torch's own kernel of each variant is what a call with integers alone comes to."""
        is_checked = self.alike or self.refused is not None or self.unless is not None
        return (self.whole or self.integers in ("native", "dtype")) and not is_checked

    def short_cut(self, target: _core.OverrideTarget | None, kernel: Kernel) -> Kernel:
        if target is None:
            return kernel
        for op, constants in self.of_constants.items():
            kernel = _core.make_override(
                op, target, kernel, pointwise=self.elementwise, rank=self.rank, constants=dict(constants)
            )
        settings: dict[str, Any] = {
            "pointwise": self.elementwise,
            "contiguous": self.contiguous,
            "rank": self.rank,
            "alike": bool(self.alike),
            "in_place": self.in_place,
            "constants": dict(self.constants),
            "choices": dict(self.choices),
            "moved": dict(self.moved),
            "last_dims": self.last_dims,
            "below_terms": self.below_terms,
        }
        quick = kernel
        if self.pairs:
            numbers = {(False, False): "COMPLEX", (True, False): "COMPLEX_TO_REAL", (False, True): "REAL_TO_COMPLEX"}
            way = _core.OverrideNumbers[numbers[self.to_real, self.from_real]]
            quick = _core.make_override(self.pairs, target, quick, numbers=way, **settings)
        if self.op:
            low = self.low in ("compute", "widen", "first", "alike") and self.refused is None
            results = [_core.OverrideResult[name] for name in self.results]
            quick = _core.make_override(
                self.op, target, quick, low=low, transposed=self.transposed, results=results, **settings
            )
        if quick is kernel:
            return kernel
        if (unless := self.unless) is None:
            return quick

        def choose(*args: Any, **kwargs: Any) -> Any:
            return (kernel if unless() else quick)(*args, **kwargs)

        return choose

    def bind(self, native: Kernel) -> Kernel:
        """The kernel, given torch's own."""
        kernel = self._of_dtypes(native)
        if self.alike:
            kernel = of_one_type(kernel, self.alike, self.beside_float32)
        if (refused := self.refused) is None:
            return kernel

        def checked(*args: Any, **kwargs: Any) -> Any:
            if refused(*args, **kwargs):
                return not_reproducible(self.name, args, kwargs, native, why="dtype")
            return kernel(*args, **kwargs)

        return checked

    def _of_dtypes(self, native: Kernel) -> Kernel:
        compute = self._laid_out(self.compute)

        def refuse(*args: Any, **kwargs: Any) -> Any:
            narrow = narrowed(args)
            if narrow is not None and not kinds_of(kwargs.values()) & WIDE:
                return kernel(*narrow, **kwargs)
            return not_reproducible(self.name, args, kwargs, native, why="dtype")

        of_integers = with_variants(self.name, native)

        def by_dtype(*args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
            way = compute if dtype in KINDS else of_integers
            return way(*args, dtype=dtype, **kwargs)

        ways: dict[str, Kernel] = {
            "compute": compute,
            "steps": compute,
            "native": of_integers,
            "dtype": by_dtype,
            "refuse": refuse,
            "float64": self.in_float64(refuse) if self.wide == "float64" else refuse,
            "widen": rounded_once(compute),
            "first": first_rounded(compute),
            "alike": of_one_type(rounded_once(compute)),
            "float32": lambda *args, **kwargs: kernel(*map(to_floating, args), **kwargs),
        }
        low, wide, integers = ways[self.low], ways[self.wide], ways[self.integers]
        if self.elementwise and self.low == "compute":
            low = as_operands(low)

        def of_any_dtype(*args: Any, **kwargs: Any) -> Any:
            try:
                return compute(*args, **kwargs)
            except (ValueError, TypeError) as error:
                raise _as_of_torch(error) from error

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
            except (ValueError, TypeError) as error:
                raise _as_of_torch(error) from error

        return kernel

    def in_float64(self, refuse: Kernel) -> Kernel:
        """The kernel of float64 and complex numbers, given what refuses a call or narrows it."""
        compute = self._laid_out(self.compute)
        of_complex = self._of_complex(refuse) if self.complex else refuse

        def kernel(*args: Any, **kwargs: Any) -> Any:
            kinds = kinds_of(args) | kinds_of(kwargs.values()) if kwargs else kinds_of(args)
            if kinds & COMPLEX:
                return (refuse if is_complex_half(args) else of_complex)(*args, **kwargs)
            if not kinds & (FLOAT32 | LOW):  # nothing to convert
                return compute(*args, **kwargs)
            if narrowed(args) is not None:
                return refuse(*args, **kwargs)
            result = compute(*map(to_float64, args), **{name: to_float64(value) for name, value in kwargs.items()})
            return result.to(args[0].dtype) if of_first and isinstance(result, torch.Tensor) else result

        of_first = self.low == "first"
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
    """Reads the names of the arguments from the code object: inspect.signature would slow down the first `enable`."""
    code = getattr(unwrap(function), "__code__", None)
    return code is not None and "ops" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@dataclass(frozen=True)
class ForComplex(Override):
    """An override for complex numbers alone: torch's kernels, that of each variant, are exact for all others."""

    def kernels(self, native: Kernel) -> Iterator[tuple[str, Kernel]]:
        for name, kernel in super().kernels(native):
            of_reals = native_of(name)
            yield name, kernel if self.op else _core.make_for_reals(of_reals.kernel.call_boxed, of_reals.keys, kernel)

    def takes_natively(self) -> bool:
        return True

    def chosen(self, name: str, kernel: Kernel) -> Kernel:
        native = native_of(name)
        of_reals = _on_cpu_or_whole(native, kernel) if self.op else native

        def choose(*args: Any, **kwargs: Any) -> Any:
            return (kernel if has_complex(args) else of_reals)(*args, **kwargs)

        return choose


def _on_cpu_or_whole(native: Native, kernel: Kernel) -> Kernel:
    """torch's own kernel, but for real numbers on a device, where only the op is known to give the same bits."""

    def run(*args: Any, **kwargs: Any) -> Any:
        on_device = elsewhere and device_of((*args, *kwargs.values())) is not None
        is_whole = not kinds_of(args) & (FLOAT32 | LOW | FLOAT64) and is_exact_on_cuda(native.name, whole=True)
        return (kernel if on_device and not is_whole else native)(*args, **kwargs)

    return run


overrides: dict[str, Override] = {}
"""Every declared override by the name of its overload."""

composites: dict[str, Kernel] = {}
"""Functions that stand for a composite op, above autograd: they are made of differentiable torch calls."""

composites_on_devices: dict[str, Kernel] = {}
"""The same of those that torch makes of other steps on other devices than the CPU; registered where one is in use."""

kernels_on_devices: dict[str, Kernel] = {}
"""What stands for torch's own kernel of an overload on other devices than the CPU."""


def _as_of_torch(error: ValueError | TypeError) -> RuntimeError:
    """An error of an op of the core as one of torch's kernels, which raise NotImplementedError for dtypes."""
    return (NotImplementedError if isinstance(error, TypeError) else RuntimeError)(str(error))


layouts: dict[str, dict[str, Kernel]] = {}
"""By dispatch key, kernels for tensors that are not dense."""

of_transforms: dict[str, dict[str, Kernel]] = {}
"""By dispatch key of the transforms of torch.func, functions made of differentiable torch calls."""

recorded: dict[str, Recorded] = {}
"""What stands for an overload at the key of autograd, where torch gives it a gradient."""


@dataclass(frozen=True)
class OfLibrary:
    """What is registered for an op of another library that has it with these arguments.

    arguments: name and type of each; an integer that may be symbolic is an integer.
    """

    override: Override
    arguments: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return self.override.name

    def is_there(self) -> bool:
        return any(
            tuple((a.name, str(a.type)) for a in schema.arguments) == self.arguments
            for schema in torch._C._jit_get_schemas_for_operator(self.name)
        )


of_libraries: list[OfLibrary] = []
"""Those of libraries that may be loaded, now or later."""


def enter(declared: Override) -> None:
    """Enters an override in the table, which has one for each overload, none where a composite has a function."""
    if (other := overrides.get(declared.name)) is not None:
        raise _second(declared.name, other.compute, declared.compute)
    if (function := composites.get(declared.name)) is not None:
        raise _second(declared.name, function, declared.compute)
    overrides[declared.name] = declared


def _enter_once(table: dict[str, Kernel], name: str, kernel: Kernel) -> None:
    if table.setdefault(name, kernel) is not kernel:
        raise _second(name, table[name], kernel)


def _second(name: str, first: Kernel, second: Kernel) -> ValueError:
    return ValueError(f"{name} has two kernels: {first} and {second}")


def override(*names: str, **settings: Any) -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of these overloads; `Override` explains the settings."""

    def declare(compute: Kernel) -> Kernel:
        for name in names:
            enter(Override(name, compute, **settings))
        return compute

    return declare


def for_complex(name: str, elementwise: bool = False, **settings: Any) -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of an overload for complex numbers, and of its variants.

    With `op`, the op of the core that does the same for real numbers, these take the fast path instead of a kernel in
    Python. `Override` explains it and further settings.
    """

    def declare(compute: Kernel) -> Kernel:
        enter(ForComplex(name, compute, elementwise=elementwise, **settings, **ANY_DTYPE))
        return compute

    return declare


def _nothing(*_: Any, **__: Any) -> None:
    return None


def op_or(op: str, fallback: Kernel = _nothing) -> Kernel:
    """The op of the core where it takes the arguments as they are, of one real type, and else the function, or None."""
    return _core.make_override(op, _core.OverrideTarget.NEW, fallback, low=True)


def of_library(schema: str, low: str = "alike") -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of an op of another library; `Override` explains `low`."""
    parsed = torch._C.parse_schema(schema)

    def declare(compute: Kernel) -> Kernel:
        override = Override(parsed.name, compute, low=low, wide="float64", integers="compute")
        declared = OfLibrary(override, tuple((a.name, str(a.type)) for a in parsed.arguments))
        for other in of_libraries:
            if (other.name, other.arguments) == (declared.name, declared.arguments):
                raise _second(declared.name, other.override.compute, compute)
        of_libraries.append(declared)
        return compute

    return declare


def composite(name: str, on_devices: bool = False) -> Callable[[Kernel], Kernel]:
    """Declares a function as the composite op of that name, or only while the program uses other devices."""

    def declare(function: Kernel) -> Kernel:
        if (other := overrides.get(name)) is not None:
            raise _second(name, other.compute, function)
        _enter_once(composites_on_devices if on_devices else composites, name, function)
        return function

    return declare


def of_transform(key: str, name: str) -> Callable[[Kernel], Kernel]:
    """Declares what stands for an overload at a key at which torch.func makes it of other steps than a call alone."""

    def declare(function: Kernel) -> Kernel:
        _enter_once(of_transforms.setdefault(key, {}), name, function)
        return function

    return declare


def with_gradient(name: str) -> Callable[[Kernel], Kernel]:
    """Declares what stands for an overload where autograd records it: it gives the gradient and the tangent too."""

    def declare(function: Kernel) -> Kernel:
        if name in recorded:
            raise _second(name, recorded[name].function, function)
        recorded[name] = Recorded(name, function)
        return function

    return declare


def on_devices(*names: str) -> Callable[[Kernel], Kernel]:
    """Declares what stands for torch's own kernel of overloads on other devices than the CPU, where that is exact.

    Of an overload with an override it is what this calls as torch's own, else the kernel, and that of the variants.
    """

    def declare(function: Kernel) -> Kernel:
        for name in names:
            _enter_once(kernels_on_devices, name, function)
        return function

    return declare


def in_place_of_natives() -> dict[str, Kernel]:
    """What stands for torch's own kernels on other devices than the CPU, variants among them."""
    found = {name: on_any(name, kernel) for name, kernel in kernels_on_devices.items()}
    for name, kernel in kernels_on_devices.items():
        for variant, _, make in variants(name):
            found.setdefault(variant, on_any(variant, make(kernel)))
    return found


def layout(key: str, *names: str) -> Callable[[Kernel], Kernel]:
    """Declares a function as the kernel of these overloads at a dispatch key of tensors that are not dense."""

    def declare(kernel: Kernel) -> Kernel:
        for name in names:
            _enter_once(layouts.setdefault(key, {}), name, kernel)
        return kernel

    return declare
