# SPDX-License-Identifier: MIT
"""A record that is read: its blocks, and the calls of a block when they are asked for."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from repdl._content import digest
from repdl.runs import batches, file, log
from repdl.runs.columns import PHASES, Call, Names, index
from repdl.runs.file import RecordError
from repdl.runs.window import ALL_OPS, Window

_MOST_BYTES = 1 << 28
"""Of the tables of a file, unpacked."""

_MOST_CALLS = 200_000
"""Among which batches are looked for."""

MOST_SEGMENTS = 600
"""Of a step."""


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


class Prefix(NamedTuple):
    """The first blocks of a run: a digest of all that they hold, and the number of the call after them."""

    digest: bytes
    end: int


NOTHING = Prefix(bytes(16), 0)


class AnyRun(ABC):
    """What can be asked of a run, here or on another machine.

    path: for messages. header, end: of the record; `end` is None if it was cut off. ops, steps: how many it has, and
    `count` of blocks.
    """

    path: PurePath
    header: dict[str, Any]
    end: dict[str, Any] | None
    ops: int
    steps: int
    count: int

    @property
    def sampling(self) -> list[Any]:
        """The first step whose ops are recorded, that before which it ends, and of how many steps one is."""
        return [self.header.get(name) for name in ("first_step", "end_step", "every")]

    @property
    def window(self) -> Window:
        """Of the ops that are recorded in those steps."""
        found = {name: self.header.get(f"window_{name}") for name in Window._fields}
        return ALL_OPS._replace(**{name: number for name, number in found.items() if isinstance(number, int)})

    @abstractmethod
    def prefix(self, count: int) -> Prefix:
        """Of so many blocks."""

    @abstractmethod
    def calls_at(self, number: int) -> Iterator[Call]:
        """The call of this number and all after it."""

    @abstractmethod
    def state_before(self, block: int) -> Call | None:
        """The last call before a block that tells states and settings, as evidence."""

    @abstractmethod
    def missing_entries(self, wanted: set[bytes]) -> set[bytes]:
        """Of hashes those that no batch among the first calls has as entries."""

    @abstractmethod
    def verify(self) -> None:
        """Reads all calls, and compares them with the digests by which runs are compared.

        Raises RecordError: if they differ.
        """

    @abstractmethod
    def segments(self, step: int) -> list[Segment]:
        """The first ones of a step."""

    def calls_from(self, block: int) -> Iterator[Call]:
        """Those of a block and all after it."""
        return self.calls_at(self.prefix(block).end)

    def call(self, number: int) -> Call | None:
        """By its number."""
        return next(self.calls_at(number), None) if 0 <= number < self.ops else None


class Run(AnyRun):
    """The record in a file. What it takes of memory is the names, and one line for each block.

    Raises:
        RecordError: if the file is no record, of another version, or damaged.
        OSError: if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = file.Reader(path)
        self.header = {}
        self.end = None
        self.names = Names(path)
        self.blocks: list[Block] = []
        self._prefixes = [NOTHING]
        with self._checked():
            self._scan()

    def _checked(self) -> Checked:
        return Checked(self.path)

    @property
    def ops(self) -> int:  # type: ignore[override]
        return self.blocks[-1].end if self.blocks else 0

    @property
    def steps(self) -> int:  # type: ignore[override]
        return self.blocks[-1].step + 1 if self.blocks else 0

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.blocks)

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
                self.header = header(value, self.path)
            elif frame.kind == file.TABLE:
                if (tables := tables + frame.raw) > _MOST_BYTES:
                    raise RecordError(f"{self.path} has more than {_MOST_BYTES} bytes of names")
                self.names.enter(*value)
            elif frame.kind == file.BLOCK:
                self._enter_block(value, parts)
                parts = []
            else:
                self.end = plain(value)
        if not self.header:
            raise RecordError(f"{self.path} is damaged: it has no header")
        if parts:  # the run was killed, or the disk was full
            begin = self.ops
            last = self.reader.read(parts[-1])
            self.blocks.append(Block(index(last[0]), begin, last[1] + len(last[2]), None, [], parts))

    def _enter_block(self, value: Any, parts: list[file.Frame]) -> None:
        step, begin, end, block_digest, entries = value
        if len(entries) > log.BLOCK_OPS:
            raise RecordError(f"{self.path} is damaged: a block has {len(entries)} stretches")
        segments, at = [], begin
        for phase, module, count, segment_digest in entries:
            segments.append(Segment(PHASES[index(phase)], self.names.string(module), at, segment_digest))
            at += count
        if begin != self.ops or not begin < end <= begin + log.BLOCK_OPS or not isinstance(block_digest, bytes):
            raise RecordError(f"{self.path} is damaged: its blocks do not follow each other")
        self.blocks.append(Block(index(step), begin, end, block_digest, segments, parts))

    def calls(self, block: Block) -> Iterator[Call]:
        with self._checked():
            number = block.begin
            for part in block.parts:
                for call in self.names.calls(self.reader.read(part)):
                    if call.number != number:
                        raise RecordError(f"{self.path} is damaged: op {number} is missing")
                    number += 1
                    yield call
            if number != block.end:
                raise RecordError(f"{self.path} is damaged: a block has {number - block.begin} ops")

    def calls_at(self, number: int) -> Iterator[Call]:
        first = bisect_right(self.blocks, number, key=lambda block: block.end)
        for block in self.blocks[first:]:
            for call in self.calls(block):
                if call.number >= number:
                    yield call

    def counted_before(self, number: int) -> int:
        """How many calls that count as a difference come before the call of this number."""
        blocks = [block for block in self.blocks if block.begin < number]
        calls = (call for block in blocks for call in self.calls(block))
        return sum(call.number < number and not call.is_evidence for call in calls)

    def prefix(self, count: int) -> Prefix:
        while len(self._prefixes) <= count:
            block, before = self.blocks[len(self._prefixes) - 1], self._prefixes[-1]
            data = before.digest + struct.pack("<QQ", block.step, block.end) + self.digest_of(block)
            self._prefixes.append(Prefix(digest(data), block.end))
        return self._prefixes[count]

    def state_before(self, block: int) -> Call | None:
        for earlier in reversed(self.blocks[:block]):  # of a long step it stands some blocks before
            states = [call for call in self.calls(earlier) if batches.is_state(call)]
            if states:
                return states[-1]
        return None

    def missing_entries(self, wanted: set[bytes]) -> set[bytes]:
        missing = set(wanted)
        for call in islice(self.calls_from(0), _MOST_CALLS):
            missing -= set(batches.hashes_of(call))
            if not missing:
                break
        return missing

    def verify(self) -> None:
        for block in self.blocks:
            calls = digest(b"".join(call.digest for call in self.calls(block) if not call.is_evidence))
            if block.digest not in (None, calls):
                raise RecordError(f"{self.path} is damaged: ops {block.begin} to {block.end - 1} have another digest")

    def segments(self, step: int) -> list[Segment]:
        found = [segment for block in self.blocks if block.step == step for segment in block.segments]
        return found[:MOST_SEGMENTS]

    def digest_of(self, block: Block) -> bytes:
        if block.digest is None:
            block.digest = digest(b"".join(call.digest for call in self.calls(block) if not call.is_evidence))
        return block.digest


def header(values: Any, where: object) -> dict[str, Any]:
    """Of a record. where: for errors."""
    header = plain(values)
    if (version := header.get("format", 1)) != file.VERSION:
        raise RecordError(
            f"{where} is a record of format {version}, and this version of repdl reads format {file.VERSION}: record "
            "the program anew, or compare with the version that wrote it"
        )
    return header


def plain(values: Any) -> dict[str, Any]:
    """Numbers, texts and lists of texts, whatever a stranger has put there."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, list):
            plain[str(key)] = [str(item) for item in value]
        else:
            plain[str(key)] = value if isinstance(value, bool | int | float) else str(value)
    return plain


class Checked:
    """What a file holds is what it should be, or it is damaged."""

    def __init__(self, where: object) -> None:
        self.where = where

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
            is_of_places = isinstance(error, IndexError | KeyError | StopIteration | RuntimeError)
            why = "parts of it are missing, doubled or in another order" if is_of_places else error
            raise RecordError(f"{self.where} is damaged: {why}") from None
