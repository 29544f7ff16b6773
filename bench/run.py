# SPDX-License-Identifier: MIT
"""Measures speed as ratios against the best peer, all in one run.

python bench/run.py [mm] [convolution] [lenet] [steps] [sums] [functions] [calls] [interception] [fourier] [record]
                    [cuda] [--threads N] [--target avx2] [--markdown]
python bench/run.py --results docs                       the figures of `make docs`; for each target in turn
python bench/run.py calls --only "linear algebra"        a family, or calls with these words in their names
python bench/run.py cuda --seconds 100 --results docs --go-on    on a GPU; status 3: call it again, it goes on
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from peers import strong_modes
from repdl import _core

PROGRAM = Path(__file__).resolve().parent.parent / "build/python/bench/cpp/repdl_bench"


class Suite(StrEnum):
    MM = "mm"
    CONVOLUTION = "convolution"
    LENET = "lenet"
    STEPS = "steps"
    SUMS = "sums"
    FUNCTIONS = "functions"
    CALLS = "calls"
    INTERCEPTION = "interception"
    FOURIER = "fourier"
    RECORD = "record"
    CUDA = "cuda"


def tables(
    suites: list[Suite], threads: list[int], program: Path, rounds: int, only: str | None, results: Path | None,
    seconds: float, go_on: bool,
) -> list[Table]:  # fmt: skip
    """Each suite is imported where it is measured: it may need what others do without."""
    made: list[Table] = []

    def keep(suite: Suite, measured: dict[int, Any]) -> None:
        if results is not None:
            import figures

            figures.save(results, suite, measured)

    for suite in suites:
        match suite:
            case Suite.MM:
                import mm

                keep(suite, products := {n: mm.measure(n) for n in threads})
                made += [mm.table(of, n) for n, of in products.items()]
            case Suite.CONVOLUTION:
                import convolution

                keep(suite, layers := {n: convolution.measure(n) for n in threads})
                made += [table for n, of in layers.items() for table in convolution.tables(of, n)]
            case Suite.LENET:
                import lenet

                keep(suite, times := {n: lenet.measure(n) for n in threads})
                made.append(lenet.table(times))
            case Suite.STEPS:
                import steps

                keep(suite, models := {n: steps.measure(n) for n in threads})
                made += [steps.table(of, n) for n, of in models.items()]
            case Suite.SUMS:
                import sums

                keep(suite, {1: (speeds := sums.measure(program))})
                made.append(sums.table(speeds))
            case Suite.FUNCTIONS:
                import functions

                made.append(functions.run(program, results and results / "functions.json"))
            case Suite.CALLS:
                import calls

                made += calls.run(threads, rounds, only, results and results / "calls.json")
            case Suite.INTERCEPTION:
                import interception

                made += [interception.switching(), interception.beside_a_model()]
                made.append(interception.shares())
            case Suite.FOURIER:
                import fourier

                made.append(fourier.run())
            case Suite.RECORD:
                import record

                made.append(record.run(threads, rounds))
            case Suite.CUDA:
                import gpu

                made += gpu.run(seconds, only, results and results / "cuda.json", go_on)
    return made


def main(
    suites: Annotated[
        list[Suite] | None, typer.Argument(help="What to measure; all that runs here if not said.")
    ] = None,
    threads: Annotated[list[int] | None, typer.Option(help="Numbers of threads; 1 and 2 if not said.")] = None,
    program: Annotated[Path, typer.Option(help="The C++ benchmark, for sums and functions.")] = PROGRAM,
    target: Annotated[str | None, typer.Option(help="CPU target, of the peers too; the best if not said.")] = None,
    only: Annotated[str | None, typer.Option(help="For calls and cuda: a family, or a part of names.")] = None,
    rounds: Annotated[int, typer.Option(help="For calls and record: turns of each.")] = 5,
    results: Annotated[Path | None, typer.Option(help="A folder that gets files of the figures, such as docs.")] = None,
    seconds: Annotated[float, typer.Option(help="For cuda: how long.")] = 100.0,
    go_on: Annotated[bool, typer.Option("--go-on", help="For cuda: leave out what the file has.")] = False,
    markdown: Annotated[bool, typer.Option(help="Print tables for a document.")] = False,
) -> None:
    """Measures speed as ratios against the best peer, all in one run."""
    if results and only and suites != [Suite.CUDA]:
        raise typer.BadParameter("--results keeps all calls, not those of --only")
    if results:
        results.mkdir(parents=True, exist_ok=True)
    if Suite.CUDA in (suites or []) and not torch.cuda.is_available():
        raise typer.BadParameter("there is no GPU for `cuda`")
    if target is not None and target not in _core.supported_targets():
        print(f"skipped: this CPU does not have {target}")
        return
    chosen = suites or [suite for suite in Suite if suite is not Suite.CUDA or torch.cuda.is_available()]
    if chosen != [Suite.CUDA]:
        environment = {**os.environ, **strong_modes(target, program.parent)}
        if environment != os.environ:
            os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    from machine import describe

    console = Console(width=200 if markdown else None)
    console.print(describe(), highlight=False)
    for table in tables(chosen, threads or [1, 2], program, rounds, only, results, seconds, go_on):
        if markdown:
            table.box = box.MARKDOWN
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
