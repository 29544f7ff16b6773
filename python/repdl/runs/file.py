# SPDX-License-Identifier: MIT
"""The file of a record: a head of eight bytes, then frames, each whole in itself.

A frame is a kind (one byte), the length of its payload and of what that unpacks to (four bytes each, little-endian),
the xxh3_128 of the payload, and the payload: zstandard over msgpack. So a file that ends anywhere is readable up to its
last whole frame. Nothing read is executed, and nothing is unpacked before its size is known to be small.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from repdl._needs import library

MAGIC = b"RepDLrun"
VERSION = 1

HEADER, TABLE, OPS, BLOCK, END = b"H", b"T", b"O", b"B", b"E"

_HEAD = struct.Struct("<cII16s")
_LARGEST = 1 << 21
"""Bytes that a payload may unpack to."""


class RecordError(ValueError):
    """A file that is no record, or a damaged one."""


class Writer:
    """Appends frames, each with one call of the system, so that none is left in this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pack = library("msgpack").packb
        self.compress = library("zstandard").ZstdCompressor(level=3).compress
        self.digest = library("xxhash").xxh3_128_digest
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self.size = 0
        self._write(MAGIC)

    def frame(self, kind: bytes, value: Any) -> None:
        raw = self.pack(value)
        if len(raw) > _LARGEST:
            raise RecordError(f"a frame of {len(raw)} bytes is larger than a record may have")
        payload = self.compress(raw)
        self._write(_HEAD.pack(kind, len(payload), len(raw), self.digest(payload)) + payload)

    def _write(self, data: bytes) -> None:
        """All of it or, on a full disk, nothing."""
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self.file, left) :]
        except OSError:
            if os.lseek(self.file, 0, os.SEEK_CUR) > self.size:
                os.ftruncate(self.file, self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        os.close(self.file)


class Frame(NamedTuple):
    kind: bytes
    offset: int  # of its payload
    packed: int
    raw: int
    digest: bytes


class Reader:
    """The frames of a file, and what they hold.

    Raises:
        RecordError: if it is no record, of another version, or damaged where it is read.
        OSError: if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unpack = library("msgpack").unpackb
        self.zstandard = library("zstandard")
        self.digest = library("xxhash").xxh3_128_digest
        if not path.is_file():  # a pipe or a device may have no end
            if path.exists():
                raise RecordError(f"{path} is no file")
            raise FileNotFoundError(2, "there is no such file", str(path))
        self.size = path.stat().st_size
        if self._at(0, len(MAGIC)) != MAGIC:
            raise RecordError(f"{path} is no record of a run: it does not begin as `repdl record` writes one")

    def _at(self, offset: int, size: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def frames(self) -> Iterator[Frame]:
        """Those that are whole; one that the end of the file cuts off is left out."""
        offset = len(MAGIC)
        while offset + _HEAD.size <= self.size:
            kind, packed, raw, digest = _HEAD.unpack(self._at(offset, _HEAD.size))
            if kind not in (HEADER, TABLE, OPS, BLOCK, END) or raw > _LARGEST or packed > 2 * _LARGEST:
                raise RecordError(f"{self.path} is damaged at byte {offset}: no frame begins there")
            offset += _HEAD.size
            if offset + packed > self.size:
                return
            yield Frame(kind, offset, packed, raw, digest)
            offset += packed

    def read(self, frame: Frame) -> Any:
        payload = self._at(frame.offset, frame.packed)
        if self.digest(payload) != frame.digest:
            raise RecordError(f"{self.path} is damaged at byte {frame.offset}: its checksum is another")
        try:
            # The size that the payload itself declares is what would be allocated.
            if self.zstandard.frame_content_size(payload) != frame.raw:
                raise RecordError(f"{self.path} is damaged at byte {frame.offset}: its size is another")
            raw = self.zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(payload)
            return self.unpack(raw, max_map_len=1 << 10, max_ext_len=0)
        except RecordError:
            raise
        except (self.zstandard.ZstdError, ValueError, RecursionError) as error:
            raise RecordError(f"{self.path} is damaged at byte {frame.offset}: {error}") from None
