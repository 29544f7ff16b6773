# SPDX-License-Identifier: MIT
"""A run on another machine, of which `repdl serve` there tells, by ssh; kilobytes travel for runs of a million ops.

What it answers is a stranger's: it is bounded, checked as a file is, and nothing of it is executed. With `again` that
machine runs the program of its run again, for experiments or the tensors of a call; this one never does.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import PurePosixPath
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self

from repdl.runs.columns import PHASES, Call, Names, index
from repdl.runs.file import HEAD_SIZE, OPS, TABLE, Frames, RecordError
from repdl.runs.run import MOST_SEGMENTS, NOTHING, AnyRun, Checked, Prefix, Segment, header, plain
from repdl.runs.serving import ANSWER, FAILURE, MAGIC, MOST_CALLS, PROTOCOL
from repdl.runs.told import checked, hashes, printable

_PLACE = re.compile(r"([^:/]+):(.+)", re.DOTALL)

_MOST_BYTES = 1 << 28
"""That all answers together may have."""

_PATIENCE = 5.0
"""Seconds that ssh is given to end."""

TIMEOUT = 60.0
"""Seconds that an answer may take: ssh has to log in, and the other side to start Python and to read the record."""

_ALIVE = ("-o", "ServerAliveInterval=20")
"""Options of ssh: it ends a minute after the host has fallen silent, as experiments are waited for without a limit."""

_REMEDIES = {
    2: "; the repdl there may be an older one: install one version on both, or ask without --cause and --capture",
    127: "; if there is no repdl in its path, say with --remote-repdl how it is called there",
    255: "; see whether `ssh {host} true` ends well",
}
"""By the exit status of ssh, which is the one of the command, or 255 if it could not log in."""

_MOST_CAPTURED = 1 << 30
"""Bytes of the tensors of a call, which come beside the answers."""

_FIRST_CALLS = 128
"""That are asked for at once; each time twice as many."""


def place(text: str) -> tuple[str, str] | None:
    """The host and the path that HOST:PATH names; None of a file here. As for scp, ./a:b is a file here."""
    found = _PLACE.fullmatch(text)
    return (found[1], found[2]) if found else None


class SilentHostError(RecordError):
    """A host that takes no question, or gives no answer, in the time that it has for it."""

    def __init__(self, host: str, timeout: float) -> None:
        super().__init__(
            f"{host} has not answered for {timeout:g} s: see whether `ssh {host} true` ends at once; "
            "if the host is only slow, give it more time with --remote-timeout"
        )


class RemoteRun(AnyRun):
    """The record in a file on a host.

    command: how repdl is called there, in words of the host's shell.
    timeout: seconds that each answer may take.
    again: whether `experiments` or `capture` are asked for, which run the program again there.

    Raises:
        RecordError: if the host has no such record, or gives another answer than one, or, SilentHostError, none.
        OSError: if there is no ssh.
    """

    def __init__(self, host: str, path: str, command: str, timeout: float = TIMEOUT, again: bool = False) -> None:
        if host.startswith("-"):
            raise RecordError(f"{host!r} is no host")
        self.host, self.path, self.timeout = host, PurePosixPath(f"{host}:{path}"), timeout
        self.received = self.sent = 0  # bytes
        self.most = _MOST_BYTES
        self._frames = Frames()
        self._names = Names(self.path)
        self._prefixes = {0: NOTHING}
        self._process = subprocess.Popen(
            ["ssh", *_ALIVE * again, host, f"{command} serve {'--again ' * again}{shlex.quote(path)}"],
            bufsize=0,  # so that what was not read is still in the pipe, which tells of it
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
            self._begin()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdout.close()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _status(self) -> str:
        """How ssh ended, which it does when the other side has closed."""
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "ssh has not ended"
        remedy = _REMEDIES.get(status, "").format(host=self.host)
        return f"ssh ended with exit status {status}{remedy}"

    def _begin(self) -> None:
        magic = self._read(len(MAGIC))
        if magic != MAGIC:
            raise RecordError(f"{self.host} answers with {magic!r}…, and not as `repdl serve` does")
        about = self._answer(0)
        with self._checked():
            if about["protocol"] != PROTOCOL:
                raise RecordError(
                    f"{self.host} has another version of repdl, with which it cannot be compared: install one version "
                    "on both, or bring the file here"
                )
            self.header = header(about["header"], self.path)
            self.end = None if about["end"] is None else plain(about["end"])
            self.ops, self.steps, self.count = map(index, about["counts"])

    def _checked(self) -> Checked:
        return Checked(f"the answer of {self.host}")

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        self.received += size
        if self.received > self.most:
            raise RecordError(f"{self.host} answers with more than {self.most} bytes")
        data, until = bytearray(), monotonic() + self.timeout
        while len(data) < size:
            self._await(self._process.stdout, select.POLLIN, until)
            piece = os.read(self._process.stdout.fileno(), size - len(data))
            if not piece:
                raise RecordError(f"{self.host} gave no whole answer: {self._status()}")
            data += piece
        return bytes(data)

    def _await(self, pipe: IO[bytes], event: int, until: float) -> None:
        """Until a pipe has something to read, or room to write, or the other side has closed it."""
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(None if until == inf else max(0.0, 1000 * (until - monotonic()))):
            raise SilentHostError(self.host, self.timeout)

    def _ask(self, question: str, argument: Any, most: int = 0, patiently: bool = False) -> Any:
        """most: how many calls the answer may have. patiently: without a limit until it begins."""
        line = json.dumps([question, argument]).encode() + b"\n"
        assert self._process.stdin is not None
        self.sent += len(line)
        until = monotonic() + self.timeout
        try:
            while line:
                self._await(self._process.stdin, select.POLLOUT, until)
                line = line[os.write(self._process.stdin.fileno(), line) :]
        except BrokenPipeError:
            raise RecordError(f"{self.host} takes no more questions: {self._status()}") from None
        assert self._process.stdout is not None
        if patiently:
            self._await(self._process.stdout, select.POLLIN, inf)
        return self._answer(most)

    def _answer(self, most: int) -> Any:
        """The value of the last frame. The calls before it are in `self._calls`."""
        self._calls: list[Call] = []
        where = f"the answer of {self.host}"
        for _ in range(2 * most + 1):  # names and calls, and the last
            head = self._read(HEAD_SIZE)
            frame = self._frames.head(head, self.received, (TABLE, OPS, ANSWER, FAILURE), where)
            value = self._frames.read(frame, self._read(frame.packed), where)
            with self._checked():
                if frame.kind == TABLE:
                    self._names.enter(*value)
                elif frame.kind == OPS:
                    self._calls += self._names.calls(value)
                elif frame.kind == FAILURE:
                    raise RecordError(f"{self.host}: {printable(str(value))}")
                else:
                    if len(self._calls) > most:
                        raise ValueError("it has more calls than were asked for")
                    return value
        raise RecordError(f"{where} has more frames than were asked for")

    def prefix(self, count: int) -> Prefix:
        if count not in self._prefixes:
            with self._checked():
                digest, end = self._ask("prefix", count)
                if not isinstance(digest, bytes):
                    raise ValueError("it has no digest")
                self._prefixes[count] = Prefix(digest, index(end))
        return self._prefixes[count]

    def calls_at(self, number: int) -> Iterator[Call]:
        asked = _FIRST_CALLS
        while number < self.ops:
            self._ask("calls", [number, asked], asked)
            calls = self._calls
            if [call.number for call in calls] != [*range(number, number + min(asked, self.ops - number))]:
                raise RecordError(f"the answer of {self.host} has other calls than were asked for")
            yield from calls
            number += asked
            asked = min(2 * asked, MOST_CALLS)

    def call(self, number: int) -> Call | None:
        if not 0 <= number < self.ops:
            return None
        self._ask("calls", [number, 1], 1)
        if [call.number for call in self._calls] != [number]:
            raise RecordError(f"the answer of {self.host} has other calls than were asked for")
        return self._calls[0]

    def state_before(self, block: int) -> Call | None:
        self._ask("state", block, 1)
        return self._calls[0] if self._calls else None

    def missing_entries(self, wanted: set[bytes]) -> set[bytes]:
        with self._checked():
            return wanted & {bytes.fromhex(item) for item in self._ask("missing", [item.hex() for item in wanted])}

    def verify(self) -> None:
        self._ask("verify", None)

    def segments(self, step: int) -> list[Segment]:
        with self._checked():
            found = self._ask("segments", step)[:MOST_SEGMENTS]
            return [
                Segment(PHASES[index(phase)], str(module), index(begin), digest)
                for phase, module, begin, digest in found
            ]

    def experiments(self, call: Call, of_b: dict[str, Any], wanted: list[str]) -> dict[str, Any]:
        """As `again.experiments`, on that machine: it may take as long as ssh lives."""
        told = self._ask("again", [call.number, of_b, wanted], patiently=True)
        with self._checked():
            return checked(told, len(call.outputs))

    def capture(self, call: Call) -> tuple[dict[str, Any], bytes]:
        """As the program of this run is run again on that machine: what is told of it, and its file of safetensors."""
        told = self._ask("capture", call.number, patiently=True)
        with self._checked():
            untried, size = printable(told["untried"]), index(told["size"])
            if untried:
                return {"untried": untried}, b""
            kept = {"untried": "", "here": hashes(told["here"], len(call.outputs))}
        if size > _MOST_CAPTURED:
            raise RecordError(f"{self.host} has {size} bytes of tensors, more than {_MOST_CAPTURED}")
        self.most += 2 * size  # what cannot be compressed is larger with it
        data = bytearray()
        while len(data) < size:
            piece = self._ask("piece", len(data))
            if not isinstance(piece, bytes) or not 0 < len(piece) <= size - len(data):
                raise RecordError(f"the answer of {self.host} is damaged: it has other bytes than were asked for")
            data += piece
        return kept, bytes(data)
