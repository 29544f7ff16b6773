# SPDX-License-Identifier: MIT
"""A process with other instruction sets, or one with the same, which makes calls again: reads a line of JSON for each.

A line names the op, dtype, call and column; the expected results are in a file, so that only what differs has to be
told. The calls are made here anew, of numbers drawn under `repdl.enable()`, and must be those of the process that asks.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from repdl.conformance.torch_sweep import calls
from repdl.conformance.torch_sweep.database import Entry, entries
from repdl.conformance.torch_sweep.samples import Sample
from repdl.conformance.torch_sweep.stock import attempt
from repdl.experiments import wire
from repdl.experiments.worker import serve
from repdl.status.calls import Calls
from repdl.status.columns import Column
from repdl.status.table import BACKWARD, OURS
from repdl.status.trial import Call, distance, results

MODULE = "repdl.status.elsewhere"
MOST_ENDS = 50
"""How often such a process may end or hang, in a run over all ops."""


def inputs(sample: Sample) -> str:
    """A digest of what a call is given."""
    return calls.digest((sample.args, sample.kwargs))


class _Process:
    def __init__(self) -> None:
        self.known: dict[str | None, dict[str, Entry]] = {}
        self.column = Column()
        self.samples: dict[tuple[str, str, str], Sample | None] = {}

    def answer(self, line: dict[str, Any]) -> dict[str, Any]:
        """Of each direction how far the results are apart, or why they were not compared."""
        key = tuple(line["call"])
        if key not in self.samples:
            self._make(line["source"], [tuple(made) for made in line["together"]])
        sample = self.samples.get(key)
        if sample is None or inputs(sample) != line["inputs"]:
            return {"refused": "it cannot make this call"}
        self.column.take(line["column"])
        expected: dict[str, Any] = wire.read(line["file"], line["value"])
        got, error = attempt(results, Call(sample, BACKWARD in expected))
        if error is not None:
            return {"refused": error}
        return {"found": {d: distance(expected[d], got[d]) for d in expected if d in got}}

    def _make(self, source: str | None, together: list[tuple[str, str, str]]) -> None:
        """Those calls that are asked for next, since it takes time to put another column in force."""
        if source not in self.known:
            self.known[source] = entries(source)
        self.column.take(OURS)
        self.samples = {}
        made: dict[tuple[str, str], Calls] = {}
        for name, dtype, label in together:
            if (name, dtype) not in made:
                made[name, dtype] = Calls(self.known[source][name], dtype)
            self.samples[name, dtype, label] = attempt(made[name, dtype].make, label)[0]


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    serve(_Process().answer)


if __name__ == "__main__":
    main()
