# SPDX-License-Identifier: MIT
"""What makes the op that differs first give other bits: `repdl diff --cause`.

The program of run A is run again in a process of its own, `rerun`, up to that call, which is then made in every way.
A way whose results have the hashes that B recorded is the cause.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from repdl.experiments.compare import Answer
from repdl.experiments.variations import INSTRUCTIONS, LAYOUT, PRECISION, PROCESS, RUN, THREADS
from repdl.interception.machine import CAPABILITIES, CAPABILITY
from repdl.runs import difference
from repdl.runs.content import UNHASHED, UNINITIALISED
from repdl.runs.difference import Difference, different_values, unwritten_inputs
from repdl.runs.file import RecordError
from repdl.runs.run import Call, Run
from repdl.runs.sentence import place

SETTINGS = "settings"
"""The kind of the ways with settings of B's header that no other kind has."""

_NOUNS = {
    RUN: "the run",
    THREADS: "the number of threads",
    LAYOUT: "the layout of its inputs",
    PROCESS: "the process",
    INSTRUCTIONS: "the instruction set",
    PRECISION: "the precision",
    SETTINGS: "the settings of the runs",
}
_HOW = {RUN: "with nothing changed, {},", LAYOUT: "on inputs that are {}", PROCESS: "in {}"}
_ITSELF = "the op itself, which varies from run to run"


@dataclass(frozen=True)
class Way:
    """One in which the call was made again.

    answer: has the hashes in the order of the record. gives: "A", "B", "other", or "refused".
    """

    kind: str
    name: str
    answer: Answer
    gives: str = ""

    @staticmethod
    def read(values: dict[str, Any], a: Call, b: Call) -> Way:
        answer = Answer.read(values["answer"])
        return Way(values["kind"], values["name"], answer, "refused" if answer.refused else gives(answer.hashes, a, b))


@dataclass
class Cause:
    """What was found. untried: why nothing was tried. here: what the op gave where the program was run again."""

    untried: str = ""
    here: str = ""
    ways: list[Way] = field(default_factory=list)

    @property
    def wanted(self) -> str:
        """The run whose result some way has to give."""
        return "A" if self.here == "B" else "B"

    @property
    def found(self) -> list[Way]:
        """The ways that give it; of settings that no kind of its own has, one, and only if there is nothing simpler."""
        giving = [way for way in self.ways if way.gives == self.wanted]
        return [way for way in giving if way.kind != SETTINGS] or giving[:1]

    @property
    def sentence(self) -> str:
        if self.untried:
            return f"The cause was not looked for: {self.untried}."
        result = {"B": "B's result", "other": "the result of neither run"}.get(self.here)
        again = f"In A's program, run again on this machine, it gives {result}. " if result else ""
        return again + (self._named() if self.found else self._nothing())

    def _named(self) -> str:
        kinds = list(dict.fromkeys(way.kind for way in self.found))
        how = [
            _HOW.get(kind, "with {}").format(_listed([w.name for w in self.found if w.kind == kind])) for kind in kinds
        ]
        what = _listed([_ITSELF if kind == RUN else _NOUNS[kind] for kind in kinds])
        return (
            f"The cause is {what}: made again {_listed(how)} it gives {self.wanted}'s result{self._far(self.found[0])}."
        )

    def _far(self, way: Way) -> str:
        far = way.answer.difference
        if far is None or self.here == "other":
            return ""
        ulps = "" if far.ulps is None else f", by at most {far.ulps} ulp"
        first = ""
        if far.first is not None:
            a, b = (far.first.expected, far.first.got)[:: -1 if self.here == "B" else 1]
            first = f", first {far.first.at} of output {far.first.result}, {a} in A and {b} in B"
        return f"; {far.elements} of {far.of} numbers differ{ulps}{first}"

    def _nothing(self) -> str:
        ran = {way.kind: True for way in self.ways if way.gives != "refused"}
        vary = {way.kind: True for way in self.ways if way.gives not in ("refused", self.here)}
        parts = [f"Nothing that was tried gives {self.wanted}'s result"]
        if vary:
            parts.append(f"its bits vary, to others, with {_listed([_NOUNS[kind] for kind in vary], 'and')}")
        if kept := [_NOUNS[kind] for kind in ran if kind not in vary]:
            parts.append(
                f"they do not depend on {_listed(kept)}" if vary else f"its bits do not depend on {_listed(kept)}"
            )
        return "; ".join(parts) + "."

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """What was varied, the ways, what they gave, and how far that is from the first run of the op here."""
        grouped: dict[tuple[str, str], list[Way]] = {}
        for way in self.ways:
            grouped.setdefault((way.kind, way.gives), []).append(way)
        shown = {"A": "A's result", "B": "B's result", "other": "other bits", "refused": "does not run"}
        return [
            (kind, ", ".join(way.name for way in ways), shown[gave], str(ways[0].answer.difference or ""))
            for (kind, gave), ways in grouped.items()
        ]

    def as_json(self) -> dict[str, Any]:
        ways = [{"kind": w.kind, "way": w.name, "gives": w.gives, **asdict(w.answer)} for w in self.ways]
        return {"sentence": self.sentence, "untried": self.untried or None, "here": self.here or None, "ways": ways}


