# SPDX-License-Identifier: MIT
"""`repdl verify`: finds the program of a receipt, runs it again, all of it or stretches of steps, and compares.

Each run is a process of its own, of `rerun`, which ends at the first entry that differs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from repdl import _core
from repdl._leaving import unwound
from repdl.receipts import program as programs
from repdl.receipts.difference import Difference, judge
from repdl.receipts.entries import ReceiptError, shown
from repdl.receipts.file import Receipt
from repdl.receipts.processes import VARIABLE
from repdl.receipts.program import Program
from repdl.receipts.stretches import Stretch

_SECONDS = 2.0
"""In which a process has noticed what a terminal tells all of a group."""


def place_of(receipt: Receipt, program: Path | None) -> Program:
    """The program of a receipt where it lies here; ReceiptError if it is another one."""
    of_receipt = receipt.program
    about, _ = receipt.about
    is_module = of_receipt["is_module"]
    if program is None:
        path, directory = about["path"], Path(about["directory"])
        if not directory.is_dir():
            raise ReceiptError(f"there is no folder {shown(directory)}; say with --program where the program is")
    elif is_module:  # the folder that it is run in
        path, directory = of_receipt["script"], program.absolute()
    else:
        path, directory = str(program), Path.cwd()
    found = Program(path, of_receipt["arguments"], is_module, directory)
    file = found.file()
    if file is None:
        raise ReceiptError(f"there is no program {shown(path)}; say with --program where it is")
    if found.is_of_torch is (of_receipt["sha256"] is not None):
        raise ReceiptError(f"{shown(path)} is to have a digest if it is the user's, and none if it is torch's")
    if of_receipt["sha256"] is not None:
        _check_source(file, of_receipt["sha256"])
    for name, digest in receipt.end["sources"].items():
        source = found.folder() / name
        if not source.is_file():
            raise ReceiptError(f"there is no {shown(source)}, which the program imported")
        _check_source(source, digest)
    if of_receipt["arithmetic"] != _core.arithmetic_version:
        raise ReceiptError(
            f"it was written with arithmetic version {of_receipt['arithmetic']}, and this version of repdl has "
            f"{_core.arithmetic_version}"
        )
    return found


def _check_source(file: Path, expected: str) -> None:
    if (digest := programs.digest_of_file(file)) != expected:
        raise ReceiptError(
            f"{shown(file)} is not what the receipt is of: it has the SHA-256 {digest}, not the receipt's {expected}"
        )


def verify(receipt: Receipt, program: Program, stretches: Sequence[Stretch]) -> tuple[int, Difference | None]:
    """Executes the program; what it prints goes to the error output.

    Returns how many steps are as the receipt says, in stretches that are so as a whole, and the first difference.
    """
    with TemporaryDirectory() as folder:
        job = {
            "receipt": str(receipt.path.absolute()),
            "program": [program.target, *program.arguments],
            "is_module": program.is_module,
            "directory": str(program.directory),
            "stretches": [
                (s.first, s.stop, {name: str(path.absolute()) for name, path in s.checkpoints.items()})
                for s in stretches
            ],
        }
        Path(folder, "job").write_text(json.dumps(job), encoding="utf-8")
        of_other_runs = ("REPDL_RUN", VARIABLE, "PYTHONHASHSEED")
        environment = {name: value for name, value in os.environ.items() if name not in of_other_runs}
        if (hash_seed := receipt.program["hash_seed"]) is not None:
            environment["PYTHONHASHSEED"] = hash_seed
        command = [sys.executable, "-m", "repdl.receipts.rerun", folder]
        with unwound():
            _run(command, environment)
        answers = Path(folder, "answers")
        if not answers.exists():
            raise ReceiptError("the program could not be run again")
        return judge(receipt, stretches, json.loads(answers.read_text(encoding="utf-8")))


def _run(command: list[str], environment: dict[str, str]) -> None:
    """Waits for the process also if this one is interrupted, so that nothing of it is left to run without its files."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, env=environment)
    try:
        process.wait()
    except KeyboardInterrupt:
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:  # the interrupt was for this one alone
            process.send_signal(signal.SIGINT)
            process.wait()
        raise
    except SystemExit:
        process.terminate()
        process.wait()
        raise


def other_versions(receipt: Receipt) -> Iterator[str]:
    """Of the libraries that the run had imported and that are of other versions here."""
    _, about = receipt.about
    versions = about.get("versions")
    for name, version in versions.items() if isinstance(versions, dict) else ():
        here = programs.version_of(name)
        if here != version:
            yield f"{shown(name)} {shown(version)} (here {here or 'none'})"
