# SPDX-License-Identifier: MIT
"""A process of `repdl bisect`: runs a program, records some of its ops, and does not go on after them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from repdl.cli._program import run_program
from repdl.cli.record import command
from repdl.runs.recorder import Recorder, recording
from repdl.runs.window import Window


class Stretch(Recorder):
    def begin_step(self) -> None:
        if (self.log.step and self.log.step == self.steps.stop) or self.seen == self.window.end:
            self.log.close("reached", 0.0, 0.0)
            self.leave()
        super().begin_step()

    def leave(self) -> None:
        sys.stdout.flush()
        os._exit(0)  # the program must neither catch this nor go on


def main(path: str, first: str, end: str, window: str, how: str, *program: str) -> None:
    target, *arguments = program
    is_module = how == "module"
    header = command(target, arguments, is_module)
    steps, ops = range(int(first), int(end)), Window(*map(int, window.split(":")))
    with recording(Path(path), steps, quiet=True, program=header, kind=Stretch, window=ops):
        run_program(target, arguments, is_module)


if __name__ == "__main__":
    main(*sys.argv[1:])
