# SPDX-License-Identifier: MIT
"""Calls by columns, with what repeats named once: how parts of a record are written, and read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from repdl import _content as content
from repdl.runs.file import OPS, TABLE, RecordError

COLLECTIVE = "collective"
"""Of ops that combine or move data of several processes."""

PHASES = ("forward", "backward", "optimizer", COLLECTIVE, "data loading")
NUMBER_OF_PHASE = {phase: number for number, phase in enumerate(PHASES)}

_PART_VALUES, _PART_CHARACTERS = 30_000, 250_000
"""Hashes and characters of names that a part has, about, so that its frames are small enough."""

_MOST_KEPT = 200_000
_MOST_NAMES = 10_000_000
"""Entries of the tables of a record, and of the lists in them."""


class Value(NamedTuple):
    kind: str
    hash: bytes
    writer: int = -1
    """The number of the op that wrote what was read; -1 is unknown, or nobody inside of torch."""


Written = tuple[str, bytes]
Read = tuple[str, bytes, int]


@dataclass(frozen=True)
class Call:
    """An op or event of a run."""

    number: int
    step: int
    name: str
    text: str
    phase: str
    module: str
    line: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    generator: bytes | None
    is_evidence: bool
    signature: bytes = field(repr=False)

    @property
    def digest(self) -> bytes:
        return op_digest(self.signature, [v.hash for v in self.inputs], [v.hash for v in self.outputs])


def op_digest(signature: bytes, inputs: Iterable[bytes], outputs: Iterable[bytes]) -> bytes:
    """Of a call: its signature and contents; not where it stands in the program."""
    return content.digest(b"".join((signature, *inputs, b"|", *outputs)))


def signature_digest(name: str, text: str, inputs: list[str], outputs: list[str]) -> bytes:
    return content.digest(repr((name, text, inputs, outputs)).encode(errors="surrogatepass"))


def as_written(text: str) -> str:
    return text.encode(errors="replace").decode()[:2000]


class ColumnWriter:
    """Gathers calls of one step that follow each other; `end_part` gives them to `frame`, with new names first."""

    def __init__(self, frame: Callable[[bytes, Any], None]) -> None:
        self.frame = frame
        self.strings: dict[str, int] = {}
        self.signatures: dict[Any, tuple[int, bytes]] = {}
        self.signatures_written = 0
        self.new_strings: list[str] = []
        self.new_signatures: list[Any] = []
        self._new_part()

    def _new_part(self) -> None:
        self.columns: list[list[int]] = [[] for _ in range(7)]
        self.values: dict[bytes, int] = {}  # hashes, and their numbers
        self.characters = 0  # of new strings

    @property
    def is_full(self) -> bool:
        return len(self.values) > _PART_VALUES or self.characters > _PART_CHARACTERS

    def add(
        self,
        number: int,
        name: str,
        text: str,
        phase: str,
        module: str,
        line: str,
        inputs: list[Read],
        outputs: list[Written],
        generator: bytes | None,
        is_evidence: bool,
    ) -> bytes:
        """The digest of the call."""
        read_kinds, read, read_writers = zip(*inputs, strict=True) if inputs else ((), (), ())
        made_kinds, wrote = zip(*outputs, strict=True) if outputs else ((), ())
        key = (name, text, read_kinds, made_kinds)
        signature, signed = self.signatures.get(key) or self._signature(key)
        signatures, wheres, phases, reads, writers, made, generators = self.columns
        signatures.append(signature)
        wheres += self.string(module), self.string(line)
        phases.append(NUMBER_OF_PHASE[phase] + 8 * is_evidence)
        values = self.values
        for value in read:
            reads.append(values.setdefault(value, len(values)))
        for writer in read_writers:
            writers.append(number - writer if writer >= 0 else 0)
        for value in wrote:
            made.append(values.setdefault(value, len(values)))
        generators.append(0 if generator is None else 1 + values.setdefault(generator, len(values)))
        return op_digest(signed, read, wrote)

    def string(self, text: str) -> int:
        number = self.strings.get(text)
        if number is None:
            number = self.strings[text] = len(self.strings)
            self.new_strings.append(as_written(text))
            self.characters += len(self.new_strings[-1])
        return number

    def _signature(self, key: Any) -> tuple[int, bytes]:
        name, text, inputs, outputs = key
        if len(self.signatures) == _MOST_KEPT:  # numbers that change at each step make new ones without end
            self.signatures.clear()
        string = self.string
        entry = [string(name), string(text), [string(t) for t in inputs], [string(t) for t in outputs]]
        self.new_signatures.append(entry)
        digest = signature_digest(name, text, list(inputs), list(outputs))
        found = self.signatures[key] = (self.signatures_written, digest)
        self.signatures_written += 1
        return found

    def end_part(self, step: int, begin: int) -> None:
        """begin: the number of its first call."""
        if self.new_strings or self.new_signatures:
            self.frame(TABLE, [self.new_strings, self.new_signatures])
            self.new_strings, self.new_signatures = [], []
        if self.columns[0]:
            self.frame(OPS, [step, begin, *self.columns, b"".join(self.values)])
        self._new_part()


class Names:
    """The tables of a record, as far as they were read, and the calls that are written with them.

    where: for errors.
    """

    def __init__(self, where: object) -> None:
        self.where = where
        self.count = 0
        self.strings: list[str] = []
        self.signatures: list[tuple[str, str, list[str], list[str], bytes]] = []

    def enter(self, strings: list[str], signatures: list[Any]) -> None:
        """What a frame of names holds."""
        self.count += len(strings) + sum(len(inputs) + len(outputs) + 2 for _, _, inputs, outputs in signatures)
        if self.count > _MOST_NAMES:
            raise RecordError(f"{self.where} has more than {_MOST_NAMES} names")
        self.strings += [str(s) for s in strings]
        for name, text, inputs, outputs in signatures:
            kinds = [self.string(kind) for kind in inputs], [self.string(kind) for kind in outputs]
            entry = (self.string(name), self.string(text), *kinds)
            self.signatures.append((*entry, signature_digest(*entry)))

    def string(self, number: int) -> str:
        return self.strings[index(number)]

    def calls(self, part: Any) -> Iterator[Call]:
        step, begin, signatures, wheres, phases, reads, writers, made, generators, data = part
        if not isinstance(data, bytes):
            raise ValueError("it has no hashes")
        hashes = [data[i : i + 16] for i in range(0, len(data), 16)]
        inputs, outputs = iter(zip(reads, writers, strict=True)), iter(made)
        for i, signature in enumerate(signatures):
            number = begin + i
            name, text, read_kinds, made_kinds, signed = self.signatures[index(signature)]
            read = []
            for kind in read_kinds:
                value, back = next(inputs)
                read.append(Value(kind, hashes[index(value)], number - back if back else -1))
            wrote = [Value(kind, hashes[index(next(outputs))]) for kind in made_kinds]
            module, line = self.string(wheres[2 * i]), self.string(wheres[2 * i + 1])
            is_evidence, phase = divmod(index(phases[i]), 8)
            generator = hashes[generators[i] - 1] if index(generators[i]) else None
            where = (PHASES[phase], module, line)
            yield Call(
                number, index(step), name, text, *where, tuple(read), tuple(wrote), generator, bool(is_evidence), signed
            )


def index(number: Any) -> int:
    """Counted from the front, in the file of a stranger too."""
    if not isinstance(number, int) or number < 0:
        raise ValueError(f"{number!r} is no index")
    return number
