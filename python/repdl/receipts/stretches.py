# SPDX-License-Identifier: MIT
"""Which parts of a run are verified: all of it, or what lies between two checkpoints."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repdl.receipts.entries import CHECKPOINT, STEP, ReceiptError
from repdl.receipts.file import Receipt, checkpoint_name


@dataclass(frozen=True)
class Stretch:
    """Entries from `first` until before `stop`, the end counted as one; from a checkpoint on, or from the beginning."""

    first: int
    stop: int
    checkpoint: Path | None = None


def whole(receipt: Receipt) -> Stretch:
    return Stretch(0, len(receipt.entries) + 1)


def drawn(receipt: Receipt, count: int, seed: int) -> list[int]:
    """The first step, which says where the run began, and as many others, at random."""
    others = range(1, len(receipt.steps))
    return [0, *sorted(random.Random(seed).sample(others, min(count, len(others))))]


def with_steps(receipt: Receipt, steps: Sequence[int], folder: Path | None) -> list[Stretch]:
    """Those between two checkpoints that have these steps."""
    entries = receipt.entries
    if receipt.processes:
        raise ReceiptError("it is of a program of several processes, which is verified as a whole, without --steps")
    cuts = [i for i, (kind, content) in enumerate(entries) if kind == CHECKPOINT and content["iterations"]]
    if not cuts:
        raise ReceiptError(
            "it has no checkpoints to begin at: `repdl run --checkpoints` has them, of a program with a "
            "repdl.receipts.Resumable; without --steps the whole run is verified"
        )
    if folder is None:
        raise ReceiptError("--steps needs --checkpoints, the folder with the checkpoints of the run")
    firsts, stops = [0, *cuts], [cut + 1 for cut in cuts] + [len(entries)]
    places = [i for i, (kind, _) in enumerate(entries) if kind == STEP]
    found = []
    for number in sorted({bisect_right(firsts, places[step]) - 1 for step in steps}):
        first = firsts[number]
        path = folder / checkpoint_name(entries[first][1]["before"]) if number else None
        if path is not None and not path.is_file():
            raise ReceiptError(f"there is no checkpoint {path}")
        found.append(Stretch(first, stops[number], path))
    return found
