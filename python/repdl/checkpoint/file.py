# SPDX-License-Identifier: MIT
"""A file of a text and tensors, which is there whole or not at all, and says so if a byte of it has changed.

It is a safetensors file whose metadata has the format, the text and a checksum: the SHA-256 of all bytes of the file,
with "0" in the places of the checksum's own 64 digits.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

import torch

from repdl.checkpoint.errors import CheckpointError

try:
    import safetensors
    import safetensors.torch
except ModuleNotFoundError as error:
    if error.name != "safetensors":
        raise
    text = "repdl.checkpoint needs safetensors, which is not installed: pip install 'repdl[checkpoint]'"
    raise ModuleNotFoundError(text, name="safetensors") from None

FORMAT = "1"
_LARGEST_HEADER = 100_000_000
"""Of bytes: safetensors reads none that is larger."""

_ATTEMPTS = 20
"""To read a file that others write."""

_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
"""In the header. A text in it has its quotes escaped, and so never looks like this."""


def write(path: str | os.PathLike[str], text: str, tensors: dict[str, torch.Tensor]) -> None:
    """Puts a file in the place of the one at `path`, if any, in one step, when all of it is on the disk."""
    quoted = len(text) + text.count('"') + text.count("\\")
    if quoted + sum(2 * len(name) + 200 for name in tensors) + 1000 > _LARGEST_HEADER:
        raise ValueError(
            f"[checkpoint.save] {len(text)} characters are too many outside of tensors; make tensors or arrays of "
            "long lists of numbers"
        )
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, which a checkpoint cannot replace", str(target))
    if target.exists() and not target.is_file():
        raise ValueError(f"[checkpoint.save] {target} is a device or a pipe, which a checkpoint cannot replace")
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        metadata = {"repdl.checkpoint": FORMAT, "sha256": "0" * 64, "state": text}
        with open(unfinished, "xb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        safetensors.torch.save_file(tensors, unfinished, metadata)
        with open(unfinished, "r+b") as file:
            os.chmod(file.fileno(), mode)  # safetensors' own is 0600
            place, checksum, _ = _checksum(file)
            file.seek(place)
            file.write(checksum)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except safetensors.SafetensorError as error:  # a full disk, as a rule
        unfinished.unlink(missing_ok=True)
        raise _of_system(error, target) from None
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, torch.Tensor]]:
    """The text and the tensors of a whole file. CheckpointError, without its path, for any other.

    A file that another process replaces meanwhile is read again.
    """
    if Path(path).is_fifo():  # opening it would wait for a writer
        raise CheckpointError("it is a pipe, not a file")
    for _ in range(_ATTEMPTS):
        if (found := _read_unless_replaced(path)) is not None:
            return found
    raise CheckpointError(f"it was replaced while it was read, {_ATTEMPTS} times")


def _read_unless_replaced(path: str | os.PathLike[str]) -> tuple[str, dict[str, torch.Tensor]] | None:
    with open(path, "rb") as file:
        _, computed, stated = _checksum(file)
    if computed != stated:
        raise CheckpointError(
            f"it is damaged: its bytes have the SHA-256 {computed.decode()}, but it says {stated.decode()}; it was cut "
            "off or changed after it was written"
        )
    try:
        with safetensors.safe_open(path, framework="pt", device="cpu") as opened:
            metadata = opened.metadata() or {}
            if metadata.get("sha256", "").encode() != stated:
                return None
            if metadata.get("repdl.checkpoint") != FORMAT or "state" not in metadata:
                format_ = metadata.get("repdl.checkpoint")
                raise CheckpointError(f"it has format {format_!r}, and this version of repdl reads {FORMAT!r}")
            return metadata["state"], {name: opened.get_tensor(name).clone() for name in opened.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise CheckpointError(f"it is no safetensors file: {error}") from None


def _of_system(error: Exception, path: Path) -> Exception:
    """An error of safetensors while it writes, as the OSError that it is by its text."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    return error if found is None else OSError(int(found[1]), os.strerror(int(found[1])), str(path))


def _checksum(file: BinaryIO) -> tuple[int, bytes, bytes]:
    """Where the checksum of a file stands, what it has to be, and what it is."""
    status = os.fstat(file.fileno())
    length = int.from_bytes(file.read(8), "little") if stat.S_ISREG(status.st_mode) else 0
    if not 2 <= length <= min(_LARGEST_HEADER, status.st_size - 8):
        raise CheckpointError("it is no safetensors file, or was cut off in its header")
    header = file.read(length)
    found = list(_CHECKSUM.finditer(header))
    if len(found) != 1:
        raise CheckpointError("it is no checkpoint of repdl: it has no checksum")
    first, last = found[0].span(1)
    digest = hashlib.sha256(length.to_bytes(8, "little") + header[:first] + b"0" * 64 + header[last:])
    while block := file.read(1 << 20):
        digest.update(block)
    return 8 + first, digest.hexdigest().encode(), found[0][1]


def _sync_folder(folder: Path) -> None:
    """So that the new name outlives a loss of power too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
