# SPDX-License-Identifier: MIT
"""What is another run, when a program is run again, than its receipt says: the first step, and what of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repdl.receipts.entries import CHECKPOINT, END, PROCESS, READ, STEP, Entry, part_order, process_order, shown
from repdl.receipts.file import Receipt
from repdl.receipts.stretches import Stretch

_NAMES = {
    "batches": "the batches",
    "parameters": "the parameters",
    "buffers": "the buffers of modules",
    "optimizer": "the state of the optimizer",
    "states": "the states of parts",
    "status": "the exit status",
    "sources": "the sources that were imported",
    "generators": "the generators",
}

_MOST_SOURCES = 5
"""That are named."""


@dataclass(frozen=True)
class Difference:
    """The first entry that is another one when the program is run again.

    step: the one in which, or before which, it is. what: the fields that differ, as the file has them.
    process: in which it is, if the program started it. has_resumed: the program went on from a checkpoint there.
    is_of_checkpoint: of a checkpoint that it was to go on from.
    """

    sentence: str
    step: int
    what: list[str] = field(default_factory=list)
    process: str | None = None
    has_resumed: bool = False
    is_of_checkpoint: bool = False


def judge(
    receipt: Receipt, stretches: Sequence[Stretch], answers: Sequence[dict[str, Any]]
) -> tuple[int, Difference | None]:
    """What `rerun` has told of each stretch, up to the first that differs."""
    confirmed = 0
    for stretch, answer in zip(stretches, answers, strict=False):
        if answer["at"] != stretch.stop:
            found = _difference(receipt, stretch, answer)
            begins = "status" not in answer and answer["at"] < stretch.first + len(stretch.checkpoints)
            return confirmed, replace(found, has_resumed=bool(stretch.checkpoints), is_of_checkpoint=begins)
        confirmed += sum(kind == STEP for kind, _ in receipt.entries[stretch.first : stretch.stop])
    return confirmed, None


def _difference(receipt: Receipt, stretch: Stretch, answer: dict[str, Any]) -> Difference:
    at, found = answer["at"], answer.get("found")
    expected: Entry = receipt.entries[at] if at < len(receipt.entries) else (END, receipt.end)
    step, process = _step(receipt, at, expected), expected[1].get("process")
    if "refused" in answer:
        return Difference(answer["refused"], step)
    if found is None:
        return Difference(
            f"the program ended with exit status {answer['status']}, unverified from step {step} on", step
        )
    if process is not None or "process" in found[1]:
        if _place(expected) != _place(found):
            return _of_one(expected, found, step)
    elif found[0] == END != expected[0]:
        status = found[1]["status"]
        return Difference(f"the program ended with exit status {status} {_where(expected, step)}", step)
    elif found[0] != expected[0]:
        return Difference(f"{_where(expected, step)} the program {_does(found)}; the receipt {_says(expected)}", step)
    names = [name for name, value in expected[1].items() if found[1][name] != value]
    what = _listed([_described(name, expected[1], found[1]) for name in names])
    sentence = f"{_where(expected, step)} the run differs in {what}"
    if at < stretch.first + len(stretch.checkpoints):
        of = f" of {process}" if process is not None else ""
        sentence = f"the checkpoint before step {step}{of} differs from the receipt in {what}"
    equal = [text for name, text in _NAMES.items() if expected[1].get(name) and name not in names]
    if expected[0] == STEP and equal:
        sentence += f"; {_listed(equal)} are as the receipt says"
    return Difference(sentence, step, names, process)


def _step(receipt: Receipt, at: int, expected: Entry) -> int:
    if "process" in expected[1]:
        return _number(*expected)
    return sum(kind == STEP and "process" not in content for kind, content in receipt.entries[:at])


def _number(kind: str, content: dict[str, Any]) -> int:
    """Of the step that an entry of a process is of or before."""
    return int(content[{STEP: "number", PROCESS: "steps"}.get(kind, "before")])


def _place(entry: Entry) -> tuple[Any, ...]:
    """Where an entry stands, if processes that the program started have any; entries of a place are compared."""
    kind, content = entry
    if kind != PROCESS and "process" in content:
        return 1, *part_order(entry)
    return (2, process_order(content["process"])) if kind == PROCESS else (3 if kind == END else 0,)


def _of_one(expected: Entry, found: Entry, step: int) -> Difference:
    """Where the receipt and the run have entries of different places: of the first the other has none."""
    is_of_receipt = _place(expected) < _place(found)
    kind, content = expected if is_of_receipt else found
    process = content.get("process")
    what = {
        STEP: f"step {content.get('number')}",
        CHECKPOINT: f"a checkpoint before step {content.get('before')}",
        READ: f"batches before step {content.get('before', step)} that no step has",
    }.get(kind, "the end")
    if process is not None:
        what += f" of {process}"
    names = ("receipt", "run") if is_of_receipt else ("run", "receipt")
    sentence = f"the {names[0]} has {what}, and the {names[1]} has none"
    at = step if process is None else _number(kind, content)
    return Difference(sentence, at, process=process)


def _where(expected: Entry, step: int) -> str:
    kind, content = expected
    of = f" of {content['process']}" if "process" in content else ""
    return {STEP: f"in step {step}{of}", PROCESS: f"at the end{of}", END: "at the end"}.get(
        kind, f"before step {step}{of}"
    )


def _does(found: Entry) -> str:
    return {STEP: "takes a step", CHECKPOINT: "comes to a checkpoint", END: "ends"}.get(
        found[0], "reads batches that no step has"
    )


def _says(expected: Entry) -> str:
    says = {STEP: "has a step", CHECKPOINT: "has a checkpoint", END: "has the end"}
    return says.get(expected[0], "has batches that no step has")


def _described(name: str, expected: dict[str, Any], found: dict[str, Any]) -> str:
    if name == "batches":
        pairs = list(zip(expected[name], found[name], strict=False))
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
        return f"the batches (from {first} on, of {len(expected[name])} in the receipt and {len(found[name])} here)"
    if name in ("states", "generators", "sources"):
        both = expected[name].keys() | found[name].keys()
        names = sorted(n for n in both if expected[name].get(n) != found[name].get(n))
        if name == "sources":
            more = [f"{len(names) - _MOST_SOURCES} more"] if len(names) > _MOST_SOURCES else []
            return f"{_NAMES[name]} ({_listed([*map(shown, names[:_MOST_SOURCES]), *more])})"
        what = "the state" if name == "states" else f"the generator{'s' * (len(names) > 1)}"
        return f"{what} of {_listed(names)}"
    if name == "ended":
        return f"the way it ended ({'whole' if expected[name] else 'killed'} in the receipt)"
    if name == "status":
        return f"the exit status ({expected[name]} in the receipt, {found[name]} here)"
    return _NAMES.get(name, name)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
