# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(path: Annotated[Path, typer.Argument(metavar="RUN", help="A file of `repdl record`.")]) -> None:
    """Answer what `repdl diff RUN HOST:PATH` on another machine asks of a run; it starts this by ssh."""
    from repdl.runs.serving import serve as answer

    answer(path.expanduser(), sys.stdin.buffer, sys.stdout.buffer)  # the shell of ssh is given it in quotes
