# SPDX-License-Identifier: MIT
"""How an op is declared in Python, once: what torch registration, tests, benchmarks and documents are built from.

The C++ core says what an op computes and what it is called with (`repdl._core.arguments`). A declaration adds what
only Python can say: a typed signature with a docstring, the gradient, sample calls and an oracle for accuracy.
"""

from __future__ import annotations

import inspect
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar

from repdl import _arrays, _core
from repdl._order import get_order

if TYPE_CHECKING:
    import numpy as np
    import torch

    Tensor = TypeVar("Tensor", torch.Tensor, np.ndarray[Any, Any])
    """What an op takes and gives: all of one call from the same framework."""
else:
    Tensor = Any

P = ParamSpec("P")
R = TypeVar("R")

Pair: TypeAlias = int | Sequence[int]
"""Height and width; one number stands for both."""

PerAxis: TypeAlias = int | Sequence[int]
"""A number for each dimension of space; one number stands for all."""


class Saved:
    """What a gradient may read: the saved tensors and all other arguments of the call, by name.

    `needed` has the names of the arguments whose gradient is asked for.
    """

    needed: frozenset[str]

    def __init__(self, values: Mapping[str, Any], needed: frozenset[str]) -> None:
        self.__dict__.update(values)
        self.needed = needed

    def __getattr__(self, name: str) -> Any:  # only reached for a name that is not there
        raise AttributeError(f"the gradient did not save {name!r}")


@dataclass(frozen=True)
class Gradient:
    """The gradient of an op by its tensor arguments.

    `formula(saved, *grad_outputs)` returns a gradient, a function that computes it when it is needed, or None for
    zero, by the name of the argument; asking for another is an error. It is written in ops and in torch operations
    that round once.
    """

    formula: Callable[..., Mapping[str, Any]]
    saves: tuple[str, ...]
    non_differentiable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """A call of an op as the golden files write it: `Sample(input="normal[5, 7]#1", transA=True)`."""

    arguments: Mapping[str, object]

    def text(self, op: str) -> str:
        return f"{op}({', '.join(f'{name}={_literal(value)}' for name, value in self.arguments.items())})"

    def in_float64(self) -> Sample | None:
        """The same call of float64 tensors; None if they are not all float32."""
        tensors = {name: value for name, value in self.arguments.items() if isinstance(value, str) and "[" in value}
        if any("." in value for value in tensors.values()):
            return None
        wide = {name: re.sub(r"^(?!classes|offsets)(\w+)", r"\1.float64", value) for name, value in tensors.items()}
        return Sample({**self.arguments, **wide})


def sample(**arguments: object) -> Sample:
    return Sample(arguments)


def _literal(value: object) -> str:
    """Strings that make a tensor stand as they are; other values as Python writes them."""
    return value if isinstance(value, str) and "[" in value else repr(value)


Shapes: TypeAlias = Callable[[Mapping[str, Any]], Sequence[Sequence[Any]]]
TakeRows: TypeAlias = Callable[[Mapping[str, Any], slice], Mapping[str, Any] | None]
"""From the arguments of a call and a slice of the batch: those of the same call for these rows alone."""


INT_TO_FLOAT, SAME_TYPE, GRADIENT = "int_to_float", "same_type", "gradient"
"""Torch's rules of promotion, by which an op stands for overloads of aten: that of a function of numbers, where
integers become floating-point numbers first; of a function whose result has the operand's type; and of a gradient,
whose operands have one type."""


_value = cache(literal_eval)
"""Of the text of a default, which is a number, a text, a tuple, True, False or None."""


