# SPDX-License-Identifier: MIT
"""A process of `repdl bisect`: runs a program, records the ops of some steps, and does not go on after them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from repdl.cli._program import run_program
from repdl.cli.record import command
from repdl.runs.recorder import Recorder, recording


class Stretch(Recorder):
    def begin_step(self) -> None:
        if self.log.step and self.log.step == self.steps.stop:
            self.log.close("reached", 0.0, 0.0)
            self.leave()
        super().begin_step()

    def leave(self) -> None:
        sys.stdout.flush()
        os._exit(0)  # the program must neither catch this nor go on


def main(path: str, first: str, end: str, how: str, *program: str) -> None:
    target, *arguments = program
    is_module = how == "module"
    header = command(target, arguments, is_module)
    with recording(Path(path), range(int(first), int(end)), quiet=True, program=header, kind=Stretch):
        run_program(target, arguments, is_module)


if __name__ == "__main__":
    main(*sys.argv[1:])
