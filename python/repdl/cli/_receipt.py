# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path

import typer

from repdl.cli._failure import fail, told
from repdl.cli._program import run_program


def run_with_receipt(
    path: Path, script: str, arguments: list[str], module: bool, checkpoints: Path | None, every: int
) -> None:
    """Runs an enabled program and writes its receipt."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        fail(
            "repdl run: --receipt is of a whole program, and WORLD_SIZE says that this is one process of several; have "
            "it run the launcher: repdl run --receipt FILE -m torch.distributed.run … in the place of torchrun …"
        )
    try:
        from repdl.receipts.program import Program
        from repdl.receipts.writing import writing

        if checkpoints is not None:
            checkpoints = checkpoints.absolute()
            checkpoints.mkdir(parents=True, exist_ok=True)
        program = Program(script, arguments, module, Path.cwd())
        with writing(path, program, every if checkpoints else 0, checkpoints) as writer:
            run_program(script, arguments, module)
    except (ValueError, ModuleNotFoundError) as error:
        fail(f"repdl run: --receipt: {error}")
    except OSError as error:
        fail(f"repdl run: {told(error)}")
    if writer.failure is not None:
        raise typer.Exit(2)
