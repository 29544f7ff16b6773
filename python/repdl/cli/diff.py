# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from repdl.cli._failure import check_folder, fail

Run = Annotated[Path, typer.Argument(help="A file of `repdl record`.")]


def diff(
    a: Run,
    b: Run,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    cause: Annotated[
        bool,
        typer.Option("--cause", help="Run A's program again, up to that op, and find out in what its bits differ."),
    ] = False,
    capture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Run both programs again, up to that op, and keep its tensors in FILE, of safetensors.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Draw both timelines into FILE, a page of its own."),
    ] = None,
) -> None:
    """Find where two recorded runs differ first: step, phase, module, op and line, and whether its inputs were equal.

    --cause executes the command that A names, and --capture those of both: use them on records that you trust. The
    error output has what they print.

    Exit status: 0 the runs are equal, 1 they differ, 2 an error, as of a file that is damaged or no record.
    """
    from repdl._needs import MissingLibraryError
    from repdl.runs.file import RecordError

    check_folder("--html", html)
    check_folder("--capture", capture)
    try:
        from repdl.runs import difference, report, run
        from repdl.runs.sentence import as_json as values_of

        runs = run.Run(a), run.Run(b)
        found = difference.find(*runs)
        if cause and found is not None:
            from repdl.runs.cause import look_for

            found.cause = look_for(found, *runs)
        if capture is not None and found is not None:
            from repdl.runs import capture as captured

            found.captured = captured.capture(found, *runs, capture)
        if html is not None:
            from repdl.runs.page import page

            html.write_text(page(found, *runs), encoding="utf-8")
    except (RecordError, MissingLibraryError) as error:
        fail(f"repdl diff: {error}")
    except OSError as error:
        fail(f"repdl diff: {error.filename}: {error.strerror}")
    if as_json:
        typer.echo(json.dumps(values_of(found, *runs), indent=2))
    else:
        report.show(found, *runs, Console(highlight=False))
    raise typer.Exit(int(found is not None))
