# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from repdl.cli._failure import check_folder, fail
from repdl.cli.torch_sweep import SweepOptions, run_sweep
from repdl.conformance import GOLDEN, Comparison, IncomparableError, Report, ReportError, compare, run

app = typer.Typer()


def _table(*columns: str) -> Table:
    """The first column is text, the others are numbers."""
    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
    return table


def _print_report(report: Report, console: Console) -> None:
    for failure in report.failures:
        console.print(f"[red]FAILED[/] on {failure.place}: [bold]{failure.op}[/]", highlight=False)
        typer.echo(f"    {failure.case}\n    {failure.detail}")
    machine = report.machine
    typer.echo(
        f"repdl {machine['version']}, arithmetic version {report.arithmetic_version}, "
        f"threads: {report.threads}\n{machine['CPU']}, {machine['platform']}\n"
    )
    table = _table("target", "ops", "cases", "passed", "failed", "no kernel", "seconds")
    for place, seconds in report.seconds.items():
        counts = report.counts(place)
        statuses = [str(counts[status]) for status in ("passed", "failed", "no kernel")]
        table.add_row(place, str(len(report.ops(place))), str(counts.total()), *statuses, f"{seconds:.1f}")
    console.print(table)
    for place in report.seconds:
        if missing := report.ops(place, "no kernel"):
            typer.echo(f"\nno kernel for {place}: {', '.join(missing)}")
    if report.failures:
        typer.echo(f"\n{len(report.failures)} of {len(report.results)} cases failed.")
    else:
        typer.echo("\nEvery digest is the golden one." if report.passed else "\nNo case could be run.")


@app.callback(invoke_without_command=True)
def conformance(
    context: typer.Context,
    op: Annotated[list[str] | None, typer.Option(metavar="NAME", help="mm, conv2d, …; all.")] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="T", help="scalar, avx2, …; all that run here.")] = None,
    device: Annotated[list[str] | None, typer.Option(metavar="D", help="cpu, cuda:0, …; all.")] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", min=1, max=1024, help="Threads to use.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Keep the digests in FILE.")] = None,
    golden: Annotated[
        Path, typer.Option(metavar="DIR", help="Another folder of golden files.", show_default=False)
    ] = GOLDEN,
    torch: Annotated[bool, typer.Option("--torch", help="Sweep the ops of torch instead.")] = False,
    dtype: Annotated[list[str] | None, typer.Option(metavar="D", help="With --torch: float32, …; all.")] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="With --torch: processes at a time.")] = None,
    short: Annotated[bool, typer.Option("--slice", help="With --torch: few ops, samples and settings.")] = False,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="With --torch: write docs/torch-ops.md.")
    ] = None,
) -> None:
    """Check that this machine computes the bits that every machine must: all golden cases, on all CPU targets and GPUs.

    A case that fails is named with the first element that differs. --op, --target and --device may be given several
    times.

    With --torch: ops and modules of which torch has samples, under `repdl.enable()`, with hostile numbers, in several
    layouts and numbers of threads, on each CPU target and with each instruction set of torch. --op names them as torch
    does, nn.functional.linear; --json keeps what was found.

    Exit status: 0 all passed, 1 a case failed, 2 a wrong call.
    """
    if context.invoked_subcommand is not None:
        return
    check_folder("--json", json)
    if torch:
        for name, value in {"--target": target, "--device": device, "--threads": threads}.items():
            if value is not None:
                fail(f"{name} does not go with --torch, which tries all")
        check_folder("--page", page)
        passed = run_sweep(SweepOptions(op or (), dtype or (), jobs, short, json, page))
        raise typer.Exit(0 if passed else 1)
    given = {"--dtype": dtype is not None, "--jobs": jobs is not None, "--slice": short, "--page": page is not None}
    for name, is_given in given.items():
        if is_given:
            fail(f"{name} goes with --torch")
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("")
            report = run(
                op or (),
                targets=target or (),
                devices=device or (),
                threads=threads,
                golden=golden,
                progress=lambda done, total, what: bar.update(
                    task, completed=done, total=total, description=escape(what)
                ),
            )
    except ValueError as error:
        fail(error)
    if json is not None:
        try:
            report.save(json)
        except OSError as error:
            fail(f"--json: {json}: {error.strerror}")
    _print_report(report, Console())
    raise typer.Exit(0 if report.passed else 1)


def _print_comparison(comparison: Comparison, names: tuple[Path, Path], console: Console) -> None:
    for found in comparison.different:
        console.print(f"[red]DIFFERENT[/]: [bold]{found.op}[/]", highlight=False)
        typer.echo(f"    {found.case}")
        for name, digests in zip(names, (found.left, found.right), strict=True):
            for digest, places in digests.items():
                typer.echo(f"    {digest[:16]}…  {name}: {', '.join(places)}")
    table = _table("cases", "number", "of the ops")
    table.columns[2].justify = "left"
    rows = {
        "equal": (comparison.equal, None),
        "different": (len(comparison.different), [found.op for found in comparison.different]),
        f"only in {names[0]}": (len(comparison.only_left), [op for op, _ in comparison.only_left]),
        f"only in {names[1]}": (len(comparison.only_right), [op for op, _ in comparison.only_right]),
    }
    for row, (number, ops) in rows.items():
        table.add_row(escape(row), str(number), ", ".join(dict.fromkeys(ops or ())))
    console.print(table)


@app.command()
def diff(
    left: Annotated[Path, typer.Argument(metavar="A", help="A file that --json wrote.")],
    right: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
) -> None:
    """Compare the digests of two files that --json wrote, on two machines perhaps.

    Exit status: 0 the same bits, 1 bits differ, 2 nothing to compare: no such file, other arithmetic, no case in both.
    """
    try:
        reports = Report.load(left), Report.load(right)
        comparison = compare(*reports)
    except (ReportError, IncomparableError) as error:
        fail(error)
    for name, report in zip((left, right), reports):
        known = [str(report.machine[key]) for key in ("version", "CPU", "platform") if key in report.machine]
        typer.echo(f"{name}: repdl {', '.join(known)}; {', '.join(report.seconds)}")
    typer.echo()
    _print_comparison(comparison, (left, right), Console())
    if comparison.different:
        raise typer.Exit(1)
    if comparison.equal == 0:
        fail("no case has a digest in both files")
