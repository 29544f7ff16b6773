# SPDX-License-Identifier: MIT
"""Runs the program of a record again, in a process of its own, `rerun`, up to one of its calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from repdl.interception.machine import CAPABILITIES, CAPABILITY
from repdl.runs import difference
from repdl.runs.columns import Call
from repdl.runs.command import Command
from repdl.runs.file import RecordError
from repdl.runs.run import AnyRun, Run
from repdl.runs.sentence import place
from repdl.runs.settings import harmless, variables


class NotRunAgainError(Exception):
    """A run that cannot be run again, or not alike; the message says why."""


def run_again(name: str, call: Call, run: Run, job: dict[str, Any], command: Command | None = None) -> dict[str, Any]:
    """What `rerun` tells of the call of a run, which has this name. command: the run's, where it is known."""
    program, directory, is_module = (run.header.get(key) for key in ("program", "directory", "is_module"))
    if not isinstance(program, list) or not program or not isinstance(directory, str):
        text = f"run {name} cannot be run again, since it is of `with repdl.record()`, or of one of several processes"
        raise NotRunAgainError(text)
    script = Path(directory) if is_module else Path(directory, program[0])
    if not script.exists():
        raise NotRunAgainError(f"run {name} cannot be run again, since there is no {script}")
    print(f"repdl: in {directory} runs again: {' '.join(program)}", file=sys.stderr)
    job |= {key: run.header.get(key) for key in ("program", "directory", "is_module", "enabled", "threads")}
    job |= {
        "sampling": run.sampling,
        "window": run.window,
        "counted": run.counted_before(call.number),
        "op": [call.name, call.text],
        "inputs": [[value.kind, value.hash.hex()] for value in call.inputs],
        "generator": call.generator and call.generator.hex(),
    }
    environment = variables(run.header) | {"OMP_NUM_THREADS": str(job["threads"]), "OMP_WAIT_POLICY": "passive"}
    if (wanted := capability(run)) != CAPABILITY and wanted in CAPABILITIES:
        environment["ATEN_CPU_CAPABILITY"] = wanted
    command = command or Command.of(program, bool(is_module))
    with TemporaryDirectory() as folder:
        Path(folder, "job").write_text(json.dumps(job), encoding="utf-8")
        status = command.start("repdl.runs.rerun", folder, **environment)
        answer = Path(folder, "answer")
        if not answer.exists():
            raise NotRunAgainError(unlike(name, run, Path(folder, "again"), status))
        return json.loads(answer.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def capability(run: AnyRun) -> str:
    return str(run.header.get("capability")).lower()


def unlike(name: str, run: Run, path: Path, status: int) -> str:
    """Where the run that was made again leaves the first, before the call."""
    try:
        again = Run(path)
        found = difference.find(run, again)
    except (RecordError, OSError):
        return f"{name}'s program could not be run again, it ended with exit status {status}"
    if found is None or found.kind == "end":
        where = "at" if again.end and again.end.get("status") == "reached" else "before"
        return f"{name}'s program, run again, ended {where} that op, with exit status {status}"
    if found.generators:
        how = f"{' and '.join(found.generators)} is in another state"
    elif found.kind == "result":
        how = "the result is another one, of equal inputs"
    else:
        how = {"input": "the inputs are other ones", "arguments": "it has other arguments"}.get(
            found.kind, "another op is called"
        )
    return f"{name}'s program does not run alike when it is run again: in {place(found.call)}, {how}"


def experiments(
    call: Call, run: Run, of_b: dict[str, Any], wanted: list[str], command: Command | None = None
) -> dict[str, Any]:
    """What `rerun` tells of a call of A, or why it tells nothing. of_b, wanted: the settings and hashes of B."""
    try:
        return run_again("A", call, run, {"of_b": harmless(of_b), "wanted": wanted}, command)
    except NotRunAgainError as error:
        return {"untried": str(error)}


def captured(name: str, call: Call, run: Run, path: Path, command: Command | None = None) -> dict[str, Any]:
    """What `rerun` tells of a call whose tensors it keeps in a file, or why it keeps none."""
    try:
        told = run_again(name, call, run, {"capture": str(path)}, command)
    except NotRunAgainError as error:
        return {"untried": str(error)}
    return told | {"untried": told["untried"] and f"of run {name}, {told['untried']}"}
