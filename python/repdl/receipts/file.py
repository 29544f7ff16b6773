# SPDX-License-Identifier: MIT
"""The file of a receipt: a line of JSON for the program, for each step and other entry, and for the end.

Each line has a link: the SHA-256 of the link before, in hexadecimal, and of what the line says, as JSON without
spaces and with keys in order, which is also how a line is written. "about" is not linked: it tells of the machine, for
information. The last line has the SHA-256 of the whole file, without that entry of itself.

Nothing that is read is executed, and there is no pickle. A file that is not exactly what a writer wrote is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from repdl._files import open_anew
from repdl._telling import tell
from repdl.receipts.entries import (
    CHECKPOINT,
    END,
    FORMAT,
    KINDS,
    PROCESS,
    PROGRAM,
    STEP,
    Entry,
    Order,
    ReceiptError,
    is_text,
)

_LARGEST_LINE = 1 << 24
_LARGEST_FILE = 1 << 32


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(before: str, kind: str, content: dict[str, Any]) -> str:
    return hashlib.sha256((before + as_json({kind: content})).encode()).hexdigest()


def checkpoint_name(before: int, process: str = "") -> str:
    """Of the file with the state before a step: "step-00000002.safetensors", "step-00000002.rank-1.safetensors"."""
    of = process.replace(" (", ".").replace(" ", "-").rstrip(")")
    return f"step-{before:08d}{of and f'.{of}'}.safetensors"


class Writer:
    """Writes each entry when it comes. A full disk ends the receipt, not the program: `failure` has the reason."""

    def __init__(self, path: Path, program: dict[str, Any], about: dict[str, Any]) -> None:
        self.path = path
        self.link = ""
        self.steps = self.checkpoints = 0  # of all processes
        self.processes: set[str | None] = set()  # that took them; None is the first
        self.failure: OSError | None = None
        self._whole = hashlib.sha256()
        self._file = os.fdopen(open_anew(path), "wb", buffering=0)
        self._write(PROGRAM, {"format": FORMAT} | program, {"about": about})

    def add(self, kind: str, content: dict[str, Any]) -> None:
        if kind == STEP:
            self.steps += 1
            self.processes.add(content.get("process"))
        self.checkpoints += kind == CHECKPOINT and content["iterations"] > 0
        self._write(kind, content, {})

    def end(self, content: dict[str, Any], about: dict[str, Any]) -> None:
        self._write(END, content, {"about": about}, is_last=True)
        self._file.close()

    def _write(self, kind: str, content: dict[str, Any], more: dict[str, Any], is_last: bool = False) -> None:
        self.link = link(self.link, kind, content)
        line = {kind: content, "link": self.link} | more
        if is_last:
            line["sha256"] = _checksum(self._whole, line)
        data = as_json(line).encode() + b"\n"
        self._whole.update(data)
        try:
            left = memoryview(data)
            while left and self.failure is None:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.failure = error
            tell(f"repdl run: {self.path} ends here, since it cannot be written: {error.strerror}")


def _checksum(lines_before: Any, last: dict[str, Any]) -> str:
    whole = lines_before.copy()
    whole.update(as_json(last).encode())
    return str(whole.hexdigest())


@dataclass(frozen=True)
class Receipt:
    """What a whole file says.

    entries: in the order of `entries`, without the first and the last, which are `program` and `end`. about: what
    `Writer` was told when it began and when it ended. link: the last one.
    """

    path: Path
    program: dict[str, Any]
    entries: list[Entry]
    end: dict[str, Any]
    about: tuple[dict[str, Any], dict[str, Any]]
    link: str

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [content for kind, content in self.entries if kind == STEP]

    @property
    def processes(self) -> list[str]:
        """The names of those that the program started."""
        return [content["process"] for kind, content in self.entries if kind == PROCESS]


def read(path: Path) -> Receipt:
    """A whole receipt.

    Raises:
        ReceiptError: for any other file; it says what is wrong with it, and in which line.
        OSError: if it cannot be read.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may have no end
            raise ReceiptError("it is no file")
        with open(path, "rb") as file:
            return _read(path, file)
    except ReceiptError as error:
        raise ReceiptError(f"{path}: {error}") from None


def _read(path: Path, file: BinaryIO) -> Receipt:
    if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
        raise ReceiptError(f"it is larger than {_LARGEST_FILE} bytes")
    whole = hashlib.sha256()
    parsed: list[tuple[Entry, dict[str, Any]]] = []
    before, order = "", Order()
    for number, raw in enumerate(_lines(file), 1):
        where = f"line {number}"
        if parsed and parsed[-1][0][0] == END:
            raise ReceiptError(f"{where} comes after the end: it was added")
        line = _parse(raw, where, number == 1)
        (kind,) = line.keys() - {"link", "about", "sha256"}
        content = line[kind]
        if kind == STEP and not (isinstance(content, dict) and "process" in content):
            where += f", step {order.steps}"
        if line["link"] != link(before, kind, content):
            raise ReceiptError(
                f"{where}: its link is not the hash of the link before and of what it says; something in it was "
                "changed, or lines before it were changed, removed, moved or added"
            )
        before = line["link"]
        order.check(kind, content, where)
        if kind == PROGRAM and not all(is_text(line["about"].get(name)) for name in ("path", "directory")):
            raise ReceiptError(f"{where} does not say where the program is")
        if kind == END and line.pop("sha256", None) != _checksum(whole, line):
            raise ReceiptError("the file does not have the SHA-256 that its last line says: it was changed")
        whole.update(raw)
        parsed.append(((kind, content), line.get("about", {})))
    if not parsed:
        raise ReceiptError("it is empty, not a receipt")
    if parsed[-1][0][0] != END:
        raise ReceiptError(f"it has no end: the run was killed, or the file cut off, after {order.steps} steps")
    (first, begun), *middle, (last, ended) = parsed
    return Receipt(path, first[1], [entry for entry, _ in middle], last[1], (begun, ended), before)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while raw := file.readline(_LARGEST_LINE):
        yield raw


def _parse(raw: bytes, where: str, is_first: bool) -> dict[str, Any]:
    """A line that is exactly as a writer writes it: so no byte of it is without meaning."""
    line: dict[str, Any] = {}
    foreign = "it is no receipt: it does not begin as `repdl run --receipt` writes one"
    try:
        line = json.loads(raw)
        is_exact = isinstance(line, dict) and as_json(line).encode() + b"\n" == raw
    except (ValueError, RecursionError):
        is_exact = False
    if is_first and not (is_exact and isinstance(line.get(PROGRAM), dict)):
        raise ReceiptError(foreign)
    if not is_exact:
        if not raw.endswith(b"\n"):
            raise ReceiptError(f"{where} is cut off")
        raise ReceiptError(f"{where} is not as a receipt is written: it is damaged, or was changed")
    if is_first and line[PROGRAM].get("format") != FORMAT:
        raise ReceiptError(f"it has the format {line[PROGRAM].get('format')!r}; this version of repdl reads {FORMAT!r}")
    kinds = line.keys() & set(KINDS)
    more = {PROGRAM: {"about"}, END: {"about", "sha256"}}.get(next(iter(kinds), ""), set())
    if len(kinds) != 1 or line.keys() != kinds | {"link"} | more or not isinstance(line.get("about", {}), dict):
        raise ReceiptError(f"{where} is no entry of a receipt")
    return line
