# SPDX-License-Identifier: MIT
"""Processes that a program starts, of torchrun or multiprocessing: each that takes steps writes a part of the receipt.

A part is a file of the process alone, a line of JSON for each entry. The process that the program was started in reads
all parts when it ends.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any, NoReturn, TextIO

from repdl._telling import tell
from repdl.receipts.entries import CHECKPOINT, END, PROCESS, READ, STEP, Entry, part_order, process_order

VARIABLE = "REPDL_RECEIPT"
"""Of the environment: the file of the `Plan`."""

REFUSED, LEFT = "refused", "left"
"""Kinds of entries that a part may have and a receipt never has: the process cannot begin from its checkpoint; it came
to the last checkpoint of a stretch."""

_LEFT_LINE = json.dumps((LEFT, {})) + "\n"


@dataclass(frozen=True)
class Plan:
    """What the processes that a program starts have to know.

    parts: the folder that each writes its part in. program: the folder of the program. every, checkpoints: as `every`
    and `folder` of a `Follower`. resume: by process, the checkpoint that it begins from, and its entry. stop: after
    how many iterations a process has its last checkpoint, where it ends; None for the end of the program.
    """

    parts: str
    program: str
    every: int = 0
    checkpoints: str | None = None
    resume: Mapping[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    stop: int | None = None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Plan:
        return Plan(**json.loads(path.read_text(encoding="utf-8")))


class Part:
    """Of this process. It begins with its first entry, or when it is asked for its name, if the process has one then.

    While the process lives it has a lock on the file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIO | None = None
        self._is_begun = False

    @property
    def name(self) -> str:
        """Of the process, the same in each run; "" if it has none."""
        if not self._is_begun:
            self._is_begun = True
            self._file = _begun(self._folder)
        return "" if self._file is None else Path(self._file.name).name

    def add(self, kind: str, content: dict[str, Any]) -> None:
        try:
            if (self._is_begun or kind != END) and self.name:
                assert self._file is not None
                self._file.write(json.dumps((kind, content)) + "\n")
                if kind == END:
                    self._file.close()
        except OSError as error:
            self._file = None
            tell(f"repdl run: a process ends its part of the receipt here: {error.strerror}")

    def refuse(self, reason: str) -> NoReturn:
        """Ends the process, which has no checkpoint to begin from."""
        self.add(REFUSED, {"reason": reason})
        sys.stdout.flush()
        os._exit(1)

    def leave(self) -> NoReturn:
        """Ends the process. Others may need it until they have left too, or are gone."""
        self.add(LEFT, {})
        others = [path for path in self._folder.iterdir() if path.name != self.name]
        while any(map(_is_under_way, others)):
            sleep(0.02)
        sys.stdout.flush()
        os._exit(0)


def _begun(folder: Path) -> TextIO | None:
    if not (name := _name()):
        return None
    for number in count(1):
        try:
            file = (folder / (f"{name} ({number})" if number > 1 else name)).open("x", encoding="utf-8", buffering=1)
        except FileExistsError:  # an earlier process of this rank
            continue
        fcntl.lockf(file, fcntl.LOCK_EX)  # which a process that it forks does not have
        return file
    return None


def have_left(folder: Path) -> bool:
    """Whether there are parts, and the processes of all of them have left."""
    parts = [path.read_text(encoding="utf-8") for path in folder.iterdir()] if folder.is_dir() else []
    return bool(parts) and all(part.endswith(_LEFT_LINE) for part in parts)


def _is_under_way(path: Path) -> bool:
    """Whether the process of a part lives, and has not left. One that has told of nothing is nobody's yet."""
    lines = path.read_text(encoding="utf-8")
    if not lines or lines.endswith(_LEFT_LINE):
        return False
    with open(path, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _name() -> str:
    """Of this process, the same in each run; "" if it has none."""
    import torch  # not before: the command `repdl verify` itself needs none

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return f"rank {torch.distributed.get_rank()}"
    if (rank := os.environ.get("RANK", "")).isdecimal():
        return f"rank {int(rank)}"
    numbers: tuple[int, ...] = multiprocessing.current_process()._identity
    return f"process {':'.join(map(str, numbers))}" if numbers else ""


def gathered(folder: Path, waits: bool = True) -> tuple[list[Entry], dict[str, str]]:
    """What the processes have told of: entries in the order of a receipt, and their sources.

    If one of them has refused to begin, that is the only entry. waits: for the children, as Python would later.
    """
    for child in multiprocessing.active_children():
        if waits and not child.daemon:
            child.join()
    found: list[Entry] = []
    ends: list[dict[str, Any]] = []
    sources: dict[str, str] = {}
    for path in folder.iterdir():
        process = {"process": path.name}
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        entries = [json.loads(line) for line in lines if line.endswith("\n")]
        if refused := [content for kind, content in entries if kind == REFUSED]:
            return [(REFUSED, process | refused[0])], {}
        told = [(kind, process | content) for kind, content in entries if kind in (STEP, CHECKPOINT, READ)]
        if not told:
            continue
        found += told
        end = entries[-1][1] if entries[-1][0] == END else None
        batches = [] if end is None else end["batches"]
        kind, last = told[-1]
        steps = last["number"] + 1 if kind == STEP else last["before"]
        ends.append(process | {"batches": batches, "steps": steps, "ended": end is not None})
        sources |= {} if end is None else end["sources"]
    found.sort(key=part_order)  # and, of a process, as they came
    ends.sort(key=lambda end: process_order(end["process"]))
    return [*found, *((PROCESS, end) for end in ends)], sources
