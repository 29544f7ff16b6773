# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as ProgressBar
from rich.table import Table

from repdl.cli._failure import check_folder, fail
from repdl.cli.torch_sweep import SweepOptions, check_dtypes, run_sweep, swept_ops
from repdl.conformance import GOLDEN, Comparison, IncomparableError, Progress, Report, ReportError, compare, run

app = typer.Typer()
TORCH_GOLDEN = GOLDEN / "torch"


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
    torch: Annotated[bool, typer.Option("--torch", help="Check calls of torch under repdl.enable() instead.")] = False,
    lines: Annotated[bool, typer.Option("--lines", help="With --torch: golden lines alone, a minute.")] = False,
    dtype: Annotated[list[str] | None, typer.Option(metavar="D", help="Of the sweep: float32, …; all.")] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Of the sweep: processes at a time.")] = None,
    short: Annotated[bool, typer.Option("--slice", help="Of the sweep: few ops, samples and settings.")] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Of the sweep: add what it found to FILE.")
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Of the sweep: only what --record's FILE lacks.")] = False,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Of the sweep: write docs/torch-ops.md.")
    ] = None,
) -> None:
    """Check that this machine computes the bits that every machine must: all golden cases, on all CPU targets and GPUs.

    A case that fails is named with the first element that differs. --op, --target and --device may be given several
    times.

    With --torch the golden cases are calls of the installed torch under `repdl.enable()`, in several layouts, with one
    thread and with more. Then comes the sweep, which takes hours unless --op, --dtype or --slice chooses a part: ops
    and modules of which torch has samples, with hostile numbers, in more layouts, on each CPU target and with each
    instruction set of torch. --op is a name such as maximum, index_add or nn.functional.linear.

    Exit status: 0 all passed, 1 a case failed, 2 a wrong call.
    """
    if context.invoked_subcommand is not None:
        return
    check_folder("--json", json)
    of_sweep = {"--dtype": dtype, "--jobs": jobs, "--slice": short, "--record": record, "--missing": missing}
    of_sweep["--page"] = page
    for name, value in (of_sweep if not torch or lines else {}).items():
        if value:
            fail(f"{name} goes with --torch, and not with --lines")
    if lines and not torch:
        fail("--lines goes with --torch")
    if missing and record is None:
        fail("--missing goes with --record")
    check_folder("--record", record)
    check_folder("--page", page)
    if torch and not lines and threads is not None:
        fail("--threads goes with --torch --lines: the sweep tries several numbers")
    names = list(op or ())
    golden_ops = {path.stem for path in _golden_of_torch(golden).glob("*.txt")}
    swept = swept_ops(names, golden_ops) if torch and not lines else []
    if dtype:
        check_dtypes(dtype)
    to_sweep = torch and not lines and (bool(swept) or not names)
    names = [name for name in names if name not in swept or name in golden_ops]
    passed = True
    if names or not (op or missing):
        passed = _run_lines(torch, names, target, device, threads, json, golden)
    if to_sweep:
        passed &= run_sweep(SweepOptions(swept, dtype or (), jobs, short, record, missing, page))
    raise typer.Exit(0 if passed else 1)


def _run_lines(
    torch: bool,
    ops: Sequence[str],
    targets: Sequence[str] | None,
    devices: Sequence[str] | None,
    threads: int | None,
    json: Path | None,
    golden: Path,
) -> bool:
    """Runs golden lines of the core or of torch, prints what they gave and keeps it; returns whether all passed."""
    try:
        with ProgressBar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("")

            def progress(done: int, total: int, what: str) -> None:
                bar.update(task, completed=done, total=total, description=escape(what))

            if torch:
                report = _run_torch(ops, targets, devices, threads, golden, progress)
            else:
                report = run(
                    ops,
                    targets=targets or (),
                    devices=devices or (),
                    threads=threads,
                    golden=golden,
                    progress=progress,
                )
    except ValueError as error:
        fail(error)
    if json is not None:
        try:
            report.save(json)
        except OSError as error:
            fail(f"--json: {json}: {error.strerror}")
    _print_report(report, Console())
    return report.passed


def _golden_of_torch(golden: Path) -> Path:
    return TORCH_GOLDEN if golden == GOLDEN else golden


def _run_torch(
    ops: Sequence[str],
    targets: Sequence[str] | None,
    devices: Sequence[str] | None,
    threads: int | None,
    golden: Path,
    progress: Progress,
) -> Report:
    if targets or len(devices or ()) > 1:
        raise ValueError("--torch runs kernels as this process has them: leave out --target, name one --device at most")
    try:
        import torch

        from repdl.conformance.torch_golden import THREADS, run_torch_golden
    except ModuleNotFoundError as error:
        raise ValueError(f"--torch needs torch: {error}") from error
    try:
        device = torch.device(devices[0] if devices else "cpu")
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:  # the former of a torch without CUDA
        raise ValueError(f"--device {devices[0] if devices else 'cpu'}: {error}") from error
    counts = THREADS if threads is None else (threads,)
    folder = _golden_of_torch(golden)
    on_cpu = device.type == "cpu"
    return run_torch_golden(ops, progress, threads=counts if on_cpu else counts[:1], golden=folder, device=device)


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
