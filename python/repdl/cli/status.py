# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from repdl.cli._failure import check_folder, fail


def status(
    ops: Annotated[
        list[str] | None, typer.Argument(metavar="[OP]...", help="sum, nn.functional.linear, …; all.")
    ] = None,
    dtype: Annotated[list[str] | None, typer.Option(metavar="D", help="float32, bfloat16 or float64; all.")] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes at a time; half of the cores.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Keep the result, and go on from it.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the tables as Markdown.")
    ] = None,
) -> None:
    """Measure in what the ops of the installed torch keep their bits: the tables of docs/status, for this machine.

    Each op of which torch's tests have samples is made again, forward and backward: from run to run, with other numbers
    of threads, in other layouts, a row of the batch alone, with other instruction sets, and on a GPU if there is one;
    by torch as it is, by its deterministic algorithms, and under `repdl.enable()`. What --json's FILE has already is
    kept, except for ops that are named, so that a run that was ended goes on.

    Exit status: 0, or 1 if bits differ under `repdl.enable()`, 2 a wrong call.
    """
    check_folder("--json", json)
    check_folder("--page", page)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch is loaded
    try:
        from repdl.conformance.torch_sweep import MissingError
        from repdl.conformance.torch_sweep.children import WorkerError
        from repdl.status import FormatError, Status, measure, page as page_of
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        fail("repdl status: it measures ops of torch, which is not installed: pip install torch")

    def write(result: Status) -> None:
        if json is not None:
            result.save(json)

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    try:
        earlier = Status.load(json) if json is not None and json.exists() else None
        with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("reading torch's samples", total=None)
            result = measure(
                ops or (),
                dtype or (),
                jobs=jobs or max(1, len(os.sched_getaffinity(0)) // 2),
                earlier=earlier,
                progress=lambda done, total, what: bar.update(
                    task, completed=done, total=total, description=escape(what)
                ),
                partial=write,
            )
        write(result)
    except FormatError as error:
        fail(f"--json: {error}")
    except (MissingError, ValueError) as error:
        fail(f"repdl status: {error}")
    except WorkerError as error:
        fail(f"repdl status: {error}", status=1)
    if page is not None:
        page.write_text(page_of(result, str(json or "FILE.json"), str(page)), encoding="utf-8")
    from repdl.status.page import ops as rows_of_ops, summary

    _print([summary(result), rows_of_ops(result)], result.ours_vary)
    raise typer.Exit(1 if result.ours_vary else 0)


MOST_SHOWN = 60
"""Rows of ops that are printed; of more the summary alone."""


def _print(tables: list[list[list[str]]], ours_vary: list[str]) -> None:
    console = Console(highlight=False)
    for head, *rows in tables:
        if len(rows) > MOST_SHOWN:
            continue
        table = Table(*map(escape, head), box=None, pad_edge=False)
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
        console.print()
    for line in ours_vary:
        console.print(f"[red]VARIES[/] under repdl.enable(): {escape(line)}")
