# SPDX-License-Identifier: MIT
"""The file of a record: a head of eight bytes, then frames, each whole in itself.

A frame is a kind (one byte), the length of its payload and of what that unpacks to (four bytes each, little-endian),
the xxh3_128 of the payload, and the payload: zstandard over msgpack. So a file that ends anywhere is readable up to its
last whole frame. Nothing read is executed, and nothing is unpacked before its size is known to be small.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from repdl._files import open_anew
from repdl._needs import library

MAGIC = b"RepDLrun"
VERSION = 1
"""Of what frames hold, which the header has as "format"; those before it have none."""

HEADER, TABLE, OPS, BLOCK, END = b"H", b"T", b"O", b"B", b"E"

_HEAD = struct.Struct("<cII16s")
HEAD_SIZE = _HEAD.size
_LARGEST = 1 << 21
"""Bytes that a payload may unpack to."""
_LAST = 1 << 16
"""Bytes at the end of a file in which the frame of its end is looked for, a much smaller one."""


class RecordError(ValueError):
    """A file that is no record, or a damaged one."""


class Frame(NamedTuple):
    kind: bytes
    offset: int  # of its payload
    packed: int
    raw: int
    digest: bytes


class Frames:
    """How values become frames, and frames values."""

    def __init__(self) -> None:
        self._zstandard = library("zstandard")
        self._pack, self._unpack = library("msgpack").packb, library("msgpack").unpackb
        self._compress = self._zstandard.ZstdCompressor(level=3).compress
        self._digest = library("xxhash").xxh3_128_digest

    def write(self, kind: bytes, value: Any) -> bytes:
        raw = self._pack(value)
        if len(raw) > _LARGEST:
            raise RecordError(f"a frame of {len(raw)} bytes is larger than a record may have")
        payload = self._compress(raw)
        return _HEAD.pack(kind, len(payload), len(raw), self._digest(payload)) + payload  # type: ignore[no-any-return]

    def head(self, data: bytes, offset: int, kinds: Container[bytes], where: object) -> Frame:
        """Of a frame whose payload begins at an offset. where: for errors."""
        kind, packed, raw, digest = _HEAD.unpack(data)
        if kind not in kinds or raw > _LARGEST or packed > 2 * _LARGEST:
            raise RecordError(f"{where} is damaged at byte {offset - HEAD_SIZE}: no frame begins there")
        return Frame(kind, offset, packed, raw, digest)

    def is_whole(self, payload: bytes, digest: bytes) -> bool:
        return bool(self._digest(payload) == digest)

    def read(self, frame: Frame, payload: bytes, where: object) -> Any:
        if not self.is_whole(payload, frame.digest):
            raise RecordError(f"{where} is damaged at byte {frame.offset}: its checksum is another")
        try:
            # The size that the payload itself declares is what would be allocated.
            if self._zstandard.frame_content_size(payload) != frame.raw:
                raise RecordError(f"{where} is damaged at byte {frame.offset}: its size is another")
            raw = self._zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(payload)
            return self._unpack(raw, max_map_len=1 << 10, max_ext_len=0)
        except RecordError:
            raise
        except (self._zstandard.ZstdError, ValueError, RecursionError) as error:
            raise RecordError(f"{where} is damaged at byte {frame.offset}: {error}") from None


class Writer:
    """Appends frames, each with one call of the system, so that none is left in this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames = Frames()
        self.file = open_anew(path)
        self.identity = self._identity()
        self.size = 0
        self._write(MAGIC)

    def frame(self, kind: bytes, value: Any) -> None:
        if kind == HEADER:
            value = {"format": VERSION} | value
        self._write(self.frames.write(kind, value))

    def _identity(self) -> tuple[int, int]:
        found = os.fstat(self.file)
        return found.st_dev, found.st_ino

    def _is_open(self) -> bool:
        """Not if the program has closed all files, as a daemon does; the number may be that of another one since."""
        try:
            return self._identity() == self.identity
        except OSError:
            return False

    def _write(self, data: bytes) -> None:
        """All of it or, on a full disk, nothing."""
        if not self._is_open():
            raise OSError(errno.EBADF, "the program has closed it", str(self.path))
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
        if self._is_open():
            os.close(self.file)


class Reader:
    """The frames of a file, and what they hold.

    Raises:
        RecordError: if it is no record, or damaged where it is read.
        OSError: if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.codec = Frames()
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
        while offset + HEAD_SIZE <= self.size:
            head = self._at(offset, HEAD_SIZE)
            offset += HEAD_SIZE
            frame = self.codec.head(head, offset, (HEADER, TABLE, OPS, BLOCK, END), self.path)
            offset += frame.packed
            if offset > self.size:
                if self._is_ended():
                    raise RecordError(f"{self.path} is damaged at byte {frame.offset - HEAD_SIZE}: its size is another")
                return
            yield frame
            if frame.kind == END and offset < self.size:
                raise RecordError(f"{self.path} is damaged at byte {offset}: it goes on after its end")

    def _is_ended(self) -> bool:
        """Whether the file ends with a whole frame of the end of a run, of whatever length it says to be."""
        tail = self._at(max(self.size - _LAST, 0), _LAST)
        at = tail.rfind(END)
        while at >= 0:
            if len(tail) - at >= HEAD_SIZE:
                *_, digest = _HEAD.unpack_from(tail, at)
                if self.codec.is_whole(tail[at + HEAD_SIZE :], digest):
                    return True
            at = tail.rfind(END, 0, at)
        return False

    def read(self, frame: Frame) -> Any:
        return self.codec.read(frame, self._at(frame.offset, frame.packed), self.path)