def _listed(words: Sequence[str], last: str = "or") -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def gives(hashes: Sequence[str | None], a: Call, b: Call) -> str:
    """The run whose results have these hashes, as far as they are known."""
    for name, call in (("A", a), ("B", b)):
        pairs = zip(hashes, (value.hash for value in call.outputs), strict=False)
        if all(mine is None or its in (UNHASHED, UNINITIALISED) or mine == its.hex() for mine, its in pairs):
            return name
    return "other"


def look_for(found: Difference, a: Run, b: Run) -> Cause:
    """Runs the program of A, which it prints on the error output."""
    if not _is_of_an_op(found):
        return Cause("experiments find it only of an op that gave other bits on equal inputs")
    program, directory, is_module = (a.header.get(key) for key in ("program", "directory", "is_module"))
    if not isinstance(program, list) or not program or not isinstance(directory, str):
        text = "run A cannot be run again, since it is of `with repdl.record()`, or of one of several processes"
        return Cause(text)
    script = Path(directory) if is_module else Path(directory, program[0])
    if not script.exists():
        return Cause(f"run A cannot be run again, since there is no {script}")
    print(f"repdl diff: in {directory} runs again: {' '.join(program)}", file=sys.stderr)
    with TemporaryDirectory() as folder:
        assert found.a is not None and found.b is not None
        told, status = _run_again(Path(folder), found.a, a, b)
        if told is None:
            return Cause(_unlike(a, Path(folder, "again"), status))
    return read(told, found.a, found.b)


def read(told: dict[str, Any], a: Call, b: Call) -> Cause:
    """What `rerun` tells, by what the runs have recorded."""
    if told["untried"]:
        return Cause(told["untried"])
    if all(told["here"][i] is None for i in different_values(a.outputs, b.outputs) if i < len(told["here"])):
        return Cause("what differs of its results cannot be made again")
    return Cause("", gives(told["here"], a, b), [Way.read(way, a, b) for way in told["ways"]])


def _is_of_an_op(found: Difference) -> bool:
    call = found.call
    return found.kind == "result" and "::" in call.name and not found.generators and not unwritten_inputs(call)


def _run_again(folder: Path, call: Call, a: Run, b: Run) -> tuple[dict[str, Any] | None, int]:
    """What `rerun` tells, None if the program did not come to the call, and its exit status."""
    job = {
        **{key: a.header.get(key) for key in ("program", "directory", "is_module", "every", "enabled", "threads")},
        "number": call.number,
        "op": [call.name, call.text],
        "inputs": [[value.kind, value.hash.hex()] for value in call.inputs],
        "generator": call.generator and call.generator.hex(),
        "of_b": _of_b(a, b),
    }
    Path(folder, "job").write_text(json.dumps(job), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "REPDL_RUN"}
    environment |= {"OMP_NUM_THREADS": str(a.header.get("threads")), "OMP_WAIT_POLICY": "passive"}
    if (capability := _capability(a)) != CAPABILITY and capability in CAPABILITIES:
        environment["ATEN_CPU_CAPABILITY"] = capability
    command = [sys.executable, "-m", "repdl.runs.rerun", str(folder)]
    # What the program prints goes to the error output.
    status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, env=environment, check=False).returncode
    answer = folder / "answer"
    return (json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else None), status


def _capability(run: Run) -> str:
    return str(run.header.get("capability")).lower()


def _of_b(a: Run, b: Run) -> dict[str, Any]:
    """The settings in which B's header is another than A's."""
    settings = {key: b.header.get(key) for key in ("threads", "enabled") if a.header.get(key) != b.header.get(key)}
    if _capability(a) != _capability(b) and a.header.get("machine") == b.header.get("machine"):
        settings["capability"] = _capability(b)
    return settings


def _unlike(a: Run, path: Path, status: int) -> str:
    """Where the run that was made again leaves A, before the call."""
    try:
        again = Run(path)
        found = difference.find(a, again)
    except (RecordError, OSError):
        return f"A's program could not be run again, it ended with exit status {status}"
    if found is None or found.kind == "end":
        where = "at" if again.end and again.end.get("status") == "reached" else "before"
        return f"A's program, run again, ended {where} that op, with exit status {status}"
    if found.generators:
        how = f"{' and '.join(found.generators)} is in another state"
    elif found.kind == "result":
        how = "the result is another one, of equal inputs"
    else:
        how = {"input": "the inputs are other ones", "arguments": "it has other arguments"}.get(
            found.kind, "another op is called"
        )
    return f"A's program does not run alike when it is run again: in {place(found.call)}, {how}"
