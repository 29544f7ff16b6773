# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console


def fail(message: object, status: int = 2) -> NoReturn:
    """Ends the command; 2 is the status of a wrong call."""
    with suppress(OSError):
        typer.echo(str(message), err=True)
    raise typer.Exit(status)


@contextmanager
def printing() -> Iterator[None]:
    """Prints what a command has found. Where that cannot be written its exit status is that of an error."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left in the buffer
        fail(f"repdl: what was found cannot be written: {error.strerror}")


class Output(Console):
    """The standard output. That nobody reads it any more is an error as others are."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def check_folder(option: str, path: Path | None, *read: Path | str) -> None:
    """Before a long run: its result can be written, and not over one of the files that the command reads."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        fail(f"{option}: there is no folder {path.absolute().parent}")
    for other in map(Path, read):
        if path.is_file() and other.is_file() and path.samefile(other):
            fail(f"{option}: {path} is what the command reads, and would be overwritten; name another file")


def write(option: str, path: Path, text: str) -> None:
    """A result, into the file that an option names."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{option}: {path}") from None


@contextmanager
def kept_failure() -> Iterator[list[str]]:
    """What goes wrong in a block, to be told after what is known without it."""
    from repdl._needs import MissingLibraryError
    from repdl.runs.file import RecordError

    failures: list[str] = []
    try:
        yield failures
    except (RecordError, MissingLibraryError) as error:
        failures.append(str(error))
    except OSError as error:
        failures.append(told(error))


def told(error: OSError) -> str:
    """With the file that it is of; of a write to a full disk none is known."""
    return str(error.strerror) if error.filename is None else f"{error.filename}: {error.strerror}"
