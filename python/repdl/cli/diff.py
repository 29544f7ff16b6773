# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repdl.cli._failure import Output, check_folder, fail, kept_failure, printing, told, write

if TYPE_CHECKING:
    from repdl.runs.run import AnyRun

Place = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A file of `repdl record`, or HOST:PATH, a file of another machine, by ssh."),
]


def diff(
    a: Place,
    b: Place,
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
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Read all of both files first: else only what may differ is read, by digests."),
    ] = False,
    remote_repdl: Annotated[
        str, typer.Option(metavar="CMD", help="How repdl is called on that machine, as 'env/bin/python -m repdl'.")
    ] = "repdl",
    remote_timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=86400,
            metavar="SECONDS",
            help="How long each answer of that machine may take, but for --cause and --capture.",
        ),
    ] = 60,
) -> None:
    """Find where two recorded runs differ first: step, phase, module, op and line, and whether its inputs were equal.

    --cause executes the command that A names, on the machine where A lies, and --capture those of both, where they lie:
    use them on records that you trust. The error output has what they print.

    Of a run on another machine the digests are asked for, and the calls around the first difference: kilobytes.

    Exit status: 0 the runs are equal, 1 they differ, 2 an error, as of a file that is damaged or no record.
    """
    from repdl._needs import MissingLibraryError
    from repdl.runs.file import RecordError

    check_folder("--html", html, a, b)
    check_folder("--capture", capture, a, b)
    try:
        from repdl.runs import difference, report
        from repdl.runs.sentence import as_json as values_of

        with ExitStack() as stack:
            opened = partial(_opened, command=remote_repdl, timeout=remote_timeout, stack=stack)
            runs = opened(a, again=cause or capture is not None), opened(b, again=capture is not None)
            for run in runs if verify else ():
                run.verify()
            found = difference.find(*runs)
            with kept_failure() as failure:
                if cause and found is not None:
                    from repdl.runs.cause import look_for

                    found.cause = look_for(found, *runs)
                if capture is not None and found is not None:
                    from repdl.runs import capture as captured

                    found.captured = captured.capture(found, *runs, capture)
            with kept_failure() as failure_of_page:
                if html is not None:
                    from repdl.runs.page import page

                    write("--html", html, page(found, *runs))
    except (RecordError, MissingLibraryError) as error:
        fail(f"repdl diff: {error}")
    except OSError as error:
        fail(f"repdl diff: {told(error)}")
    with printing():
        if as_json:
            typer.echo(json.dumps(values_of(found, *runs), indent=2))
        else:
            report.show(found, *runs, Output(highlight=False))
    if failures := failure + failure_of_page:
        fail("\n".join(f"repdl diff: {text}" for text in failures))
    raise typer.Exit(int(found is not None))


def _opened(text: str, command: str, timeout: float, stack: ExitStack, again: bool = False) -> AnyRun:
    from repdl.runs import remote
    from repdl.runs.run import Run

    place = remote.place(text)
    if place is None:
        return Run(Path(text))
    return stack.enter_context(remote.RemoteRun(*place, command, timeout, again))
