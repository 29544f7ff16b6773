# SPDX-License-Identifier: MIT
"""A process of `repdl verify`: runs the program of a receipt again, and ends where it is another run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from repdl import checkpoint
from repdl.cli._program import run_program
from repdl.cli.run import enable_program
from repdl.receipts import file
from repdl.receipts.file import END
from repdl.receipts.follower import Follower
from repdl.receipts.program import Program


class Comparison:
    """Of what the program gives with a stretch of entries of a receipt. It ends the process at the first that differs,
    or when all are equal: the program is not to go on, nor to handle its end."""

    def __init__(self, folder: Path, job: dict[str, Any]) -> None:
        self.receipt = file.read(Path(job["receipt"]))
        self.entries = [*self.receipt.entries, (END, self.receipt.end)]
        self.folder, self.job, self.at = folder, job, job["first"]

    def add(self, kind: str, content: dict[str, Any]) -> None:
        if self.entries[self.at] != (kind, content):
            self._answer(found=(kind, content))
        self.at += 1
        if self.at == self.job["stop"]:
            self._answer()

    def restore(self, parts: Mapping[str, Any]) -> tuple[int, int]:
        try:
            checkpoint.load(self.job["checkpoint"], **parts)
        except (checkpoint.CheckpointError, OSError) as error:
            self._answer(refused=str(error))
        _, content = self.entries[self.at]
        return content["before"], content["iterations"]

    def _answer(self, **more: Any) -> NoReturn:
        Path(self.folder, "answer").write_text(json.dumps({"at": self.at, **more}), encoding="utf-8")
        sys.stdout.flush()
        os._exit(0)


def main(folder: Path) -> None:
    job = json.loads(Path(folder, "job").read_text(encoding="utf-8"))
    comparison = Comparison(folder, job)
    said = comparison.receipt.program
    sys.path[:] = map(os.path.abspath, sys.path)
    os.chdir(job["directory"])
    target, *arguments = job["program"]
    program = Program(target, arguments, job["is_module"], Path(job["directory"]))
    enable_program(said["strict"], said["order"], said["rng"])
    restore = comparison.restore if job["checkpoint"] else None
    follower = Follower(comparison.add, said["checkpoint_every"], restore=restore)
    with follower.followed(program.folder()):
        run_program(target, arguments, job["is_module"])


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
