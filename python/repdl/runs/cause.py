# SPDX-License-Identifier: MIT
"""What makes the op that differs first give other bits: `repdl diff --cause`.

The program of run A is run again where that run lies, in a process of its own, `rerun`, up to that call, which is then
made in every way. A way whose results have the hashes that B recorded is the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from repdl._content import UNHASHED, UNINITIALISED
from repdl.experiments.compare import Answer
from repdl.experiments.variations import DEVICE, INSTRUCTIONS, LAYOUT, PRECISION, PROCESS, RUN, THREADS
from repdl.runs.again import capability, experiments
from repdl.runs.columns import Call
from repdl.runs.command import Command
from repdl.runs.difference import Difference, different_values, unwritten_inputs
from repdl.runs.file import RecordError
from repdl.runs.remote import RemoteRun
from repdl.runs.run import AnyRun, Run
from repdl.runs.settings import of_state, variables
from repdl.runs.told import CHOICES, FEWER, RESULT, ROUNDING, SETTINGS

_NOUNS = {
    RUN: "the run",
    THREADS: "the number of threads",
    LAYOUT: "the layout of its inputs",
    PROCESS: "the process",
    INSTRUCTIONS: "the instruction set",
    PRECISION: "the precision",
    FEWER: "the precision",
    DEVICE: "the device",
    CHOICES: "the choice of torch's algorithms",
    SETTINGS: "the settings of the runs",
    ROUNDING: "the rounding of its inputs",
}
_HOW = {
    RUN: "with nothing changed, {},",
    LAYOUT: "on inputs that are {}",
    PROCESS: "in {}",
    DEVICE: "on {}",
    ROUNDING: "on inputs rounded to {}",
}
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
    """What was found.

    untried: why nothing was tried. failure: what went wrong while something was. here: what the op gave where the
    program was run again, and machine: which that is. without: kinds that could not be tried there, and why.
    """

    untried: str = ""
    here: str = ""
    ways: list[Way] = field(default_factory=list)
    machine: str = "this machine"
    without: dict[str, str] = field(default_factory=dict)
    failure: str = ""

    @property
    def wanted(self) -> str:
        """The run whose result some way has to give."""
        return "A" if self.here == "B" else "B"

    @property
    def found(self) -> list[Way]:
        """The ways that give it; of settings that no kind of its own has, one, and only if there is nothing simpler."""
        giving = [way for way in self.ways if way.gives == self.wanted]
        return [way for way in giving if way.kind not in (SETTINGS, RESULT)] or giving[:1]

    @property
    def sentence(self) -> str:
        if self.failure:
            return f"The cause is not known, as looking for it failed: {self.failure}."
        if self.untried:
            return f"The cause was not looked for: {self.untried}."
        result = {"B": "B's result", "other": "the result of neither run"}.get(self.here)
        again = f"In A's program, run again on {self.machine}, it gives {result}. " if result else ""
        return again + (self._named() if self.found else self._nothing())

    def _named(self) -> str:
        if self.found[0].kind == RESULT:
            way = self.found[0]
            return (
                f"The cause is a fault in its result: {self.wanted}'s is the same but for {way.name}{self._far(way)}."
            )
        kinds = list(dict.fromkeys(way.kind for way in self.found))
        how = [
            _HOW.get(kind, "with {}").format(_listed([w.name for w in self.found if w.kind == kind])) for kind in kinds
        ]
        what = _listed(list(dict.fromkeys(_ITSELF if kind == RUN else _NOUNS[kind] for kind in kinds)))
        return (
            f"The cause is {what}: made again {_listed(how)} it gives {self.wanted}'s result{self._far(self.found[0])}."
        )

    def _far(self, way: Way) -> str:
        far = way.answer.difference
        if far is None or self.here == "other":
            return ""
        return f"; {far.told(self.here or 'A', self.wanted)}"

    def _nothing(self) -> str:
        tried = [way for way in self.ways if way.gives != "refused" and way.kind not in (ROUNDING, FEWER, RESULT)]
        ran = {way.kind: True for way in tried}
        vary = {way.kind: True for way in tried if way.gives != self.here}
        parts = [f"Nothing that was tried gives {self.wanted}'s result"]
        if vary:
            parts.append(f"its bits vary, to others, with {_listed([_NOUNS[kind] for kind in vary], 'and')}")
        if kept := [_NOUNS[kind] for kind in ran if kind not in vary]:
            parts.append(
                f"they do not depend on {_listed(kept)}" if vary else f"its bits do not depend on {_listed(kept)}"
            )
        parts += [f"nothing is said of {_NOUNS[kind]}, since {why}" for kind, why in self.without.items()]
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
        return {
            "sentence": self.sentence,
            "untried": self.untried or None,
            "failure": self.failure or None,
            "not_tried": self.without,
            "here": self.here or None,
            "ways": ways,
        }


def _listed(words: Sequence[str], last: str = "or") -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def gives(hashes: Sequence[str | None], a: Call, b: Call) -> str:
    """The run whose results have these hashes, as far as they are known."""
    for name, call in (("A", a), ("B", b)):
        pairs = zip(hashes, (value.hash for value in call.outputs), strict=False)
        if all(mine is None or its in (UNHASHED, UNINITIALISED) or mine == its.hex() for mine, its in pairs):
            return name
    return "other"


def look_for(found: Difference, a: AnyRun, b: AnyRun, command: Command | None = None) -> Cause:
    """Runs the program of A, in the environment of a command if that is known; it prints on the error output.

    What goes wrong on another machine is part of the answer: the difference is known without it.
    """
    if not _is_of_an_op(found):
        return Cause("experiments find it only of an op that gave other bits on equal inputs")
    assert found.a is not None and found.b is not None
    of_b, wanted = _of_b(a, b, found), [value.hash.hex() for value in found.b.outputs]
    if isinstance(a, RemoteRun):
        try:
            cause = read(a.experiments(found.a, of_b, wanted), found.a, found.b)
        except RecordError as error:
            return Cause(failure=str(error))
        cause.machine = a.host
        return cause
    assert isinstance(a, Run)
    return read(experiments(found.a, a, of_b, wanted, command), found.a, found.b)


def read(told: dict[str, Any], a: Call, b: Call) -> Cause:
    """What `rerun` tells, by what the runs have recorded."""
    if told["untried"]:
        return Cause(told["untried"])
    if all(told["here"][i] is None for i in different_values(a.outputs, b.outputs) if i < len(told["here"])):
        return Cause("what differs of its results cannot be made again")
    ways = [Way.read(way, a, b) for way in told["ways"]]
    found = Cause("", gives(told["here"], a, b), without=told["without"])
    # Fewer bits always give others; only those that are looked for say something.
    found.ways = [way for way in ways if way.kind not in (ROUNDING, FEWER) or way.gives == found.wanted]
    return found


def _is_of_an_op(found: Difference) -> bool:
    call = found.call
    return found.kind == "result" and "::" in call.name and not found.generators and not unwritten_inputs(call)


def _of_b(a: AnyRun, b: AnyRun, found: Difference) -> dict[str, Any]:
    """The settings that were others in B."""
    settings = {key: b.header.get(key) for key in ("threads", "enabled") if a.header.get(key) != b.header.get(key)}
    if (threads := found.settings.get("threads", ("", ""))[1]).isdecimal():
        settings["threads"] = int(threads)
    settings |= of_state({name: values[1] for name, values in found.settings.items()})
    if capability(a) != capability(b) and a.header.get("machine") == b.header.get("machine"):
        settings["capability"] = capability(b)
    its, mine = variables(b.header), variables(a.header)
    its.pop("OMP_NUM_THREADS", None)  # the number of threads is tried by itself
    if environment := {name: value for name, value in its.items() if mine.get(name) != value}:
        settings["environment"] = environment
    return settings
