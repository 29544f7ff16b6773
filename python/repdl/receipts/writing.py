# SPDX-License-Identifier: MIT
"""`repdl run --receipt`: writes the receipt of a program while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from repdl import _core
from repdl._machine import describe_machine
from repdl._order import get_order
from repdl._telling import tell
from repdl.interception import strict, switch
from repdl.receipts import program as programs
from repdl.receipts.entries import END, ReceiptError
from repdl.receipts.file import Writer
from repdl.receipts.follower import Follower
from repdl.receipts.program import Program


@contextmanager
def writing(path: Path, program: Program, every: int = 0, folder: Path | None = None) -> Iterator[Writer]:
    """Of a block that runs the program, with `repdl.enable()` in force.

    Args:
        path: the file, written anew.
        every: of how many iterations one has a checkpoint; 0 for none.
        folder: of the checkpoints.

    Raises:
        ReceiptError: if the program has no source.
        OSError: if the file cannot be written. A disk that fills up later ends the receipt, and not the program.
    """
    file = program.file()
    if file is None:
        raise ReceiptError(f"{program.target} has no source that a receipt could name")
    content = {
        "script": program.name,
        "is_module": program.is_module,
        "arguments": program.arguments,
        "sha256": None if program.is_of_torch else programs.digest_of_file(file),
        "checkpoint_every": every,
        **settings(),
    }
    place = {"path": program.target, "directory": str(program.directory)}
    writer = Writer(path, content, place | {"machine": describe_machine()})

    def add(kind: str, content: dict[str, Any]) -> None:
        if kind == END:
            writer.end(content, {"versions": programs.versions()})
            if writer.failure is not None:
                return  # which it has told
            saved = f", {writer.checkpoints} checkpoints" if folder is not None else ""
            of = f" of {len(writer.processes)} processes" if writer.processes - {None} else ""
            tell(f"repdl run: {path} has {writer.steps} steps{of}{saved}; chain {writer.link}")
        else:
            writer.add(kind, content)

    follower = Follower(add, every, folder)
    with follower.followed(program.folder()):
        yield writer


def settings() -> dict[str, Any]:
    """Of this process, those that the program runs with."""
    return {
        "arithmetic": _core.arithmetic_version,
        "order": get_order(),
        "rng": switch.rng_in_force(),
        "strict": strict.level(),
        "hash_seed": os.environ.get("PYTHONHASHSEED") or None,
    }
