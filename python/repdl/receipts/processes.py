# SPDX-License-Identifier: MIT
"""Processes that a program starts, of torchrun or multiprocessing: each that takes steps writes a part of the receipt.

A part is a file of the process alone, a line of JSON for each entry. The process that the program was started in reads
all parts when it ends.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from repdl.receipts.entries import END, PROCESS, STEP, Entry, process_order, step_order

VARIABLE = "REPDL_RECEIPT"
"""Of the environment: the folder of the parts, and the folder of the program."""


class Part:
    """Of this process. It begins with the first step, if the process has a name then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIO | None = None
        self._is_begun = False

    def add(self, kind: str, content: dict[str, Any]) -> None:
        try:
            if not self._is_begun and kind != END:
                self._is_begun = True
                self._file = _begun(self._folder)
            if self._file is not None:
                self._file.write(json.dumps((kind, content)) + "\n")
                if kind == END:
                    self._file.close()
        except OSError as error:
            self._file = None
            print(f"repdl run: a process ends its part of the receipt here: {error.strerror}", file=sys.stderr)


def _begun(folder: Path) -> TextIO | None:
    if not (name := _name()):
        return None
    for number in count(1):
        try:
            return open(folder / (f"{name} ({number})" if number > 1 else name), "x", encoding="utf-8", buffering=1)
        except FileExistsError:  # an earlier process of this rank
            continue
    return None


def _name() -> str:
    """Of this process, the same in each run; "" if it has none."""
    import torch  # not before: the command `repdl verify` itself needs none

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return f"rank {torch.distributed.get_rank()}"
    if (rank := os.environ.get("RANK", "")).isdecimal():
        return f"rank {int(rank)}"
    numbers: tuple[int, ...] = multiprocessing.current_process()._identity
    return f"process {':'.join(map(str, numbers))}" if numbers else ""


def gathered(folder: Path) -> tuple[list[Entry], dict[str, str]]:
    """What the processes have told of: entries in the order of a receipt, and their sources."""
    for child in multiprocessing.active_children():
        if not child.daemon:  # for them Python would wait a little later
            child.join()
    steps: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    sources: dict[str, str] = {}
    for path in folder.iterdir():
        process = {"process": path.name}
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        entries = [json.loads(line) for line in lines if line.endswith("\n")]
        if not entries:
            continue
        end = entries.pop()[1] if entries[-1][0] == END else None
        steps += [process | content for _, content in entries]
        batches = [] if end is None else end["batches"]
        ends.append(process | {"batches": batches, "steps": len(entries), "ended": end is not None})
        sources |= {} if end is None else end["sources"]
    steps.sort(key=step_order)
    ends.sort(key=lambda end: process_order(end["process"]))
    return [*((STEP, step) for step in steps), *((PROCESS, end) for end in ends)], sources
