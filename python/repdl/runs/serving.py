# SPDX-License-Identifier: MIT
"""Answers what `repdl diff` on another machine asks of a run: `repdl serve`, which `remote` starts there by ssh.

It executes nothing but, where it is started with `--again` and asked for it, the program of that run.

A question is a line of JSON, its name and one argument; an answer is frames as those of a file, the last of them of the
kind `ANSWER`. The first answer comes unasked, after eight bytes, and tells of the run as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from repdl.runs.columns import NUMBER_OF_PHASE, Call, ColumnWriter, index
from repdl.runs.file import Frames, RecordError
from repdl.runs.run import Run

MAGIC = b"RepDLask"
PROTOCOL = 1

ANSWER, FAILURE = b"A", b"X"

MOST_ASKED = 1 << 20
"""Bytes of a question."""
MOST_CALLS = 1024
"""Of an answer."""

_PIECE = 1 << 20
"""Bytes of tensors in an answer."""

_NOT_ALLOWED = "{} no program is run again, as `repdl serve` was started without --again"


def serve(path: Path, questions: BinaryIO, answers: BinaryIO, again: bool = False) -> None:
    """Until there are no more questions. again: whether the program of the run may be run again."""
    frames = Frames()

    def send(kind: bytes, value: Any) -> None:
        answers.write(frames.write(kind, value))

    answers.write(MAGIC)
    try:
        answering = _Answering(Run(path), send, again)
        send(ANSWER, answering.about())
        answers.flush()
        while line := questions.readline(MOST_ASKED):
            name, argument = json.loads(line)
            send(ANSWER, answering.questions[name](argument))
            answers.flush()
    except (RecordError, OSError) as error:
        send(FAILURE, f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error))
        answers.flush()
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        send(FAILURE, f"no question that this version of repdl answers: {error!r}"[:1000])
        answers.flush()


class _Answering:
    def __init__(self, run: Run, send: Any, again: bool) -> None:
        self.run, self.is_again_allowed = run, again
        self.columns = ColumnWriter(send)  # so that a name travels once
        self.questions: dict[str, Callable[[Any], Any]] = {
            "prefix": self.prefix,
            "calls": self.calls,
            "state": self.state,
            "missing": self.missing,
            "segments": self.segments,
            "verify": self.verify,
            "again": self.again,
            "capture": self.capture,
            "piece": self.piece,
        }

    def about(self) -> dict[str, Any]:
        run = self.run
        return {
            "protocol": PROTOCOL,
            "header": run.header,
            "end": run.end,
            "counts": [run.ops, run.steps, run.count],
        }

    def prefix(self, count: int) -> list[Any]:
        return [*self.run.prefix(count)]

    def calls(self, asked: list[int]) -> int:
        """The number of the first, and how many; answers with how many there are."""
        first, count = asked
        return self._send(islice(self.run.calls_at(first), min(count, MOST_CALLS)))

    def state(self, block: int) -> int:
        """Sends that call, if there is one."""
        found = self.run.state_before(block)
        return self._send(iter([] if found is None else [found]))

    def missing(self, wanted: list[str]) -> list[str]:
        return [found.hex() for found in self.run.missing_entries({bytes.fromhex(item) for item in wanted})]

    def segments(self, step: int) -> list[Any]:
        return [
            [NUMBER_OF_PHASE[phase], module, begin, digest] for phase, module, begin, digest in self.run.segments(step)
        ]

    def verify(self, nothing: None) -> None:
        self.run.verify()

    def again(self, asked: list[Any]) -> dict[str, Any]:
        """The number of a call, the settings that B had, and the hashes that it gave: what `rerun` tells."""
        if not self.is_again_allowed:
            return {"untried": _NOT_ALLOWED.format("where A lies")}
        from repdl.runs.again import experiments  # imports torch

        number, of_b, wanted = asked
        return experiments(self._call(number), self.run, of_b, [str(item) for item in wanted])

    def capture(self, number: int) -> dict[str, Any]:
        """Keeps the tensors of a call in a file, of which `piece` then gives the bytes: what `rerun` tells, and how
        many these are."""
        if not self.is_again_allowed:
            return {"untried": _NOT_ALLOWED.format("there"), "size": 0}
        from repdl.runs.again import captured  # imports torch

        self.tensors = TemporaryDirectory()
        file = Path(self.tensors.name, "tensors")
        told = captured("there", self._call(number), self.run, file)
        return told | {"size": file.stat().st_size if file.exists() else 0}

    def piece(self, begin: int) -> bytes:
        with open(Path(self.tensors.name, "tensors"), "rb") as file:
            file.seek(index(begin))
            return file.read(_PIECE)

    def _call(self, number: int) -> Call:
        call = self.run.call(index(number))
        if call is None:
            raise IndexError(f"there is no call {number}")
        return call

    def _send(self, calls: Iterator[Call]) -> int:
        sent, part = 0, None
        for call in calls:
            if part is not None and (call.step != part[0] or self.columns.is_full):
                self.columns.end_part(*part)
                part = None
            part = part or (call.step, call.number)
            where = call.phase, call.module, call.line
            inputs, outputs = [(*value,) for value in call.inputs], [value[:2] for value in call.outputs]
            self.columns.add(
                call.number, call.name, call.text, *where, inputs, outputs, call.generator, call.is_evidence
            )
            sent += 1
        if part is not None:
            self.columns.end_part(*part)
        return sent
