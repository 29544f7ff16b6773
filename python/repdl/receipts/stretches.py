# SPDX-License-Identifier: MIT
"""Which parts of a run are verified: all of it, or what lies between two checkpoints."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repdl.receipts.entries import CHECKPOINT, STEP, ReceiptError
from repdl.receipts.file import Receipt, checkpoint_name


@dataclass(frozen=True)
class Stretch:
    """Entries from `first` until before `stop`, the end counted as one; from checkpoints on, or from the beginning.

    checkpoints: by process, the file that it begins from; that of the process that the program is started in is "".
    """

    first: int
    stop: int
    checkpoints: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class _Cut:
    """Where stretches meet: the entries of the checkpoints, of each process one, before a step."""

    first: int
    stop: int
    before: int


def whole(receipt: Receipt) -> Stretch:
    return Stretch(0, len(receipt.entries) + 1)


def drawn(receipt: Receipt, count: int, seed: int) -> list[int]:
    """The first step, which says where the run began, and as many others, at random; of all processes alike."""
    others = range(1, 1 + max((step["number"] for step in receipt.steps), default=0))
    return [0, *sorted(random.Random(seed).sample(others, min(count, len(others))))]


def with_steps(receipt: Receipt, steps: Sequence[int], folder: Path | None) -> list[Stretch]:
    """Those between two checkpoints that have these steps, of all processes."""
    cuts = _cuts(receipt)
    if not cuts:
        raise ReceiptError(
            "it has no checkpoints to begin at: `repdl run --checkpoints` has them, of a program with a "
            "repdl.receipts.Resumable; without --steps the whole run is verified"
        )
    if folder is None:
        raise ReceiptError("--steps needs --checkpoints, the folder with the checkpoints of the run")
    firsts, stops = [0, *(cut.first for cut in cuts)], [*(cut.stop for cut in cuts), len(receipt.entries) + 1]
    places: dict[int, int] = {}
    for i, (kind, content) in enumerate(receipt.entries):
        if kind == STEP:
            places.setdefault(content["number"], i)
    found = []
    for number in sorted({bisect_right(firsts, places[step]) - 1 for step in steps}):
        checkpoints = _checkpoints(receipt, cuts[number - 1].before, folder) if number else {}
        found.append(Stretch(firsts[number], stops[number], checkpoints))
    return found


def _checkpoints(receipt: Receipt, before: int, folder: Path) -> dict[str, Path]:
    found = {name: folder / checkpoint_name(before, name) for name in receipt.processes or [""]}
    for path in found.values():
        if not path.is_file():
            raise ReceiptError(f"there is no checkpoint {path}")
    return found


def _cuts(receipt: Receipt) -> list[_Cut]:
    """In order. Of several checkpoints before a step the last is the one that there is a file of."""
    places: dict[str, dict[int, int]] = {name: {} for name in receipt.processes or [""]}
    iterations: dict[int, set[int]] = {}
    for i, (kind, content) in enumerate(receipt.entries):
        if receipt.processes and "process" not in content:
            raise ReceiptError(
                f"the process that the program was started in has a {kind} of its own beside those of "
                f"{' and '.join(receipt.processes)}, so it is verified as a whole, without --steps"
            )
        if kind == CHECKPOINT and content["iterations"]:
            places[content.get("process", "")][content["before"]] = i
            iterations.setdefault(content["before"], set()).add(content["iterations"])
    _check_alike(places)
    first, *_ = places.values()
    cuts = [
        _Cut(min(p[before] for p in places.values()), 1 + max(p[before] for p in places.values()), before)
        for before in first
    ]
    if receipt.processes and any(
        len(iterations[cut.before]) > 1 or cut.stop - cut.first != len(places) for cut in cuts
    ):
        raise ReceiptError(
            "its processes have several checkpoints before one step, or batches that no step has before one, so it is "
            "verified as a whole, without --steps"
        )
    return cuts


def _check_alike(places: Mapping[str, Mapping[int, int]]) -> None:
    """Processes are run again together, from checkpoints before the same step."""
    (first, steps), *others = places.items()
    for name, its in others:
        if its.keys() != steps.keys():
            step = min(its.keys() ^ steps.keys())
            has, lacks = (name, first) if step in its else (first, name)
            raise ReceiptError(
                f"{has} has a checkpoint before step {step}, and {lacks} has none, so that they cannot begin there "
                "together; without --steps the whole run is verified"
            )
