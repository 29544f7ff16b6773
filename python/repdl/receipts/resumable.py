# SPDX-License-Identifier: MIT
"""`Resumable`: where a training loop can be entered again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Run(Protocol):
    """One that a receipt is written of, or that is verified: a `Follower`."""

    def begin_loop(self, parts: Mapping[str, Any]) -> int: ...

    def end_iteration(self, parts: Mapping[str, Any], iterations: int) -> None: ...


active: Run | None = None
"""The one under way in this process."""


class Resumable:
    """Declares the state of a training loop, so that `repdl verify --steps` can enter it before any step.

        resumable = repdl.receipts.Resumable(model=model, optimizer=optimizer, sampler=sampler)
        while sampler.epoch < 3:
            for images, labels in sampler.batches(loader):
                ...
                optimizer.step()
                scheduler.step()
                resumable.step()

    Make it when all parts are made, right before the loop, as `repdl.checkpoint.load` is called: when steps are
    verified, it brings back the state before one of them. Together with the generators of Python, NumPy and torch the
    parts have to be all that the loop goes by; of the place in the data a `ResumableBatchSampler` is a part. A run
    under `repdl run --receipt --checkpoints` saves them; in any other it does nothing.

    Args:
        parts: by names of your choice: anything with `state_dict` and `load_state_dict`, or a torch.Generator, as for
            `repdl.checkpoint.save`.

    Raises:
        TypeError: for a part that has no state.
        RuntimeError: for a second one in a run with a receipt.
    """

    iterations: int
    """How many times `step` has been called, in this run and before: `for i in range(resumable.iterations, 1000)`."""

    def __init__(self, **parts: Any) -> None:
        import torch  # not before: the command `repdl verify` itself needs none

        for name, part in parts.items():
            has_state = hasattr(part, "state_dict") and hasattr(part, "load_state_dict")
            if not isinstance(part, torch.Generator) and (isinstance(part, type) or not has_state):
                raise TypeError(f"[Resumable] {name} must have state_dict and load_state_dict, got {type(part)}")
        self._parts = parts
        self._run = active
        self.iterations = 0 if self._run is None else self._run.begin_loop(parts)

    def step(self) -> None:
        """Call it at the end of each iteration, when nothing is under way: no gradients that are being added up."""
        self.iterations += 1
        if self._run is not None:
            self._run.end_iteration(self._parts, self.iterations)
