# SPDX-License-Identifier: MIT
"""A record that is read: its blocks, and the calls of a block when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from repdl._content import digest
from repdl.runs import file, log
from repdl.runs.file import RecordError
from repdl.runs.window import ALL_OPS, Window

_MOST_NAMES = 10_000_000
"""Entries of the tables of a file, and of the lists in them."""
_MOST_BYTES = 1 << 28
"""Of its tables, unpacked."""


class Value(NamedTuple):
    kind: str
    hash: bytes
    writer: int = -1
    """The number of the op that wrote what was read; -1 is unknown, or nobody inside of torch."""


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
        return log.op_digest(self.signature, [v.hash for v in self.inputs], [v.hash for v in self.outputs])

    @property
    def inputs_digest(self) -> bytes:
        return log.op_digest(self.signature, [v.hash for v in self.inputs], [])


class Segment(NamedTuple):
    phase: str
    module: str
    begin: int
    digest: bytes


@dataclass
class Block:
    """Calls of one step; of the last block of a run that was killed, what was written of it."""

    step: int
    begin: int
    end: int
    digest: bytes | None
    segments: list[Segment]
    parts: list[file.Frame]


class Run:
    """The record in a file. What it takes of memory is the names, and one line for each block.

    Raises:
        RecordError: if the file is no record, or damaged.
        OSError: if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = file.Reader(path)
        self.header: dict[str, Any] = {}
        self.end: dict[str, Any] | None = None
        self.names = 0
        self.strings: list[str] = []
        self.signatures: list[tuple[str, str, list[str], list[str], bytes]] = []
        self.blocks: list[Block] = []
        with self._checked():
            self._scan()

    def _checked(self) -> _Checked:
        return _Checked(self.path)

    @property
    def sampling(self) -> list[Any]:
        """The first step whose ops are recorded, that before which it ends, and of how many steps one is."""
        return [self.header.get(name) for name in ("first_step", "end_step", "every")]

    @property
    def window(self) -> Window:
        """Of the ops that are recorded in those steps."""
        found = {name: self.header.get(f"window_{name}") for name in Window._fields}
        return ALL_OPS._replace(**{name: number for name, number in found.items() if isinstance(number, int)})

    @property
    def ops(self) -> int:
        return self.blocks[-1].end if self.blocks else 0

    @property
    def steps(self) -> int:
        return self.blocks[-1].step + 1 if self.blocks else 0

    def _scan(self) -> None:
        parts: list[file.Frame] = []
        tables = 0
        for number, frame in enumerate(self.reader.frames()):
            if (number == 0) != (frame.kind == file.HEADER):
                raise RecordError(f"{self.path} is damaged: its header is not at its beginning")
            if frame.kind == file.OPS:
                parts.append(frame)
                continue
            value = self.reader.read(frame)
            if frame.kind == file.HEADER:
                self.header = _plain(value)
            elif frame.kind == file.TABLE:
                if (tables := tables + frame.raw) > _MOST_BYTES:
                    raise RecordError(f"{self.path} has more than {_MOST_BYTES} bytes of names")
                self._enter_names(*value)
            elif frame.kind == file.BLOCK:
                self._enter_block(value, parts)
                parts = []
            else:
                self.end = _plain(value)
        if not self.header:
            raise RecordError(f"{self.path} is damaged: it has no header")
        if parts:  # the run was killed, or the disk was full
            begin = self.ops
            last = self.reader.read(parts[-1])
            self.blocks.append(Block(_index(last[0]), begin, last[1] + len(last[2]), None, [], parts))

    def _enter_names(self, strings: list[str], signatures: list[Any]) -> None:
        self.names += len(strings) + sum(len(inputs) + len(outputs) + 2 for _, _, inputs, outputs in signatures)
        if self.names > _MOST_NAMES:
            raise RecordError(f"{self.path} has more than {_MOST_NAMES} names")
        self.strings += [str(s) for s in strings]
        for name, text, inputs, outputs in signatures:
            kinds = [self._string(kind) for kind in inputs], [self._string(kind) for kind in outputs]
            entry = (self._string(name), self._string(text), *kinds)
            self.signatures.append((*entry, log.signature_digest(*entry)))

    def _string(self, number: int) -> str:
        return self.strings[_index(number)]

    def _enter_block(self, value: Any, parts: list[file.Frame]) -> None:
        step, begin, end, block_digest, entries = value
        if len(entries) > log.BLOCK_OPS:
            raise RecordError(f"{self.path} is damaged: a block has {len(entries)} stretches")
        segments, at = [], begin
        for phase, module, count, segment_digest in entries:
            segments.append(Segment(log.PHASES[_index(phase)], self._string(module), at, segment_digest))
            at += count
        if begin != self.ops or not begin < end <= begin + log.BLOCK_OPS or not isinstance(block_digest, bytes):
            raise RecordError(f"{self.path} is damaged: its blocks do not follow each other")
        self.blocks.append(Block(_index(step), begin, end, block_digest, segments, parts))

    def calls(self, block: Block) -> Iterator[Call]:
        with self._checked():
            number = block.begin
            for part in block.parts:
                for call in self._of_part(block, self.reader.read(part)):
                    if call.number != number:
                        raise RecordError(f"{self.path} is damaged: op {number} is missing")
                    number += 1
                    yield call
            if number != block.end:
                raise RecordError(f"{self.path} is damaged: a block has {number - block.begin} ops")

    def _of_part(self, block: Block, part: Any) -> Iterator[Call]:
        _, begin, signatures, wheres, phases, reads, writers, made, generators, data = part
        hashes = [data[i : i + 16] for i in range(0, len(data), 16)]
        inputs, outputs = iter(zip(reads, writers, strict=True)), iter(made)
        for i, signature in enumerate(signatures):
            number = begin + i
            name, text, read_kinds, made_kinds, signed = self.signatures[_index(signature)]
            read = []
            for kind in read_kinds:
                value, back = next(inputs)
                read.append(Value(kind, hashes[_index(value)], number - back if back else -1))
            wrote = [Value(kind, hashes[_index(next(outputs))]) for kind in made_kinds]
            module, line = self._string(wheres[2 * i]), self._string(wheres[2 * i + 1])
            is_evidence, phase = divmod(_index(phases[i]), 8)
            generator = hashes[generators[i] - 1] if _index(generators[i]) else None
            where = (log.PHASES[phase], module, line)
            yield Call(
                number, block.step, name, text, *where, tuple(read), tuple(wrote), generator, bool(is_evidence), signed
            )

    def call(self, number: int) -> Call | None:
        """By its number."""
        low, high = 0, len(self.blocks)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.blocks[middle].end <= number else (low, middle)
        if low == len(self.blocks) or number < 0:
            return None
        return next((call for call in self.calls(self.blocks[low]) if call.number == number), None)

    def counted_before(self, number: int) -> int:
        """How many calls that count as a difference come before the call of this number."""
        blocks = [block for block in self.blocks if block.begin < number]
        calls = (call for block in blocks for call in self.calls(block))
        return sum(call.number < number and not call.is_evidence for call in calls)

    def calls_from(self, block: int) -> Iterator[Call]:
        """Those of a block and all after it."""
        for following in self.blocks[block:]:
            yield from self.calls(following)

    def digest_of(self, block: Block) -> bytes:
        if block.digest is None:
            block.digest = digest(b"".join(call.digest for call in self.calls(block) if not call.is_evidence))
        return block.digest


def _plain(values: Any) -> dict[str, Any]:
    """Numbers, texts and lists of texts, whatever a stranger has put there."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, list):
            plain[str(key)] = [str(item) for item in value]
        else:
            plain[str(key)] = value if isinstance(value, bool | int | float) else str(value)
    return plain


def _index(number: Any) -> int:
    """Counted from the front, in the file of a stranger too."""
    if not isinstance(number, int) or number < 0:
        raise ValueError(f"{number!r} is no index")
    return number


class _Checked:
    """What a file holds is what it should be, or it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        wrong = (
            ValueError,
            TypeError,
            IndexError,
            KeyError,
            StopIteration,
            RuntimeError,
            AttributeError,
            OverflowError,
        )
        if isinstance(error, wrong) and not isinstance(error, RecordError):
            raise RecordError(f"{self.path} is damaged: {error}") from None
