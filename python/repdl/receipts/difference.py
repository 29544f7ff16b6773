# SPDX-License-Identifier: MIT
"""What is another run, when a program is run again, than its receipt says: the first step, and what of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repdl.receipts.file import CHECKPOINT, END, STEP, Entry, Receipt
from repdl.receipts.stretches import Stretch

_NAMES = {
    "batches": "the batches",
    "parameters": "the parameters",
    "buffers": "the buffers of modules",
    "optimizer": "the state of the optimizer",
    "generators": "the generators",
    "states": "the states of parts",
    "status": "the exit status",
    "sources": "the sources that were imported",
}


@dataclass(frozen=True)
class Difference:
    """The first entry that is another one when the program is run again.

    step: the one in which, or before which, it is. what: the fields that differ, as the file has them.
    has_resumed: the program went on from a checkpoint there.
    """

    sentence: str
    step: int
    what: list[str] = field(default_factory=list)
    has_resumed: bool = False


def judge(
    receipt: Receipt, stretches: Sequence[Stretch], answers: Sequence[dict[str, Any]]
) -> tuple[int, Difference | None]:
    """What `rerun` has told of each stretch, up to the first that differs."""
    confirmed = 0
    for stretch, answer in zip(stretches, answers, strict=False):
        if answer["at"] != stretch.stop:
            found = _difference(receipt, stretch, answer)
            return confirmed, replace(found, has_resumed=stretch.checkpoint is not None)
        confirmed += _step(receipt, stretch.stop) - _step(receipt, stretch.first)
    return confirmed, None


def _difference(receipt: Receipt, stretch: Stretch, answer: dict[str, Any]) -> Difference:
    at, found = answer["at"], answer.get("found")
    step = _step(receipt, at)
    if "refused" in answer:
        return Difference(answer["refused"], step)
    expected: Entry = receipt.entries[at] if at < len(receipt.entries) else (END, receipt.end)
    if found is None:
        return Difference(
            f"the program ended with exit status {answer['status']}, unverified from step {step} on", step
        )
    if found[0] == END != expected[0]:
        status = found[1]["status"]
        return Difference(f"the program ended with exit status {status} {_where(expected, step)}", step)
    if found[0] != expected[0]:
        return Difference(f"{_where(expected, step)} the program {_does(found)}; the receipt {_says(expected)}", step)
    names = [name for name, value in expected[1].items() if found[1][name] != value]
    what = _listed([_described(name, expected[1], found[1]) for name in names])
    sentence = f"{_where(expected, step)} the run differs in {what}"
    if stretch.checkpoint is not None and at == stretch.first:
        sentence = f"the checkpoint before step {step} differs from the receipt in {what}"
    equal = [text for name, text in _NAMES.items() if name in expected[1] and name not in names]
    if expected[0] == STEP and equal:
        sentence += f"; {_listed(equal)} are as the receipt says"
    return Difference(sentence, step, names)


def _step(receipt: Receipt, at: int) -> int:
    return sum(kind == STEP for kind, _ in receipt.entries[:at])


def _where(expected: Entry, step: int) -> str:
    return {STEP: f"in step {step}", END: "at the end"}.get(expected[0], f"before step {step}")


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
    if name == "states":
        names = expected[name].keys() | found[name].keys()
        return f"the state of {_listed(sorted(n for n in names if expected[name].get(n) != found[name].get(n)))}"
    if name == "status":
        return f"the exit status ({expected[name]} in the receipt, {found[name]} here)"
    return _NAMES.get(name, name)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
