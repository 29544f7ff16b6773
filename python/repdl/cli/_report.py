# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Protocol

import typer
from rich.console import Console

from repdl.cli._failure import fail, told, write


class Report(Protocol):
    """What a command has found: a table on a terminal, text elsewhere, and JSON."""

    def to_json(self) -> str: ...


def give(report: Report, json: Path | None) -> None:
    """Prints it, and writes it into a file where one is named."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(report)
    else:
        typer.echo(str(report))
    if json is not None:
        try:
            write("--json", json, report.to_json() + "\n")
        except OSError as error:
            fail(told(error))
