# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer


def serve(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="A file of `repdl record`.")],
    again: Annotated[
        bool, typer.Option("--again", help="Run the program of that record again, when `repdl diff --cause` asks.")
    ] = False,
) -> None:
    """Answer what `repdl diff RUN HOST:PATH` on another machine asks of a run; it starts this by ssh."""
    from repdl.runs.serving import serve as answer

    if again:
        _end_with_the_questions()
    answer(path.expanduser(), sys.stdin.buffer, sys.stdout.buffer, again)  # the shell of ssh is given it in quotes
    if again:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends by itself


def _end_with_the_questions() -> None:
    """Ends this process and those that it starts as soon as nobody can ask any more, so that no program runs on."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which removes temporary files
    poll = select.poll()
    poll.register(sys.stdin, 0)  # the end is always reported

    def wait() -> None:
        poll.poll()
        os.killpg(0, signal.SIGTERM)

    Thread(target=wait, daemon=True).start()
