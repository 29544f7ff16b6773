# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from repdl import library
from repdl._machine import describe_machine
from repdl.cli._failure import fail


def info(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """What this build is, and what it found: versions, CPU targets, CUDA devices, threads."""
    values = describe_machine()
    if as_json:
        typer.echo(json.dumps(values, indent=2))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in values.items():
        table.add_row(name, ", ".join(value) or "none" if isinstance(value, list) else str(value))
    Console(highlight=False).print(table)


def cmake_dir() -> None:
    """Where CMake's find_package(repdl_ops) finds what ops of your own are built with."""
    try:
        typer.echo(library.cmake_dir())
    except FileNotFoundError as error:
        fail(error)
