# SPDX-License-Identifier: MIT
"""Keeps the tensors of the op that differs first: `repdl diff --capture`.

The program of each run is run again up to that op, where that is possible. The file has what it read, "A.input.self",
and what it gave, "A.output.0", of each run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from repdl._needs import library
from repdl.experiments.compare import Difference as Distance, difference as distance
from repdl.runs.again import captured
from repdl.runs.columns import Call
from repdl.runs.command import Command
from repdl.runs.difference import Difference
from repdl.runs.file import RecordError
from repdl.runs.remote import RemoteRun
from repdl.runs.run import AnyRun, Run
from repdl.runs.told import printable


@dataclass
class Captured:
    """path: the file; None if nothing is in it. problems: why runs are not in it. distance: of the results, if both
    are."""

    path: Path | None
    problems: list[str] = field(default_factory=list)
    distance: Distance | None = None

    @property
    def sentence(self) -> str:
        kept = f"The tensors of that op are in {self.path}." if self.path is not None else "No tensors were captured."
        far = f" Of its results {self.distance.told('A', 'B')}." if self.distance is not None else ""
        return kept + far + "".join(f" {problem[0].upper()}{problem[1:]}." for problem in self.problems)

    def as_json(self) -> dict[str, Any]:
        return {"sentence": self.sentence, "file": self.path and str(self.path), "problems": self.problems}


def capture(
    found: Difference, a: AnyRun, b: AnyRun, path: Path, commands: tuple[Command | None, Command | None] = (None, None)
) -> Captured:
    """Runs the programs again, each where its run lies; they print on the error output. commands: where they are
    known."""
    save = library("safetensors.torch").save
    kept: dict[str, torch.Tensor] = {}
    problems = []
    for name, run, call, command in zip("AB", (a, b), (found.a, found.b), commands, strict=True):
        if call is None or "::" not in call.name:
            problems.append(f"run {name} has no such op")
            continue
        told, tensors = _there(run, call) if isinstance(run, RemoteRun) else _here(name, run, call, command)
        if told["untried"]:
            problems.append(told["untried"])
            continue
        kept |= {f"{name}.{key}": tensor for key, tensor in tensors.items()}
        if any(mine not in (None, value.hash.hex()) for mine, value in zip(told["here"], call.outputs, strict=True)):
            where = run.host if isinstance(run, RemoteRun) else "this machine"
            problems.append(f"in {name}'s program, run again on {where}, it gives another result than was recorded")
    if not kept:
        return Captured(None, problems)
    try:
        path.write_bytes(save(kept))  # save_file would put a file of its own in the place of a device or a link
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    results = [[x for i in range(len(kept)) if (x := kept.get(f"{name}.output.{i}")) is not None] for name in "AB"]
    alike = [[(x.shape, x.dtype) for x in side] for side in results]
    return Captured(path, problems, distance(*results) if results[0] and alike[0] == alike[1] else None)


Kept = tuple[dict[str, Any], dict[str, torch.Tensor]]
"""What `rerun` tells, and the tensors."""


def _here(name: str, run: AnyRun, call: Call, command: Command | None) -> Kept:
    assert isinstance(run, Run)
    with TemporaryDirectory() as folder:
        file = Path(folder, "tensors")
        told = captured(name, call, run, file, command)
        return told, {} if told["untried"] else library("safetensors.torch").load_file(file)


def _there(run: RemoteRun, call: Call) -> Kept:
    try:
        told, data = run.capture(call)
        tensors = {} if told["untried"] else library("safetensors.torch").load(data)
    except (RecordError, library("safetensors").SafetensorError) as error:
        return {"untried": f"capturing on {run.host} failed: {error}"}, {}
    return told, {printable(key): tensor for key, tensor in tensors.items()}
