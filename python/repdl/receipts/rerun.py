# SPDX-License-Identifier: MIT
"""A process of `repdl verify`: runs the program of a receipt again, each stretch until it is another run."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import torch._dynamo  # noqa: F401 (so that no program has to, when it makes an optimizer)

from repdl import checkpoint
from repdl.cli._program import run_program
from repdl.cli.run import enable_program
from repdl.receipts import file
from repdl.receipts.entries import END, STEP, Entry
from repdl.receipts.file import Receipt
from repdl.receipts.follower import Follower
from repdl.receipts.program import Program
from repdl.receipts.stretches import Stretch


class Comparison:
    """Of what the program gives with a stretch of entries of a receipt.

    `tell` is told how far they are equal: at the first that differs, or when all are equal. Of processes that differ in
    the same step it is told the first whose batches do, since these do not come from the others.
    """

    def __init__(
        self,
        receipt: Receipt,
        stretch: Stretch,
        tell: Callable[[dict[str, Any]], NoReturn],
        scratch: Path | None = None,
    ) -> None:
        self.entries = [*receipt.entries, (END, receipt.end)]
        self.stretch, self.tell, self.at = stretch, tell, stretch.first
        self._first: tuple[int, Entry] | None = None
        restore = None if stretch.checkpoint is None else self._restore
        self.follower = Follower(self._add, receipt.program["checkpoint_every"], restore=restore, scratch=scratch)

    def _add(self, kind: str, content: dict[str, Any]) -> None:
        expected, found = self.entries[self.at], (kind, content)
        number = _step_of_both(expected, found)
        if self._first is not None and number != self._first[1][1]["number"]:
            self._differs(*self._first)
        if expected != found:
            if number is None or expected[1]["batches"] != content["batches"]:
                self._differs(self.at, found)
            self._first = self._first or (self.at, found)
        self.at += 1
        if self.at == self.stretch.stop:
            self.tell({"at": self.at})

    def _differs(self, at: int, found: Entry) -> NoReturn:
        self.tell({"at": at, "found": found})

    def _restore(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        assert self.stretch.checkpoint is not None
        try:
            checkpoint.load(self.stretch.checkpoint, **parts)
        except (checkpoint.CheckpointError, OSError) as error:
            self.tell({"at": self.at, "refused": str(error)})
        return self.entries[self.at][1]


def _step_of_both(expected: Entry, found: Entry) -> int | None:
    """Its number, if both are of the same step of one of the processes that the program started."""
    a, b = (kind == STEP and (content.get("process"), content["number"]) for kind, content in (expected, found))
    return a[1] if a and a == b and a[0] is not None else None


def run(receipt: Receipt, program: Program, stretch: Stretch, answer: Path) -> None:
    """Runs the program, and ends this process where the stretch does: it is not to go on, nor to handle its end."""

    def tell(told: dict[str, Any]) -> NoReturn:
        answer.write_text(json.dumps(told), encoding="utf-8")
        sys.stdout.flush()
        os._exit(0)

    said = receipt.program
    comparison = Comparison(receipt, stretch, tell, answer.parent)
    try:
        enable_program(said["strict"], said["order"], said["rng"])
    except ValueError as error:
        tell({"at": stretch.first, "refused": str(error)})
    with comparison.follower.followed(program.folder()):
        run_program(program.target, program.arguments, program.is_module)


def main(folder: Path) -> None:
    """Each stretch in a process of its own, which is forked before anything but imports has been done."""
    job = json.loads(Path(folder, "job").read_text(encoding="utf-8"))
    receipt = file.read(Path(job["receipt"]))
    target, *arguments = job["program"]
    program = Program(target, arguments, job["is_module"], Path(job["directory"]))
    sys.path[:] = map(os.path.abspath, sys.path)
    os.chdir(program.directory)
    answers: list[dict[str, Any]] = []
    for first, stop, path in job["stretches"]:
        answer = folder / str(first)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # for threads of libraries, which have no work yet
            process = os.fork()
        if process == 0:
            run(receipt, program, Stretch(first, stop, path and Path(path)), answer)
            return
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        ended = {"at": first, "status": status}
        answers.append(json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else ended)
        if answers[-1]["at"] != stop:
            break
    Path(folder, "answers").write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
