# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from typing import NoReturn

import typer

from repdl._needs import MissingLibraryError
from repdl.cli import conformance
from repdl.cli.bisect import bisect
from repdl.cli.diff import diff
from repdl.cli.info import cmake_dir, info
from repdl.cli.prove import prove
from repdl.cli.record import record
from repdl.cli.reveal import reveal
from repdl.cli.run import PASS_ON, audit, run
from repdl.cli.serve import serve
from repdl.cli.status import status
from repdl.cli.verify import verify

app = typer.Typer(
    name="repdl",
    help="Bitwise-reproducible deep learning: the same program, the same bits, everywhere.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(info)
app.command()(cmake_dir)
app.command()(prove)
app.add_typer(conformance.app, name="conformance")
app.command()(reveal)
app.command(context_settings=PASS_ON)(run)
app.command(context_settings=PASS_ON)(audit)
app.command(context_settings=PASS_ON)(record)
app.command()(diff)
app.command(hidden=True)(serve)
app.command()(bisect)
app.command()(verify)
app.command()(status)


def main() -> None:
    try:
        app()
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        _end("this command needs torch, which is not installed: pip install 'repdl[torch]'")
    except MissingLibraryError as error:
        _end(str(error))


def _end(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(2)