@dataclass(eq=False)
class Op(Generic[P, R]):
    """An op of the core, callable on torch tensors, NumPy arrays, and arrays that speak DLPack."""

    name: str
    function: Callable[P, R]
    outputs: tuple[str, ...]
    gradient: Gradient | None = None
    make_samples: Callable[[], Iterable[Sample]] | None = None
    compute_oracle: Callable[..., Any] | None = None
    prepare_arguments: Callable[..., tuple[Any, ...]] | None = None
    take_rows: TakeRows | None = None
    symbolic_shapes: Shapes | None = None
    aten: tuple[str, ...] = ()
    promotion: str = INT_TO_FLOAT
    takes_order: bool = field(init=False)
    kernel: Callable[..., Any] = field(init=False)
    """The core's callable: tensors of any framework, no gradients."""

    def __post_init__(self) -> None:
        if self.name not in _core.ops:
            raise ImportError(
                f"the core has no op '{self.name}'; load the library that has it first: repdl.library.load"
            )
        self.takes_order = any(name == "order" for name, _, _ in self.arguments)
        self.kernel = _core.ops[self.name]
        self.__doc__ = self.function.__doc__
        self.__name__ = self.name
        self._check_signature()

    @cached_property
    def __signature__(self) -> inspect.Signature:  # of three hundred ops it takes longer than all else of an import
        return inspect.signature(self.function)

    @cached_property
    def arguments(self) -> tuple[tuple[str, str, str], ...]:
        """Name, schema type and default text of each argument, as the core declares them."""
        return _core.arguments[self.name]

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each argument; None also for one that must be given."""
        return {name: _value(text) if text else None for name, _, text in self.arguments}

    @cached_property
    def golden_file(self) -> Path:
        """The golden results: in the package that declares the op."""
        package = sys.modules[self.function.__module__.partition(".")[0]]
        assert package.__file__ is not None
        return Path(package.__file__).resolve().parent / f"golden/{self.name}.txt"

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The arguments that the op changes."""
        return tuple(name for name, kind, _ in self.arguments if kind.startswith("Tensor!"))

    @property
    def mutates(self) -> bool:
        return bool(self.changed)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        arguments: tuple[Any, ...] = args
        if self.prepare_arguments is not None:
            arguments = self.prepare_arguments(*args)
        named: dict[str, Any] = kwargs
        if self.takes_order and len(arguments) < len(self.arguments) and named.get("order") is None:
            named = {**named, "order": get_order()}
        if not _any_torch(arguments, named):
            return self._of_arrays(arguments, named)  # type: ignore[no-any-return]
        try:
            return self.torch_op(*arguments, **named)  # type: ignore[no-any-return]
        except RuntimeError as error:
            # torch's own words for arguments that do not fit the schema; the core names them better.
            if not str(error).startswith(f"repdl::{self.name}()"):
                raise
            self.kernel(*arguments, **named)
            raise TypeError(str(error)) from error

    def _of_arrays(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        other = _arrays.first_of_others(arguments, named)
        if other is None:
            try:
                return self.kernel(*arguments, **named)
            except TypeError:
                _arrays.check_scalars(self.name, self._by_name(arguments, named))  # NumPy shows some as bytes
                raise
        for name, value in self._by_name(arguments, named).items():
            _arrays.check(self.name, name, value, name in self.changed)
        return _arrays.given_back(self.name, other, self.kernel(*arguments, **named))

    def _by_name(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip(self.defaults, arguments, strict=False)), **named}

    @cached_property
    def torch_op(self) -> Callable[..., Any]:
        """The op for torch tensors, with gradients."""
        from repdl import _torch

        return _torch.torch_ops[self.name]

    def __repr__(self) -> str:
        return f"<repdl op {_core.schemas[self.name]}>"

    # What a declaration adds to its op.

    def backward(
        self, *, saves: Sequence[str], non_differentiable: Sequence[str] = ()
    ) -> Callable[[Callable[..., Mapping[str, Any]]], None]:
        """Declares the gradient; `saves` names the arguments and outputs that it reads."""

        def declare(formula: Callable[..., Mapping[str, Any]]) -> None:
            self.gradient = Gradient(formula, tuple(saves), tuple(non_differentiable))

        return declare

    def samples(self, make: Callable[[], Iterable[Sample]]) -> None:
        """Declares the calls that the golden files, the tests and the documents use.

        Where the op takes float64, those of float32 stand for the same calls of float64, too.
        """

        def samples() -> Iterable[Sample]:
            declared = list(make())
            yield from declared
            if "float64" in _core.dtypes[self.name]:
                yield from (wide for s in declared if (wide := s.in_float64()) is not None)

        self.make_samples = samples

    def cases(self) -> list[str]:
        """The samples as the golden file writes them, in each order."""
        if self.make_samples is None:
            raise ValueError(f"[{self.name}] declares no samples")
        samples = list(self.make_samples())
        if self.takes_order:
            samples = [Sample({**s.arguments, "order": o}) for s in samples for o in ("blocked", "sequential")]
        return [s.text(self.name) for s in samples]

    def oracle(self, compute: Callable[..., Any]) -> None:
        """Declares a float64 NumPy version, for tests of accuracy; never for bits."""
        self.compute_oracle = compute

    def rows(self, take: TakeRows) -> None:
        """Declares how a call for some rows of the batch alone reads; None where a call has no rows.

        The rows are the first dimension of every output. An op that does not declare it works element by element.
        """
        self.take_rows = take

    def shapes(self, shapes: Shapes) -> None:
        """Declares the shapes of the outputs for a tracer whose sizes are symbols, of which the core knows nothing."""
        self.symbolic_shapes = shapes

    def prepare(self, prepare: Callable[..., tuple[Any, ...]]) -> None:
        """Declares a function that the positional arguments pass through first."""
        self.prepare_arguments = prepare

    def _check_signature(self) -> None:
        """The two declarations of an op must agree."""
        code, values = self.function.__code__, self.function.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        without = code.co_argcount - len(values)
        defaults = dict(zip(names[without:], values, strict=False)) | (self.function.__kwdefaults__ or {})
        declared = [(name, defaults.get(name)) for name in names]
        # Here None as order means "the current one"; the core wants its name.
        core = [(name, None if name == "order" else default) for name, default in self.defaults.items()]
        if declared != core:
            raise ImportError(
                f"{self.function.__module__}.{self.name} is declared with {declared}, but the core takes {core}"
            )


