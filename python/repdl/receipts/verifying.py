# SPDX-License-Identifier: MIT
"""`repdl verify`: runs the program of a receipt again, all of it or stretches of steps, and compares.

Each run is a process of its own, `rerun`, which ends at the first entry that differs.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from repdl import _core
from repdl.receipts import program as programs
from repdl.receipts.file import CHECKPOINT, END, STEP, Entry, Receipt, ReceiptError, checkpoint_name
from repdl.receipts.program import Program

_NAMES = {
    "batches": "the batches",
    "parameters": "the parameters",
    "buffers": "the buffers",
    "optimizer": "the state of the optimizer",
    "generators": "the generators",
    "state": "the state of the parts",
    "status": "the exit status",
    "sources": "the sources that were imported",
}


@dataclass(frozen=True)
class Stretch:
    """Entries from `first` until before `stop`, the end counted as one; from a checkpoint on, or from the beginning."""

    first: int
    stop: int
    checkpoint: Path | None = None


@dataclass(frozen=True)
class Difference:
    """The first entry that is another one when the program is run again.

    step: the one in which, or before which, it is. what: the fields that differ, as the file has them.
    """

    sentence: str
    step: int
    what: list[str] = field(default_factory=list)


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


def whole(receipt: Receipt) -> Stretch:
    return Stretch(0, len(receipt.entries) + 1)


def drawn(receipt: Receipt, count: int, seed: int) -> list[int]:
    """Steps: the first, which says where the run began, and others at random."""
    steps = len(receipt.steps)
    others = random.Random(seed).sample(range(1, steps), min(count, steps) - 1) if steps else []
    return [0, *sorted(others)] if steps else []


def stretches(receipt: Receipt, steps: Sequence[int], folder: Path | None) -> list[Stretch]:
    """Those between two checkpoints that have these steps."""
    entries = receipt.entries
    cuts = [i for i, (kind, content) in enumerate(entries) if kind == CHECKPOINT and content["iterations"]]
    if not cuts:
        raise ReceiptError(
            "it has no checkpoints to begin at: `repdl run --checkpoints` has them, of a program with a "
            "repdl.receipts.Resumable; without --steps the whole run is verified"
        )
    if folder is None:
        raise ReceiptError("--steps needs --checkpoints, the folder with the checkpoints of the run")
    firsts, stops = [0, *cuts], [cut + 1 for cut in cuts] + [len(entries)]
    places = [i for i, (kind, _) in enumerate(entries) if kind == STEP]
    found = []
    for number in sorted({bisect_right(firsts, places[step]) - 1 for step in steps}):
        first = firsts[number]
        path = folder / checkpoint_name(entries[first][1]["before"]) if number else None
        if path is not None and not path.is_file():
            raise ReceiptError(f"there is no checkpoint {path}")
        found.append(Stretch(first, stops[number], path))
    return found


def steps_in(receipt: Receipt, stretch: Stretch) -> list[int]:
    return [c["number"] for kind, c in receipt.entries[stretch.first : stretch.stop] if kind == STEP]


def verify(receipt: Receipt, program: Program, stretch: Stretch) -> Difference | None:
    """Executes the program; what it prints goes to the error output. None if all is as the receipt says."""
    with TemporaryDirectory() as folder:
        job = {
            "receipt": str(receipt.path.absolute()),
            "program": [program.target, *program.arguments],
            "is_module": program.is_module,
            "directory": str(program.directory),
            "first": stretch.first,
            "stop": stretch.stop,
            "checkpoint": stretch.checkpoint and str(stretch.checkpoint.absolute()),
        }
        Path(folder, "job").write_text(json.dumps(job), encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name not in ("REPDL_RUN", "PYTHONHASHSEED")}
        if (hash_seed := receipt.program["hash_seed"]) is not None:
            environment["PYTHONHASHSEED"] = hash_seed
        command = [sys.executable, "-m", "repdl.receipts.rerun", folder]
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, env=environment, check=False).returncode
        answer = Path(folder, "answer")
        told: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
    at = told.get("at", stretch.first)
    if at == stretch.stop:
        return None
    if "refused" in told:
        return Difference(told["refused"], _step(receipt, at))
    return difference(receipt, stretch, at, told.get("found"), status)


def difference(receipt: Receipt, stretch: Stretch, at: int, found: Entry | None, status: int) -> Difference:
    """Of an entry of the receipt and what the program gave there; None if it ended before, with this exit status."""
    expected = receipt.entries[at] if at < len(receipt.entries) else (END, receipt.end)
    step = _step(receipt, at)
    if found is None or (found[0] == END and expected[0] != END):
        status = status if found is None else found[1]["status"]
        return Difference(f"the program ended with exit status {status} {_where(expected, step)}", step)
    if found[0] != expected[0]:
        return Difference(f"{_where(expected, step)} the program {_does(found)}; the receipt {_says(expected)}", step)
    names = [name for name, value in expected[1].items() if found[1][name] != value]
    what = _listed([_described(name, expected[1], found[1]) for name in names])
    if expected[0] == CHECKPOINT and stretch.checkpoint is not None and at == stretch.first:
        return Difference(
            f"the checkpoint before step {step} has not the state of the receipt: {what} differ", step, names
        )
    sentence = f"{_where(expected, step)} {what} differ"
    if expected[0] == STEP and (
        equal := [_NAMES[name] for name in expected[1] if name in _NAMES and name not in names]
    ):
        sentence += f"; {_listed(equal)} are as the receipt says"
    return Difference(sentence, step, names)


def _step(receipt: Receipt, at: int) -> int:
    return sum(kind == STEP for kind, _ in receipt.entries[:at])


def _where(expected: Entry, step: int) -> str:
    return {STEP: f"in step {step}", END: "at the end"}.get(expected[0], f"before step {step}")


def _does(found: Entry) -> str:
    return {STEP: "takes a step", CHECKPOINT: "comes to a checkpoint", END: "ends"}.get(found[0], "reads batches")


def _says(expected: Entry) -> str:
    says = {STEP: "has a step", CHECKPOINT: "has a checkpoint", END: "has the end"}
    return says.get(expected[0], "has batches that were read")


def _described(name: str, expected: dict[str, Any], found: dict[str, Any]) -> str:
    if name == "batches":
        pairs = list(zip(expected[name], found[name], strict=False))
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
        return f"the batches (from batch {first} on; {len(expected[name])} there, {len(found[name])} here)"
    if name == "status":
        return f"the exit status ({expected[name]} there, {found[name]} here)"
    return _NAMES.get(name, name)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def other_versions(receipt: Receipt) -> Iterator[str]:
    """Of the libraries that the run had imported and that are of other versions here."""
    _, about = receipt.about
    versions = about.get("versions")
    for name, version in versions.items() if isinstance(versions, dict) else ():
        here = programs.version_of(name)
        if here != version:
            yield f"{shown(name)} {shown(version)} (here {here or 'none'})"


def shown(value: object) -> str:
    """A text of a receipt without anything that a terminal would act on."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
