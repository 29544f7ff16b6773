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
from repdl.runs.again import NotRunAgainError, run_again
from repdl.runs.command import Command
from repdl.runs.difference import Difference
from repdl.runs.run import AnyRun, Run


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
    """Runs the programs again of runs that lie here; they print on the error output. commands: where they are known."""
    load, save = library("safetensors.torch").load_file, library("safetensors.torch").save
    kept: dict[str, torch.Tensor] = {}
    problems = []
    for name, run, call, command in zip("AB", (a, b), (found.a, found.b), commands, strict=True):
        if call is None or "::" not in call.name:
            problems.append(f"run {name} has no such op")
            continue
        if not isinstance(run, Run):
            problems.append(f"run {name} lies on another machine, where its program has to be run again")
            continue
        with TemporaryDirectory() as folder:
            file = Path(folder, "tensors")
            try:
                told = run_again(name, call, run, {"capture": str(file)}, command)
            except NotRunAgainError as error:
                problems.append(str(error))
                continue
            if told["untried"]:
                problems.append(f"of run {name}, {told['untried']}")
                continue
            kept |= {f"{name}.{key}": tensor for key, tensor in load(file).items()}
        if any(mine not in (None, value.hash.hex()) for mine, value in zip(told["here"], call.outputs, strict=True)):
            problems.append(
                f"in {name}'s program, run again on this machine, it gives another result than was recorded"
            )
    if not kept:
        return Captured(None, problems)
    try:
        path.write_bytes(save(kept))  # save_file would put a file of its own in the place of a device or a link
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    results = [[x for i in range(len(kept)) if (x := kept.get(f"{name}.output.{i}")) is not None] for name in "AB"]
    alike = [[(x.shape, x.dtype) for x in side] for side in results]
    return Captured(path, problems, distance(*results) if results[0] and alike[0] == alike[1] else None)
