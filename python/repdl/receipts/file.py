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
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

FORMAT = "repdl receipt 1"

PROGRAM, STEP, CHECKPOINT, READ, END = "program", "step", "checkpoint", "read", "end"

Entry = tuple[str, dict[str, Any]]
"""Its kind, and what it says."""

_LARGEST_LINE = 1 << 24
_LARGEST_FILE = 1 << 32
_HASH_SEED = re.compile("random|[0-9]{1,10}")
_DIGEST = re.compile("[0-9a-f]{64}")


class ReceiptError(ValueError):
    """A file that is no whole receipt, or a receipt that cannot be verified here."""


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(before: str, kind: str, content: dict[str, Any]) -> str:
    return hashlib.sha256((before + as_json({kind: content})).encode()).hexdigest()


def checkpoint_name(before: int) -> str:
    """Of the file with the state before a step."""
    return f"step-{before:08d}.safetensors"


class Writer:
    """Writes each entry when it comes. A full disk ends the receipt, not the program: `failure` has the reason."""

    def __init__(self, path: Path, program: dict[str, Any], about: dict[str, Any]) -> None:
        self.path = path
        self.link = ""
        self.steps = 0
        self.failure: OSError | None = None
        self._whole = hashlib.sha256()
        self._file = path.open("wb", buffering=0)
        self._write(PROGRAM, {"format": FORMAT} | program, {"about": about})

    def add(self, kind: str, content: dict[str, Any]) -> None:
        self.steps += kind == STEP
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
            print(f"repdl run: {self.path} ends here, since it cannot be written: {error.strerror}", file=sys.stderr)


def _checksum(lines_before: Any, last: dict[str, Any]) -> str:
    whole = lines_before.copy()
    whole.update(as_json(last).encode())
    return str(whole.hexdigest())


@dataclass(frozen=True)
class Receipt:
    """What a whole file says.

    entries: in the order of the run, of the kinds `STEP`, `CHECKPOINT` and `READ`. about: what `Writer` was told when
    it began and when it ended. link: the last one.
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
    before, steps = "", 0
    for number, raw in enumerate(_lines(file), 1):
        where = f"line {number}"
        if parsed and parsed[-1][0][0] == END:
            raise ReceiptError(f"{where} comes after the end: it was added")
        line = _parse(raw, where, number == 1)
        (kind,) = line.keys() - {"link", "about", "sha256"}
        content = line[kind]
        if kind == STEP:
            where += f", step {steps}"
        if line["link"] != link(before, kind, content):
            raise ReceiptError(
                f"{where}: its link is not the hash of the link before and of what it says; something in it was "
                "changed, or lines before it were changed, removed, moved or added"
            )
        before = line["link"]
        _check(kind, content, where, steps, bool(parsed))
        if kind == PROGRAM and not all(_is_text(line["about"].get(name)) for name in ("path", "directory")):
            raise ReceiptError(f"{where} does not say where the program is")
        steps += kind == STEP
        if kind == END and line.pop("sha256", None) != _checksum(whole, line):
            raise ReceiptError("the file does not have the SHA-256 that its last line says: it was changed")
        whole.update(raw)
        parsed.append(((kind, content), line.get("about", {})))
    if not parsed:
        raise ReceiptError("it is empty, not a receipt")
    if parsed[-1][0][0] != END:
        raise ReceiptError(f"it has no end: the run was killed, or the file cut off, after {steps} steps")
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
    kinds = line.keys() & {PROGRAM, STEP, CHECKPOINT, READ, END}
    more = {PROGRAM: {"about"}, END: {"about", "sha256"}}.get(next(iter(kinds), ""), set())
    if len(kinds) != 1 or line.keys() != kinds | {"link"} | more or not isinstance(line.get("about", {}), dict):
        raise ReceiptError(f"{where} is no entry of a receipt")
    return line


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _are_digests(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_digest, value))


def _is_text(value: Any) -> bool:
    """One that a file or an argument of a program may have."""
    try:
        return isinstance(value, str) and "\0" not in value and os.fsencode(value) is not None
    except UnicodeEncodeError:
        return False


def _are_states(value: Any) -> bool:
    return isinstance(value, dict) and all(name.isidentifier() and _is_digest(value[name]) for name in value)


def _are_sources(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_below(path) and _is_digest(digest) for path, digest in value.items())


def _is_below(value: str) -> bool:
    path = PurePosixPath(value)
    return _is_text(value) and not path.is_absolute() and ".." not in path.parts


_FIELDS: dict[str, dict[str, Callable[[Any], object]]] = {
    PROGRAM: {
        "format": _is_text,
        "script": _is_text,
        "is_module": lambda value: isinstance(value, bool),
        "arguments": lambda value: isinstance(value, list) and all(map(_is_text, value)),
        "sha256": _is_digest,
        "arithmetic": _is_number,
        "order": _is_text,
        "rng": _is_text,
        "strict": _is_text,
        "hash_seed": lambda value: value is None or (_is_text(value) and _HASH_SEED.fullmatch(value)),
        "checkpoint_every": _is_number,
    },
    STEP: {
        "number": _is_number,
        "batches": _are_digests,
        **dict.fromkeys(("parameters", "buffers", "optimizer", "generators"), _is_digest),
    },
    CHECKPOINT: {"before": _is_number, "iterations": _is_number, "states": _are_states, "generators": _is_digest},
    READ: {"batches": _are_digests},
    END: {
        "batches": _are_digests,
        "status": lambda value: type(value) is int,
        "steps": _is_number,
        "sources": _are_sources,
    },
}


def _check(kind: str, content: Any, where: str, steps: int, is_later: bool) -> None:
    fields = _FIELDS[kind]
    if not isinstance(content, dict) or content.keys() != fields.keys():
        raise ReceiptError(f"{where} has other fields than a {kind} has")
    for name, is_right in fields.items():
        if not is_right(content[name]):
            raise ReceiptError(f"{where} has no right {name}")
    number = {STEP: content.get("number"), CHECKPOINT: content.get("before"), END: content.get("steps")}
    if number.get(kind, steps) != steps or (kind == PROGRAM) is is_later:
        raise ReceiptError(f"{where} is out of order")
