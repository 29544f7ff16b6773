# SPDX-License-Identifier: MIT
"""Measures speed as ratios against the best peer, all in one run.

python bench/run.py [mm] [conv2d] [lenet] [sums] [functions] [interception] [float64] [fourier]
                    [index_sums] [linalg] [--threads N] [--target avx2] [--markdown]
python bench/run.py functions --json docs/functions.json    the figures of `make docs`; for each target in turn
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from peers import strong_modes

PROGRAM = Path(__file__).resolve().parent.parent / "build/python/bench/cpp/repdl_bench"


class Suite(StrEnum):
    MM = "mm"
    CONV2D = "conv2d"
    LENET = "lenet"
    SUMS = "sums"
    FUNCTIONS = "functions"
    INTERCEPTION = "interception"
    FLOAT64 = "float64"
    FOURIER = "fourier"
    INDEX_SUMS = "index_sums"
    LINALG = "linalg"


def tables(suites: list[Suite], threads: list[int], program: Path, results: Path | None) -> list[Table]:
    import conv2d
    import float64
    import fourier
    import functions
    import index_sums
    import interception
    import lenet
    import linalg
    import mm
    import sums

    made: list[Table] = []
    for suite in suites:
        match suite:
            case Suite.MM:
                made += [mm.run(n) for n in threads]
            case Suite.CONV2D:
                made += [conv2d.run(n) for n in threads]
            case Suite.LENET:
                made.append(lenet.run(threads))
            case Suite.SUMS:
                made.append(sums.run(program))
            case Suite.FUNCTIONS:
                made.append(functions.run(program, results))
            case Suite.INTERCEPTION:
                made += [interception.switching(), interception.calls()]
                made += [interception.steps(n) for n in threads] + [interception.shares()]
            case Suite.FLOAT64:
                made.append(float64.run())
            case Suite.FOURIER:
                made += [fourier.errors(), fourier.run()]
            case Suite.INDEX_SUMS:
                made.append(index_sums.run())
            case Suite.LINALG:
                made += [linalg.errors()] + [linalg.run(n) for n in threads]
    return made


def main(
    suites: Annotated[list[Suite] | None, typer.Argument(help="What to measure; everything if not said.")] = None,
    threads: Annotated[list[int] | None, typer.Option(help="Numbers of threads; 1 and 2 if not said.")] = None,
    program: Annotated[Path, typer.Option(help="The C++ benchmark, for sums and functions.")] = PROGRAM,
    target: Annotated[str | None, typer.Option(help="CPU target, of the peers too; the best if not said.")] = None,
    json: Annotated[Path | None, typer.Option(help="A file that gets the figures of the functions.")] = None,
    markdown: Annotated[bool, typer.Option(help="Print tables for a document.")] = False,
) -> None:
    """Measures speed as ratios against the best peer, all in one run."""
    environment = {**os.environ, **strong_modes(target, program.parent)}
    if environment != os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    from machine import describe

    console = Console(width=200 if markdown else None)
    console.print(describe(), highlight=False)
    for table in tables(suites or list(Suite), threads or [1, 2], program, json):
        if markdown:
            table.box = box.MARKDOWN
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
