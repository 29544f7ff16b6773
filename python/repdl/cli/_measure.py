# SPDX-License-Identifier: MIT
"""`repdl audit --measure`: runs a program with torch's own kernels, and its ops again in other settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as ProgressBar, SpinnerColumn, TextColumn, TimeElapsedColumn

from repdl.cli._report import give

if TYPE_CHECKING:
    from repdl.experiments import Measurement
    from repdl.experiments.program import Progress


def measure_program(script: str, args: list[str], module: bool, times: int, json: Path | None) -> None:
    """Ends with the program's exit status if that is not 0, else with 1 if an op varies."""
    # Threads that spin while they wait take the cores from the other processes; read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from repdl._leaving import written_before
    from repdl.cli._program import run_program
    from repdl.experiments import Engine, measuring

    process = os.getpid()
    measurement: Measurement | None = None
    stack = ExitStack()

    def end(status: int = 0) -> None:
        stack.close()
        if measurement is not None and os.getpid() == process:  # not in one that the program forks
            give(measurement, json)

    try:
        with stack:
            engine, progress = stack.enter_context(Engine()), stack.enter_context(_shown())
            measurement = stack.enter_context(measuring(engine, times, progress))
            with written_before(end):
                run_program(script, args, module)
    finally:
        end()
    if os.getpid() == process and not measurement.ok:
        raise typer.Exit(1)


@contextmanager
def _shown() -> Iterator[Progress]:
    """A line on a terminal, which takes no output from the program."""
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    console = Console(stderr=True)
    bar = ProgressBar(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_terminal,
    )
    task = bar.add_task("running the program", total=None)

    def tell(what: str, so_far: Measurement) -> None:
        vary = sum(bool(measured.varies) for measured in so_far)
        told = f"{so_far.tried} calls of {len(so_far.ops)} ops made again, {vary} ops vary: {what}"
        bar.update(task, description=escape(told))

    process = os.getpid()
    bar.start()
    try:
        yield tell
    finally:
        if os.getpid() == process:  # one that the program forks has the line, and not the thread that draws it
            bar.stop()
