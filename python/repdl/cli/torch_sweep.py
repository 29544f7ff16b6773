# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from repdl.cli._failure import fail

if TYPE_CHECKING:
    from repdl.conformance.torch_sweep.outcome import Sweep

NO_TORCH = "--torch: the sweep runs ops of torch, which is not installed: pip install torch"


@dataclass(frozen=True)
class SweepOptions:
    """The options of `repdl conformance --torch`, as `torch_sweep.sweep` takes them, and where its result goes."""

    ops: Sequence[str]
    dtypes: Sequence[str]
    jobs: int | None
    short: bool
    record: Path | None
    missing: bool
    page: Path | None


def swept_ops(names: Sequence[str], others: Collection[str]) -> list[str]:
    """Those of the names that torch's databases have; says what is missing if these cannot be read, and what is wrong
    with a name that is not one of the others either."""
    try:
        from repdl.conformance.suite import check_names
        from repdl.conformance.torch_sweep import MissingError
        from repdl.conformance.torch_sweep.database import entries
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        fail(NO_TORCH)
    try:
        known = entries(None)
    except MissingError as error:
        fail(f"--torch: {error}")
    try:
        check_names("op of torch", names, sorted({*known, *others}))
    except ValueError as error:
        fail(f"--op: {error}")
    return [name for name in names if name in known]


def check_dtypes(names: Sequence[str]) -> None:
    """Before the golden lines, which take a minute."""
    from repdl.conformance.suite import check_names
    from repdl.conformance.torch_sweep.database import DTYPES

    try:
        check_names("dtype", names, DTYPES)
    except ValueError as error:
        fail(f"--dtype: {error}")


def run_sweep(options: SweepOptions) -> bool:
    """Runs the sweep, prints what it found and writes its files; whether nothing was found."""
    try:
        from repdl.conformance.torch_sweep import MissingError, ResultError, Sweep, page, sweep
        from repdl.conformance.torch_sweep.children import WorkerError
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        fail(NO_TORCH)

    try:
        earlier = Sweep.load(options.record) if options.record is not None and options.record.exists() else None
    except ResultError as error:
        fail(f"--record: {error}")

    def write(result: Sweep) -> None:
        if earlier is not None:
            result = result.onto(earlier)
        if options.record is not None:
            result.save(options.record)
        if options.page is not None:
            options.page.write_text(page(result, options.page.stem), encoding="utf-8")

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("reading torch's samples", total=None)
            result = sweep(
                options.ops,
                options.dtypes,
                short=options.short,
                jobs=options.jobs,
                known_already={(op, dtype) for op, dtype, _ in earlier.pairs()} if earlier and options.missing else (),
                progress=lambda done, total, what: bar.update(
                    task, completed=done, total=total, description=escape(what)
                ),
                partial=write,
            )
            write(result)
    except ResultError as error:
        fail(f"--record {options.record}: {error}")
    except (MissingError, ValueError) as error:
        fail(f"--torch: {error}")
    except WorkerError as error:
        fail(f"--torch: {error}", status=1)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    if options.missing and not result.outcomes:
        typer.echo(f"{options.record} lacks none of them.")
        return True
    _print(result, Console())
    return result.passed


def _print(result: Sweep, console: Console) -> None:
    for finding in result.findings:
        console.print(f"[red]{finding.kind.upper()}[/] [bold]{finding.op}[/] {finding.dtype}", highlight=False)
        typer.echo(f"    {finding.form}: {finding.detail}\n    {_cases(finding.cases)}")
    raising: dict[str, list[str]] = {}
    for op, dtype, outcome in result.pairs():
        if outcome.raises:
            raising.setdefault(op, []).append(dtype)
    if raising:
        typer.echo("\nNotReproducibleError, in some calls at least:")
        for op, dtypes in raising.items():
            typer.echo(f"    {op}: {', '.join(dtypes)}")
    for run in result.runs:
        typer.echo(f"\nrepdl {run.commit}, torch {result.torch}, {run.CPU}\nsettings: {', '.join(run.settings)}")
    cut = [outcome.cut for _, _, outcome in result.pairs() if outcome.cut]
    if cut:
        typer.echo(f"of {len(cut)} ops and dtypes the time ran out: {sum(cut)} calls were left out")
    for op, dtype, outcome in result.pairs():
        if outcome.stock:
            typer.echo(f"{outcome.left_out(op, dtype)}")
    if not result.trials:
        typer.echo("No call could be tried.")
    elif result.findings:
        kinds = Counter(finding.kind for finding in result.findings)
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        typer.echo(f"{result.trials} calls tried: {told}.")
    else:
        typer.echo(f"{result.trials} calls tried: nothing differs, nothing is wrong.")


def _cases(cases: list[str]) -> str:
    named = [case for case in cases if case]
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    return f"samples {', '.join(named[:5])}{more}" if named else ""
