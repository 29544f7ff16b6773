# SPDX-License-Identifier: MIT
"""From calls to frames: what repeats is named once, calls are gathered, and their hashes become those of blocks.

A block has at most `BLOCK_OPS` calls of one step, so that the blocks of equal runs are the same; the parts of a block
are frames of their own, so that a run that is killed has lost a fraction of a second.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

from repdl import _content as content
from repdl._needs import library
from repdl.runs.file import BLOCK, END, HEADER, OPS, TABLE, RecordError, Writer

BLOCK_OPS = 1024
ALL_STEPS = range(sys.maxsize)
_SECONDS = 0.2
_PART_VALUES = 30_000
_MOST_KEPT = 200_000
PHASES = ("forward", "backward", "optimizer", "collective", "data loading")
_NUMBER_OF_PHASE = {phase: number for number, phase in enumerate(PHASES)}

Value = tuple[str, bytes]
Read = tuple[str, bytes, int]


def op_digest(signature: bytes, inputs: list[bytes], outputs: list[bytes]) -> bytes:
    """Of a call: its signature and contents; not where it stands in the program."""
    return content.digest(b"".join((signature, *inputs, b"|", *outputs)))


def signature_digest(name: str, text: str, inputs: list[str], outputs: list[str]) -> bytes:
    return content.digest(repr((name, text, inputs, outputs)).encode(errors="surrogatepass"))


def as_written(text: str) -> str:
    return text.encode(errors="replace").decode()[:2000]


class Log:
    def __init__(self, writer: Writer, header: dict[str, Any]) -> None:
        self.writer = writer
        self.is_closed = False
        self.failure: Exception | None = None
        self.ops = 0
        self.counted = 0  # without evidence, of which another run may have more
        self.step = 0
        self.strings: dict[str, int] = {}
        self.signatures: dict[Any, tuple[int, bytes]] = {}
        self.signatures_written = 0
        self.new_strings: list[str] = []
        self.new_signatures: list[Any] = []
        self.hasher = library("xxhash").xxh3_128
        self.written_at = perf_counter()
        self._new_part()
        self._new_block()
        self._frame(HEADER, header)

    def _new_part(self) -> None:
        self.part_begin = self.ops
        self.columns: list[list[int]] = [[] for _ in range(7)]
        self.hashes: list[bytes] = []
        self.values: dict[bytes, int] = {}

    def _new_block(self) -> None:
        self.block_begin = self.ops
        self.block = self.hasher()
        self.segments: list[list[Any]] = []
        self.segment: Any = None
        self.segment_hash = self.block

    def op(
        self,
        name: str,
        text: str,
        phase: str,
        module: str,
        line: str,
        inputs: list[Read],
        outputs: list[Value],
        generator: Value | None,
        is_evidence: bool,
    ) -> int:
        """Enters a call; returns its number. Evidence, and the state of generators, does not count as a difference."""
        if self.is_closed:
            return -1
        key = (name, text, tuple([v[0] for v in inputs]), tuple([v[0] for v in outputs]))
        signature = self.signatures.get(key)
        if signature is None:
            signature = self._signature(key)
        number = self.ops
        signatures, wheres, phases, reads, writers, made, generators = self.columns
        signatures.append(signature[0])
        wheres += (self._string(module), self._string(line))
        phases.append(_NUMBER_OF_PHASE[phase] + 8 * is_evidence)
        for _, value, writer in inputs:
            reads.append(self._value(value))
            writers.append(number - writer if writer >= 0 else 0)
        made += [self._value(value[1]) for value in outputs]
        generators.append(0 if generator is None else 1 + self._value(generator[1]))
        if not is_evidence:
            self.counted += 1
            digest = op_digest(signature[1], [v[1] for v in inputs], [v[1] for v in outputs])
            self.block.update(digest)
            if self.segment != (phase, module):
                self._end_segment()
                self.segment, self.segment_hash, self.segment_begin = (phase, module), self.hasher(), number
            self.segment_hash.update(digest)
        self.ops += 1
        if self.ops - self.block_begin == BLOCK_OPS:
            self._end_block()
        elif perf_counter() - self.written_at > _SECONDS or len(self.hashes) > _PART_VALUES:
            self._end_part()
        return number

    def end_step(self) -> None:
        self._end_block()
        self.step += 1

    def _string(self, text: str) -> int:
        number = self.strings.get(text)
        if number is None:
            number = self.strings[text] = len(self.strings)
            self.new_strings.append(as_written(text))
        return number

    def _signature(self, key: Any) -> tuple[int, bytes]:
        name, text, inputs, outputs = key
        if len(self.signatures) == _MOST_KEPT:  # numbers that change at each step make new ones without end
            self.signatures.clear()
        string = self._string
        entry = [string(name), string(text), [string(t) for t in inputs], [string(t) for t in outputs]]
        self.new_signatures.append(entry)
        digest = signature_digest(name, text, list(inputs), list(outputs))
        found = self.signatures[key] = (self.signatures_written, digest)
        self.signatures_written += 1
        return found

    def _value(self, value: bytes) -> int:
        number = self.values.get(value)
        if number is None:
            number = self.values[value] = len(self.hashes)
            self.hashes.append(value)
        return number

    def _end_part(self) -> None:
        if self.new_strings or self.new_signatures:
            self._frame(TABLE, [self.new_strings, self.new_signatures])
            self.new_strings, self.new_signatures = [], []
        if self.ops > self.part_begin:
            self._frame(OPS, [self.step, self.part_begin, *self.columns, b"".join(self.hashes)])
        self._new_part()
        self.written_at = perf_counter()

    def _end_segment(self) -> None:
        if self.segment is not None:
            phase, module = self.segment
            entry = [_NUMBER_OF_PHASE[phase], self._string(module), self.ops - self.segment_begin]
            self.segments.append([*entry, self.segment_hash.digest()])
            self.segment = None

    def _end_block(self) -> None:
        self._end_segment()
        self._end_part()
        if self.ops > self.block_begin:
            self._frame(BLOCK, [self.step, self.block_begin, self.ops, self.block.digest(), self.segments])
        self._new_block()

    def _frame(self, kind: bytes, value: Any) -> None:
        if self.is_closed:
            return
        try:
            self.writer.frame(kind, value)
        except (OSError, RecordError) as error:
            self.failure = error
            self.leave()
            reason = getattr(error, "strerror", None) or error
            text = f"repdl record: {self.writer.path} ends here, since it cannot be written: {reason}"
            print(text, file=sys.stderr)

    def leave(self) -> None:
        """Writes no more; what is not written is dropped."""
        if not self.is_closed:
            self.is_closed = True
            self.writer.close()

    def close(self, status: str, seconds: float, own: float) -> None:
        self._end_block()
        self._frame(END, {"status": status, "steps": self.step, "ops": self.ops, "seconds": seconds, "own": own})
        self.leave()

    def summary(self, seconds: float, own: float) -> str:
        size, ops = self.writer.size, self.ops
        times = f"; {seconds:.2f} s, of them {own:.2f} s to record: {seconds / max(seconds - own, 1e-9):.2f} times"
        return f"{ops:,} ops in {self.step} whole steps, {size:,} bytes, {size / max(ops, 1):.0f} an op{times}"
