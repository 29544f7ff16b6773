# SPDX-License-Identifier: MIT
"""From calls to frames: what repeats is named once, calls are gathered, and their hashes become those of blocks.

A block has at most `BLOCK_OPS` calls of one step, so that the blocks of equal runs are the same; the parts of a block
are frames of their own, so that a run that is killed has lost a fraction of a second.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

from repdl._needs import library
from repdl._telling import tell
from repdl.runs.columns import NUMBER_OF_PHASE, ColumnWriter, Read, Written
from repdl.runs.file import BLOCK, END, HEADER, RecordError, Writer

BLOCK_OPS = 1024
ALL_STEPS = range(sys.maxsize)
_SECONDS = 0.2


class Log:
    def __init__(self, writer: Writer, header: dict[str, Any]) -> None:
        self.writer = writer
        self.is_closed = False
        self.failure: Exception | None = None
        self.ops = 0
        self.counted = 0  # without evidence, of which another run may have more
        self.step = 0
        self.columns = ColumnWriter(self._frame)
        self.hasher = library("xxhash").xxh3_128
        self.part_begin = 0
        self.written_at = perf_counter()
        self._new_block()
        self._frame(HEADER, header)

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
        outputs: list[Written],
        generator: Written | None,
        is_evidence: bool,
    ) -> int:
        """Enters a call; returns its number. Evidence, and the state of generators, does not count as a difference."""
        if self.is_closed:
            return -1
        number, drawn_from = self.ops, None if generator is None else generator[1]
        digest = self.columns.add(number, name, text, phase, module, line, inputs, outputs, drawn_from, is_evidence)
        if not is_evidence:
            self.counted += 1
            self.block.update(digest)
            if self.segment != (phase, module):
                self._end_segment()
                self.segment, self.segment_hash, self.segment_begin = (phase, module), self.hasher(), number
            self.segment_hash.update(digest)
        self.ops += 1
        if self.ops - self.block_begin == BLOCK_OPS:
            self._end_block()
        elif perf_counter() - self.written_at > _SECONDS or self.columns.is_full:
            self._end_part()
        return number

    def end_step(self) -> None:
        self._end_block()
        self.step += 1

    def write(self) -> None:
        """What has been entered."""
        if not self.is_closed:
            self._end_part()

    def _end_part(self) -> None:
        self.columns.end_part(self.step, self.part_begin)
        self.part_begin = self.ops
        self.written_at = perf_counter()

    def _end_segment(self) -> None:
        if self.segment is not None:
            phase, module = self.segment
            entry = [NUMBER_OF_PHASE[phase], self.columns.string(module), self.ops - self.segment_begin]
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
            tell(text)

    def leave(self) -> None:
        """Writes no more; what is not written is dropped."""
        if not self.is_closed:
            self.is_closed = True
            self.writer.close()

    def close(self, status: str, seconds: float, own: float) -> None:
        self._end_block()
        counts = {"steps": self.step, "ops": self.ops, "counted": self.counted}
        self._frame(END, {"status": status, **counts, "seconds": seconds, "own": own})
        self.leave()

    def summary(self, seconds: float, own: float) -> str:
        size, ops = self.writer.size, self.counted
        times = f"; {seconds:.2f} s, of them {own:.2f} s to record: {seconds / max(seconds - own, 1e-9):.2f} times"
        what = f"{ops:,} ops in {self.step} whole steps, {size:,} bytes, {size / max(ops, 1):.0f} an op"
        return f"{self.writer.path} has {what}{times}"
