# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from repdl.cli._failure import Output, check_folder, fail, kept_failure, printing, told, write
from repdl.cli.run import check_script

_COMMAND = "as one types it: 'train.py --lr 1', 'python -m package', 'OMP_NUM_THREADS=1 train.py'."


def bisect(
    good: Annotated[str, typer.Option("--good", metavar="CMD", help=f"The command of run A, {_COMMAND}")],
    bad: Annotated[str, typer.Option("--bad", metavar="CMD", help="That of run B.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    cause: Annotated[
        bool, typer.Option("--cause", help="Find out in what the bits of that op differ, as `repdl diff --cause`.")
    ] = False,
    capture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Keep that op's tensors in FILE, as `repdl diff --capture`."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Draw both timelines into FILE, a page of its own."),
    ] = None,
    every_op: Annotated[
        bool,
        typer.Option("--every-op", help="Record all ops of long runs too, if nothing that is cheap differs."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", file_okay=False, help="Keep the records in FOLDER."),
    ] = None,
) -> None:
    """Run two commands again and again, with growing detail, until the first op is found in which they differ.

    First batches, parameters, the state of optimizers, results of models and the numbers that the program reads are
    recorded; then the ops of the first step that differs, after which the programs are ended. So long runs cost little
    more than two of them. If nothing of that differs, all ops of short runs are recorded, and of long ones with
    --every-op. The error output has what they print.

    Exit status: 0 the runs are equal, 1 they differ or end with other statuses, 2 an error, as of a command that
    cannot be run.
    """
    from repdl._needs import MissingLibraryError
    from repdl.runs.command import Command
    from repdl.runs.file import RecordError

    check_folder("--html", html)
    check_folder("--capture", capture)
    check_folder("--output", output)
    commands = {}
    for name, text in (("good", good), ("bad", bad)):
        try:
            commands[name] = Command.read(text)
        except ValueError as error:
            fail(f"repdl bisect: --{name} {text!r}: {error}")
        check_script(commands[name].program[0], commands[name].is_module)
    if output is not None:
        output.mkdir(exist_ok=True)
    try:
        from repdl.runs import report
        from repdl.runs.bisect import Bisection
        from repdl.runs.page import page
        from repdl.runs.sentence import as_json as values_of

        with TemporaryDirectory() if output is None else nullcontext(output) as folder:
            bisection = Bisection(commands, Path(folder).absolute(), _tell, every_op)
            result = bisection.find()
            found, runs = result.found, (result.a.run, result.b.run)
            with kept_failure() as failure:
                if cause and found is not None:
                    from repdl.runs.cause import look_for

                    found.cause = look_for(found, *runs, result.a.command)
                if capture is not None and found is not None:
                    from repdl.runs import capture as captured

                    commands_of = result.a.command, result.b.command
                    found.captured = captured.capture(found, *runs, capture, commands_of)
            with kept_failure() as failure_of_page:
                if html is not None:
                    write("--html", html, page(found, *runs))
            with printing():
                if as_json:
                    more = {"equal": result.is_equal, "notes": result.notes, "runs_made": bisection.runs}
                    values = values_of(found, *runs) | more
                    typer.echo(json.dumps(values, indent=2))
                else:
                    report.show(found, *runs, Output(highlight=False), result.notes)
    except (RecordError, MissingLibraryError) as error:
        fail(f"repdl bisect: {error}")
    except OSError as error:
        fail(f"repdl bisect: {told(error)}")
    if failures := failure + failure_of_page:
        fail("\n".join(f"repdl bisect: {text}" for text in failures))
    raise typer.Exit(int(not result.is_equal))


def _tell(text: str) -> None:
    typer.echo(f"repdl bisect: {text}", err=True)
