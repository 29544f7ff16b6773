# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from repdl.cli._failure import check_folder, fail
from repdl.cli.run import Arguments, Module, Script, check_script


def record(
    script: Script,
    args: Arguments = None,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="RUN", dir_okay=False, help="The file of the record, written anew."),
    ] = Path("run.repdl"),
    module: Module = False,
    every: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Ops of one step in N; of others what bisect records of all steps."),
    ] = 1,
    steps: Annotated[
        str, typer.Option(metavar="A:B", help="Ops of the steps from A to before B alone, counted from 0.")
    ] = "",
    enable: Annotated[
        bool, typer.Option("--enable", help="With `repdl.enable()` in force, as under `repdl run`.")
    ] = False,
) -> None:
    """Run an unchanged PyTorch program and record each op: its place, and hashes of what it reads and writes.

    `repdl diff` finds where two such runs differ first. Time and size are printed on the error output when it ends.
    Exit status: the program's; 2 if it is 0 and the record is not whole, as on a full disk.
    """
    from repdl._needs import MissingLibraryError
    from repdl.cli._program import run_program
    from repdl.interception import reproducible

    check_script(script, module)
    check_folder("-o", output, script)
    chosen = _range(steps)[::every]
    program = command(script, args or [], module)
    try:
        from repdl.runs.recorder import recording

        with reproducible() if enable else nullcontext(), recording(output, chosen, program=program) as recorder:
            run_program(script, args or [], module)
    except MissingLibraryError as error:
        fail(error)
    except OSError as error:
        fail(f"-o: {output}: {error.strerror}")
    if recorder.log.failure is not None:
        raise typer.Exit(2)


def _range(steps: str) -> range:
    if not (found := re.fullmatch(r"(\d*):(\d*)|", steps)):
        fail(f"--steps: {steps!r} is no A:B, such as 40:42")
    first, end = (int(text or default) for text, default in zip(found.groups(""), (0, sys.maxsize), strict=True))
    if first >= end:
        fail(f"--steps: {steps!r} is no step: in A:B the first number is the smaller one, such as 40:42")
    return range(first, min(end, sys.maxsize))


def command(script: str, args: list[str], module: bool) -> dict[str, Any]:
    """What `repdl diff --cause` needs to have this run again. One process of several would wait for the others."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        return {}
    return {"program": [script, *args], "is_module": module, "directory": os.getcwd()}