def per_axis(value: PerAxis, rank: int) -> tuple[int, ...]:
    """A number for each of `rank` dimensions, from such numbers or one for all."""
    numbers = (value,) if isinstance(value, int) else tuple(value)
    return numbers * rank if len(numbers) == 1 else numbers


def rows_of(*names: str) -> Callable[[Mapping[str, Any], slice], dict[str, Any]]:
    """For `Op.rows`: the batch is the first dimension of these arguments; others serve every row."""

    def take(arguments: Mapping[str, Any], rows: slice) -> dict[str, Any]:
        return {k: v[rows] if k in names and v is not None else v for k, v in arguments.items()}

    return take


def matrices_of(*names: str) -> Callable[[Mapping[str, Any], slice], Mapping[str, Any] | None]:
    """For `Op.rows`: the batch is the first dimension of these tensors of matrices, if they have one."""

    def take(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        return rows_of(*names)(arguments, rows) if arguments[names[0]].ndim > 2 else None

    return take


def no_rows(arguments: Mapping[str, Any], rows: slice) -> None:
    """For `Op.rows`: the op makes its results of the whole batch."""


registry: dict[str, Op[..., Any]] = {}
"""Every declared op by name."""


def op(
    *,
    name: str | None = None,
    outputs: Sequence[str] = ("output",),
    aten: Sequence[str] = (),
    promotion: str = INT_TO_FLOAT,
) -> Callable[[Callable[P, R]], Op[P, R]]:
    """Declares the core's op of the function's name, or of this one, where the public function does more.

    The function is its signature and docstring; it has no body. `aten` names the overloads of torch that the op is, as
    it stands, under `repdl.enable()`, by a rule of `promotion`; overloads that take more are in repdl.interception.
    """

    def declare(function: Callable[P, R]) -> Op[P, R]:
        declared = Op(name or function.__name__, function, tuple(outputs), aten=tuple(aten), promotion=promotion)
        registry[declared.name] = declared
        return declared

    return declare


def _any_torch(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    tensor = torch.Tensor
    for value in arguments:
        if isinstance(value, tensor):
            return True
    return any(isinstance(value, tensor) for value in named.values())
