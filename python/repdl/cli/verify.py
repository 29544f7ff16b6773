# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repdl.cli._failure import fail, printing, told

if TYPE_CHECKING:
    from repdl.receipts.difference import Difference


def verify(
    receipt: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `repdl run --receipt`.")],
    program: Annotated[
        Path | None,
        typer.Option(metavar="SCRIPT", help="Where the program lies here; of a module the folder it is run in."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Verify the first step and N drawn at random, from checkpoints."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="What they are drawn from; another each time if not said.")] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(metavar="DIR", file_okay=False, help="The checkpoints of the run, for --steps.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the program of a receipt again, and confirm each step or name the first that differs and what of it.

    It executes the program that the receipt names, with the receipt's arguments, once its SHA-256 is found right: use
    it on programs that you trust. The error output has what it prints.

    Exit status: 0 confirmed, 1 something differs, 2 it cannot be verified: forged, damaged, another program.
    """
    if steps is None and (seed is not None or checkpoints is not None):
        fail("repdl verify: --seed and --checkpoints are of --steps")
    try:
        from repdl.receipts import file, stretches, verifying
        from repdl.receipts.entries import shown

        said = file.read(receipt)
        found = verifying.place_of(said, program)
        if steps is None:
            chosen, parts = [], [stretches.whole(said)]
        else:
            seed = secrets.randbelow(2**32) if seed is None else seed
            chosen = stretches.drawn(said, steps, seed)
            parts = stretches.with_steps(said, chosen, checkpoints)
        text = shown(" ".join([found.target, *found.arguments]))
        typer.echo(f"repdl verify: in {shown(found.directory)} runs again: {text}", err=True)
        confirmed, difference = verifying.verify(said, found, parts)
        others = list(verifying.other_versions(said)) if difference is not None else []
    except (ValueError, ModuleNotFoundError) as error:
        fail(f"repdl verify: {error}")
    except OSError as error:
        fail(f"repdl verify: {told(error)}")
    values: dict[str, Any] = {
        "confirmed": difference is None,
        "step": None if difference is None else difference.step,
        "what": [] if difference is None else difference.what,
        "process": None if difference is None else difference.process,
        "processes": said.processes,
        "steps": len(said.steps),
        "verified": confirmed,
        "drawn": chosen,
        "seed": seed,
        "link": said.link,
        "parameters": said.steps[-1]["parameters"] if said.steps else None,
        "other_versions": others,
    }
    processes = {step.get("process") for step in said.steps}
    of = f" of {len(processes)} processes" if said.processes else ""
    if difference is not None:
        values["sentence"] = f"Not confirmed: {difference.sentence}."
    elif steps is None:
        values["sentence"] = (
            f"Confirmed: all {len(said.steps)} steps{of}, and the end with status {said.end['status']}."
        )
    else:
        values["sentence"] = (
            f"Confirmed: steps {', '.join(map(str, chosen))}, drawn from seed {seed}, and those up to the next "
            f"checkpoints, {confirmed} of {len(said.steps)} steps{of}."
        )
    with printing():
        if as_json:
            typer.echo(json.dumps(values, indent=2))
        else:
            _tell(values, difference)
    raise typer.Exit(int(difference is not None))


def _tell(values: dict[str, Any], difference: Difference | None) -> None:
    typer.echo(values["sentence"])
    if values["other_versions"]:
        typer.echo(f"The receipt has other versions: {', '.join(values['other_versions'])}.")
    if difference is not None and not difference.is_of_checkpoint:  # which is as the trainer gave it
        if "generators" in values["what"]:
            typer.echo("A generator that the program does not seed is another each time: repdl.manual_seed seeds all.")
        if difference.has_resumed:
            typer.echo("If the whole run is confirmed, the loop goes by something that is no part of its Resumable.")
    claimed = "" if difference is None else "  (as the receipt has it)"
    typer.echo(f"chain       {values['link']}{claimed}")
    if values["parameters"] is not None:
        typer.echo(f"parameters  {values['parameters']}{claimed}")
