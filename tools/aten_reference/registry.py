# SPDX-License-Identifier: MIT
"""How an op of torch enters the reference: one function, and the calls of its golden lines.

    @reference("maximum", cases=["self=normal[7]#1, other=zeros[7]#2"])
    def maximum(self: Tensor, other: Tensor) -> Tensor: ...

The function takes the arguments of the call by their names, tensors as `Tensor`, and returns its results: a tensor, or
several, those that the call changes first.

An op that is one of the core has lines of the golden file of that op, digests too:

    @from_core("mm", "mm")
    def mm(arguments: Arguments) -> str | None: ...

gets the arguments of each line, and returns those of the call of torch, or None to leave it out. With `wide` it gets
the lines of float64, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from repdl.conformance import digests, golden_lines as core_lines
from repdl.conformance.torch_case import DtypeName, QuantizedText, SparseText, TensorText, read_torch_case

from .tensors import Quantized, Sparse, Tensor, decode, decode_sparse, encode


@dataclass
class Reference:
    name: str
    function: Callable[..., Any]
    cases: list[str]


Arguments = dict[str, Any]
Translate = Callable[[Arguments], str | None]


@dataclass
class _Registry:
    of: dict[str, list[Reference]] = field(default_factory=dict)
    """By overload."""
    of_core: dict[str, list[tuple[str, Translate, bool]]] = field(default_factory=dict)
    """By overload, an op of the core, what its calls are in torch's words, and whether those of float64 are."""


registry = _Registry()


def reference(*names: str, cases: Iterable[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function as the reference of overloads, each with these calls."""
    calls = list(cases)

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            registry.of.setdefault(name, []).append(Reference(name, function, calls))
        return function

    return declare


def from_core(op: str, overload: str, wide: bool = False) -> Callable[[Translate], Translate]:
    """Declares that calls of an overload are those of an op of the core."""

    def declare(translate: Translate) -> Translate:
        registry.of_core.setdefault(overload, []).append((op, translate, wide))
        return translate

    return declare


def text_of(value: Any) -> str:
    """An argument as a case writes it."""
    return value.text if isinstance(value, (TensorText, SparseText)) else repr(value)


LARGEST = 70_000
"""Lines of the core with more elements in all stay with the core: theirs are the loops."""


def is_of_complex(op: str) -> bool:
    """Whether an op of the core takes pairs."""
    return op.startswith("complex_")


def _from_core(overload: str) -> Iterator[str]:
    for op, translate, wide in sorted(registry.of_core.get(overload, []), key=lambda found: is_of_complex(found[0])):
        for digest, marks, text in core_lines(op):
            if ".float64[" in text and not wide:
                continue
            arguments = read_torch_case(f"aten::{text.replace('=zeros', '=signed')}").arguments  # in words of torch's
            tensors = [value for value in arguments.values() if isinstance(value, TensorText)]
            translated = translate(dict(arguments))
            if translated is not None and sum(tensor.bits().size for tensor in tensors) <= LARGEST:
                yield f"{digest}  {marks}  aten::{overload}({translated})"


def _decoded(value: Any) -> Any:
    if isinstance(value, TensorText):
        return decode(value)
    if isinstance(value, SparseText):
        return decode_sparse(value)
    if isinstance(value, QuantizedText):
        return Quantized(decode(value.steps), value.scale, value.zero_point)
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value.name if isinstance(value, DtypeName) else value


def _tensors(results: Any) -> list[Tensor]:
    if results is None:
        return []
    if isinstance(results, Tensor):
        return [results]
    if isinstance(results, Sparse):
        return results.tensors()
    return [tensor for item in results for tensor in _tensors(item)]


def line_of(text: str, function: Callable[..., Any]) -> str:
    """The golden line of a case."""
    case = read_torch_case(text)
    try:
        results = _tensors(function(**{name: _decoded(value) for name, value in case.arguments.items()}))
    except Exception as error:
        error.add_note(f"in the case {text}")
        raise
    bits = [encode(tensor) for tensor in results]
    return f"{digests.digest(bits)}  {digests.marks(bits)}  {text}"


def golden_lines(packets: Iterable[str] = ()) -> Mapping[str, list[str]]:
    """The golden lines of each packet of overloads, of all or of these."""
    wanted, lines = set(packets), dict[str, list[str]]()
    for name in sorted(registry.of.keys() | registry.of_core.keys()):
        packet = name.partition(".")[0]
        if wanted and packet not in wanted:
            continue
        found = lines.setdefault(packet, [])
        found += _from_core(name)
        for declared in registry.of.get(name, []):
            found += [line_of(f"aten::{name}({arguments})", declared.function) for arguments in declared.cases]
    return lines
