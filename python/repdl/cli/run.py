# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from repdl.cli._failure import check_folder, fail
from repdl.cli._report import give

# Everything after SCRIPT is the script's.
PASS_ON = {"allow_interspersed_args": False}

Script = Annotated[str, typer.Argument(metavar="SCRIPT", help="The program, as for python; with -m a module.")]
Arguments = Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="Its arguments, passed as they are.")]
Module = Annotated[bool, typer.Option("-m", help="SCRIPT is the name of a module, as for python -m.")]
Order = Annotated[str | None, typer.Option(help="Order of sums: blocked or sequential.")]
Rng = Annotated[str, typer.Option(help="Random numbers: philox, or torch for what torch's generator draws.")]


def run(
    script: Script,
    args: Arguments = None,
    module: Module = False,
    order: Order = None,
    strict: Annotated[
        str | None, typer.Option(help="Operations that are not reproducible: error, warn or off; error if not said.")
    ] = None,
    rng: Rng = "philox",
    receipt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Write a receipt of the run, which `repdl verify` verifies."),
    ] = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="With --receipt: save checkpoints of a Resumable there."),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option("--checkpoint-every", min=1, metavar="N", help="With --checkpoints: of how many iterations one."),
    ] = None,
) -> None:
    """Run an unchanged PyTorch program with `repdl.enable()` in force from its first line.

    Its exit status is the status of this command; 2 if it is 0 and the receipt is not whole, as on a full disk.
    """
    from repdl.cli._program import run_program

    check_script(script, module)
    if receipt is None and checkpoints is not None:
        fail("repdl run: --checkpoints is of --receipt")
    if checkpoints is None and every is not None:
        fail("repdl run: --checkpoint-every is of --checkpoints")
    check_folder("--receipt", receipt, script)
    try:
        enable_program(strict, order, rng)
    except ValueError as error:
        fail(f"repdl run: {error}")
    if receipt is None:
        run_program(script, args or [], module)
    else:
        from repdl.cli._receipt import run_with_receipt

        run_with_receipt(receipt, script, args or [], module, checkpoints, every or 1)


def enable_program(strict: str | None, order: str | None, rng: str) -> None:
    """In this process, and in Python processes that the program starts, as those of torchrun: site/sitecustomize.py."""
    from repdl.interception import enable

    enable(strict, order, rng)
    os.environ["REPDL_RUN"] = dumps((strict, order, rng))
    site = str(Path(__file__).parent / "site")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([site, *(path for path in paths if path not in ("", site))])


def audit(
    script: Script,
    args: Arguments = None,
    module: Module = False,
    order: Order = None,
    rng: Annotated[str | None, typer.Option(help="Random numbers, as for run.")] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the report into FILE, as JSON.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Run torch's own kernels, and each op again in other settings.")
    ] = False,
    times: Annotated[
        int | None, typer.Option(min=1, help="With --measure: how many calls alike are made again; 2 if not said.")
    ] = None,
) -> None:
    """Run a PyTorch program reproducibly as far as it is, and list the ops it called and what is known of their bits.

    Nothing of the program raises for being not reproducible. The report is printed when it ends, also if it fails;
    its exit status is the status of this command.

    With --measure the program runs as it is, and each of its ops is made again on the same inputs: in other runs,
    processes, numbers of threads, layouts, batches and instruction sets. The report tells in what the bits of which op
    vary, where, how far, and which line mends it. If the program ends well, exit status 1 says that an op varies.
    """
    check_script(script, module)
    check_folder("--json", json, script)
    json = json and json.absolute()  # the program may go to another folder
    if measure:
        from repdl.cli._measure import measure_program

        if order is not None or rng is not None:
            fail("repdl audit: --measure takes no --order and no --rng, since it runs the program's own kernels")
        measure_program(script, args or [], module, times or 2, json)
        return
    if times is not None:
        fail("repdl audit: --times is of --measure")
    from repdl._leaving import written_before
    from repdl.cli._program import run_program
    from repdl.interception.recording import Recorder, recording

    process = os.getpid()
    recorder: Recorder | None = None

    def end(status: int = 0) -> None:
        if recorder is not None and os.getpid() == process:  # not in one that the program forks
            give(recorder.report, json)

    try:
        with recording(order, rng or "philox") as recorder, written_before(end):
            run_program(script, args or [], module)
    except ValueError as error:
        fail(f"repdl audit: {error}")
    finally:
        end()


def check_script(script: str, module: bool) -> None:
    if module:
        return
    if not script or not Path(script).exists():
        fail(f"can't open {script!r}: there is no such file")
    if Path(script).is_dir() and not any(Path(script).glob("__main__.py*")):
        fail(f"can't run the folder {script!r}: it has no __main__.py")
