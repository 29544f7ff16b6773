# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import typer


def fail(message: object, status: int = 2) -> NoReturn:
    """Ends the command; 2 is the status of a wrong call."""
    typer.echo(str(message), err=True)
    raise typer.Exit(status)


def check_folder(option: str, path: Path | None) -> None:
    """Before a long run: its result can be written."""
    if path is not None and not path.absolute().parent.is_dir():
        fail(f"{option}: there is no folder {path.absolute().parent}")
