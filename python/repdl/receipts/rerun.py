# SPDX-License-Identifier: MIT
"""A process of `repdl verify`: runs the program of a receipt again, each stretch until it is another run."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NoReturn

import torch._dynamo  # noqa: F401 (so that no program has to, when it makes an optimizer)

from repdl import checkpoint
from repdl._leaving import leave, unwound
from repdl.cli._program import run_program
from repdl.cli.run import enable_program
from repdl.receipts import file, processes
from repdl.receipts.entries import CHECKPOINT, END, STEP, Entry
from repdl.receipts.file import Receipt
from repdl.receipts.follower import Follower
from repdl.receipts.processes import REFUSED
from repdl.receipts.program import Program
from repdl.receipts.stretches import Stretch

_GRACE = 5.0
"""Seconds."""


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
        restore = self._restore if "" in stretch.checkpoints else None
        resume = {
            name: (str(path.absolute()), self._resumed(name)) for name, path in stretch.checkpoints.items() if name
        }
        last, content = self.entries[stretch.stop - 1]
        stop = content["iterations"] if last == CHECKPOINT and "process" in content else None
        every = receipt.program["checkpoint_every"]
        self.follower = Follower(self.add, every, restore=restore, scratch=scratch, resume=resume, stop=stop)

    def _resumed(self, process: str) -> dict[str, Any]:
        """The entry of the checkpoint that a process begins from."""
        contents = (content for _, content in self.entries[self.stretch.first :])
        return next(content for content in contents if content.get("process", "") == process)

    def add(self, kind: str, content: dict[str, Any]) -> None:
        if kind == REFUSED:
            self.tell({"at": self.stretch.first, "refused": content["reason"]})
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
        try:
            checkpoint.load(self.stretch.checkpoints[""], **parts)
        except (checkpoint.CheckpointError, OSError) as error:
            self.tell({"at": self.at, "refused": str(error)})
        return self._resumed("")


def _step_of_both(expected: Entry, found: Entry) -> int | None:
    """Its number, if both are of the same step of one of the processes that the program started."""
    a, b = (kind == STEP and (content.get("process"), content["number"]) for kind, content in (expected, found))
    return a[1] if a and a == b and a[0] is not None else None


def run(receipt: Receipt, program: Program, stretch: Stretch, answer: Path, scratch: Path) -> None:
    """Runs the program, and ends this process where the stretch does: it is not to go on, nor to handle its end."""

    def tell(told: dict[str, Any]) -> NoReturn:
        answer.write_text(json.dumps(told), encoding="utf-8")
        sys.stdout.flush()
        leave(0)

    said = receipt.program
    comparison = Comparison(receipt, stretch, tell, scratch)
    try:
        enable_program(said["strict"], said["order"], said["rng"])
    except ValueError as error:
        tell({"at": stretch.first, "refused": str(error)})
    with comparison.follower.followed(program.folder()):
        run_program(program.target, program.arguments, program.is_module)


class _ToldError(Exception):
    pass


def of_parts(receipt: Receipt, stretch: Stretch, scratch: Path) -> dict[str, Any]:
    """What the processes that have left tell of a stretch."""
    told: list[dict[str, Any]] = []

    def tell(answer: dict[str, Any]) -> NoReturn:
        told.append(answer)
        raise _ToldError

    comparison = Comparison(receipt, stretch, tell)
    (parts,) = scratch.glob("*/parts")
    with suppress(_ToldError):
        for entry in processes.gathered(parts)[0]:
            comparison.add(*entry)
    return told[0] if told else {"at": stretch.first, "status": 0}


def main(folder: Path) -> None:
    """Each stretch in a process of its own, which is forked before anything but imports has been done."""
    job = json.loads(Path(folder, "job").read_text(encoding="utf-8"))
    receipt = file.read(Path(job["receipt"]))
    target, *arguments = job["program"]
    program = Program(target, arguments, job["is_module"], Path(job["directory"]))
    sys.path[:] = map(os.path.abspath, sys.path)
    os.chdir(program.directory)
    answers: list[dict[str, Any]] = []
    for number, (first, stop, checkpoints) in enumerate(job["stretches"]):
        stretch = Stretch(first, stop, {name: Path(path) for name, path in checkpoints.items()})
        scratch = folder / str(number)
        scratch.mkdir()
        answer = scratch / "answer"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # for threads of libraries, which have no work yet
            process = os.fork()
        if process == 0:
            run(receipt, program, stretch, answer, scratch)
            return
        status = waited(process, scratch)
        if answer.exists():
            answers.append(json.loads(answer.read_text(encoding="utf-8")))
        elif status is None:
            answers.append(of_parts(receipt, stretch, scratch))
        else:
            answers.append({"at": first, "status": status})
        if answers[-1]["at"] != stop:
            break
    Path(folder, "answers").write_text(json.dumps(answers), encoding="utf-8")


def waited(process: int, scratch: Path) -> int | None:
    """The exit status of a process that runs the program.

    None if it goes on some seconds after all processes that it has started have left: it may wait for what they would
    have told it, and does nothing of the stretch. Then it is killed, and so it is some seconds after an interrupt.
    """
    try:
        with unwound():
            return _waited(process, scratch)
    except KeyboardInterrupt:
        _see_end(process)
        raise
    except SystemExit:
        os.kill(process, signal.SIGTERM)
        _see_end(process)
        raise


def _see_end(process: int) -> None:
    """Of a process that was interrupted or ended with this one, and whose files are removed thereafter."""
    since = monotonic()
    with suppress(ChildProcessError):
        while os.waitpid(process, os.WNOHANG)[0] == 0:
            if monotonic() - since > _GRACE:
                os.kill(process, signal.SIGKILL)
            sleep(0.02)


def _waited(process: int, scratch: Path) -> int | None:
    left: float | None = None
    while (ended := os.waitpid(process, os.WNOHANG))[0] == 0:
        if left is None and any(map(processes.have_left, scratch.glob("*/parts"))):
            left = monotonic()
        if left is not None and monotonic() - left > _GRACE:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None
        sleep(0.02)
    return os.waitstatus_to_exitcode(ended[1])


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]).absolute())
    except KeyboardInterrupt:
        sys.exit(130)
