# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

import repdl
from repdl._machine import commit

HOW_TO_BUILD = """\
repdl prove calls the program repdl_prove, which needs MPFR and is not in the package. In a source tree:

    apt install libmpfr-dev
    cmake --preset release
    cmake --build build/release --target repdl_prove

It is found in any build folder there; elsewhere, name it with --program or REPDL_PROVE."""


def find_program() -> Path | None:
    """The newest repdl_prove in a build folder of the source tree that this package is used from."""
    root = Path(repdl.__file__).resolve().parents[2]
    built = root.glob("build/*/tools/repdl_prove")
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def prove(
    functions: Annotated[list[str] | None, typer.Argument(help="exp, log, …; all if none is named.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="scalar, avx2, cuda:0, …; all that run here.")] = None,
    dtype: Annotated[list[str] | None, typer.Option(help="float32, bfloat16, float16: all of them; float64.")] = None,
    stride: Annotated[int | None, typer.Option(help="Every Nth float32 input only.")] = None,
    offset: Annotated[int | None, typer.Option(help="Begin with this input; the seed of random pairs.")] = None,
    pairs: Annotated[int | None, typer.Option(help="Random pairs for functions of two numbers.")] = None,
    random: Annotated[int | None, typer.Option(help="Random inputs of float64.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another one makes other random inputs of float64.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to use.")] = None,
    results: Annotated[Path | None, typer.Option(help="Put the results into this file, as docs/proofs.jsonl.")] = None,
    hard_cases: Annotated[bool, typer.Option("--hard-cases", help="Write the hardest inputs met.")] = False,
    program: Annotated[Path | None, typer.Option(envvar="REPDL_PROVE", help="Where repdl_prove is.")] = None,
) -> None:
    """Compare functions with MPFR: every float32 input, on every CPU target and on a GPU. Takes minutes a function.

    Of float64, with --dtype float64, random inputs.
    """
    program = program or find_program()
    if program is None:
        typer.echo(HOW_TO_BUILD, err=True)
        raise typer.Exit(2)
    command = [str(program.absolute()), *(functions or [])]  # a name alone would be looked for on PATH
    command += [f"--target={name}" for name in target or []]
    command += [f"--dtype={name}" for name in dtype or []]
    single = {"stride": stride, "offset": offset, "pairs": pairs, "random": random, "seed": seed, "threads": threads}
    command += [f"--{name}={value}" for name, value in single.items() if value is not None]
    if results is not None:
        command += [f"--results={results}", f"--commit={commit() or 'not known'}"]
    if hard_cases:
        command.append("--hard-cases")
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as error:
        typer.echo(f"{program}: {error.strerror}", err=True)
        status = 2
    raise typer.Exit(status)
