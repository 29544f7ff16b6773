# SPDX-License-Identifier: MIT
"""Makes a call again in every way, and tells in which of them it gives other bits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import torch

from repdl.experiments import devices
from repdl.experiments.call import Call, Results, UntriedError, check
from repdl.experiments.compare import Answer, Difference
from repdl.experiments.variations import DEVICE, HERE, INSTRUCTIONS, KINDS, PROCESS, RUN
from repdl.experiments.workers import SAME, Workers, instruction_sets


@dataclass
class Outcome:
    """Of one kind: the names of the ways that ran, those that the op refused, and what was other in which.

    hashes: of the results in each way that ran, if the engine is hashing.
    """

    same: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    found: dict[str, Difference] = field(default_factory=dict)
    hashes: dict[str, list[str | None]] = field(default_factory=dict)

    @property
    def tried(self) -> bool:
        return bool(self.same or self.found)

    def note(self, name: str, answer: Answer) -> None:
        if answer.refused is not None:
            self.refused.append(name)
            return
        self.hashes[name] = answer.hashes
        if answer.difference is None:
            self.same.append(name)
        else:
            self.found[name] = answer.difference


Trial = dict[str, Outcome]
"""By kind. What differs from run to run says nothing of other kinds, which are then missing; and so is what cannot
be tried."""


class Engine:
    """Holds the other processes while it is in use: `with Engine() as engine: engine.trial(call)`.

    hashing: whether results are hashed too, as records of runs do, which needs the extra `record`.
    """

    def __init__(self, kinds: Collection[str] = KINDS, hashing: bool = False) -> None:
        if unknown := set(kinds) - set(KINDS):
            raise ValueError(
                f"[experiments] there is no kind {', '.join(map(repr, unknown))}; there are {', '.join(KINDS)}"
            )
        self.kinds, self.hashing = kinds, hashing
        elsewhere = [SAME] if {PROCESS, INSTRUCTIONS} & set(kinds) else []
        self.workers = Workers([*elsewhere, *(instruction_sets() if INSTRUCTIONS in kinds else [])])

    @property
    def without(self) -> dict[str, str]:
        """Of the kinds that are wanted those that cannot be tried here, and why."""
        if DEVICE in self.kinds and devices.at_hand() is None:
            return {DEVICE: "torch sees no GPU on this machine"}
        return {}

    def trial(self, call: Call, kinds: Collection[str] | None = None) -> Trial:
        """Makes the call in the settings of this moment, and from there in each way; one kind is always RUN."""
        wanted = {RUN} | set(self.kinds if kinds is None else kinds) & set(self.kinds)
        whole = call.attempt()
        if not whole or not all(map(_is_comparable, whole)):
            return {}
        trial = {RUN: self._here(RUN, call, whole)}
        if trial[RUN].found:
            return trial
        if call.device != devices.CPU:
            wanted -= {INSTRUCTIONS}  # which are the CPU's
        elsewhere = bool({PROCESS, INSTRUCTIONS} & wanted)
        if elsewhere:
            only = None if INSTRUCTIONS in wanted else [SAME.name]
            self.workers.ask(call, whole, hashing=self.hashing, only=only)  # they run while this process does
        trial |= {kind: self._here(kind, call, whole) for kind in KINDS if kind in wanted & HERE.keys() - {RUN}}
        if elsewhere:
            trial |= _elsewhere(self.workers.answers())
        return {kind: outcome for kind, outcome in trial.items() if kind in wanted}

    def _here(self, kind: str, call: Call, whole: Results) -> Outcome:
        outcome = Outcome()
        for again in HERE[kind](call, whole):
            outcome.note(again.name, Answer.to(again.expected, again.got, self.hashing))
        return outcome

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.workers.__exit__(kind, error, at)


def _is_comparable(result: Any) -> bool:
    try:
        if isinstance(result, torch.Tensor):
            check(result)
    except UntriedError:
        return False
    return True


def _elsewhere(answers: dict[str, Answer]) -> Trial:
    """Nothing is said of instruction sets if another process with the same differs already."""
    process, instructions = Outcome(), Outcome()
    process.note(SAME.name, answers.pop(SAME.name))
    if process.same:
        for name, answer in answers.items():
            instructions.note(name, answer)
    return {PROCESS: process, INSTRUCTIONS: instructions}
