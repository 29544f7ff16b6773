# SPDX-License-Identifier: MIT
"""Sees the steps of a run, and tells of each by digests."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.util import Finalize, register_after_fork
from pathlib import Path
from threading import get_ident
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from repdl import _steps, checkpoint
from repdl._leaving import written_before
from repdl._values import local
from repdl.checkpoint import generators
from repdl.receipts import digests, resumable
from repdl.receipts.entries import CHECKPOINT, END, READ, STEP
from repdl.receipts.file import checkpoint_name
from repdl.receipts.generators import Generators
from repdl.receipts.processes import VARIABLE, Part, Plan, gathered
from repdl.receipts.program import sources
from repdl.utils import hash_of_all


class Follower:
    """Of the thread that makes it. A step ends when an optimizer steps.

    Args:
        add: is told the kind of each entry and what it says.
        every: of how many iterations of a `Resumable` one has a checkpoint; 0 for none.
        folder: where checkpoints are saved; None has their digests alone computed.
        restore: brings back the state of parts from a checkpoint, and gives its entry. What comes before that is not
            told.
        scratch: the folder for what processes tell of that the program starts; None is that for temporary files.
        resume, stop: of those processes, as of a `Plan`.
    """

    def __init__(
        self,
        add: Callable[[str, dict[str, Any]], None],
        every: int = 0,
        folder: Path | None = None,
        restore: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
        scratch: Path | None = None,
        resume: Mapping[str, tuple[str, dict[str, Any]]] | None = None,
        stop: int | None = None,
    ) -> None:
        self.every, self.folder, self.restore, self.scratch = every, folder, restore, scratch
        self.resume, self.stop = resume or {}, stop
        self._add = add
        self._part: Part | None = None  # of a process that the program has started
        self._is_told = restore is None
        self._begin()

    def _begin(self) -> None:
        """In this process."""
        self.steps = 0
        self.is_resumable = False
        self._generators = Generators()
        self._batches: list[str] = []
        self._modules: dict[int, nn.Module] = {}  # with buffers, in the order of their first call in this step
        self._process, self._thread = os.getpid(), get_ident()

    @contextmanager
    def followed(self, folder: Path) -> Iterator[None]:
        """In this block the program runs, whose sources lie below a folder; at last its end is told."""
        status = 1
        with self._parts_of_others(folder) as parts:
            leave = partial(self._tell_end, folder, parts, waits=False)
            try:
                with written_before(leave), self.watching():
                    yield
                status = 0
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
                raise
            finally:
                if os.getpid() == self._process:
                    self._tell_end(folder, parts, status)

    def _tell_end(self, folder: Path, parts: Path, status: int, waits: bool = True) -> None:
        others, imported = gathered(parts, waits)
        end = {"batches": self._batches, "status": status, "steps": self.steps}
        for entry in [*others, (END, end | {"sources": sources(folder) | imported})]:
            self._tell(*entry)

    @contextmanager
    def watching(self) -> Iterator[None]:
        called = register_module_forward_pre_hook(self._module)
        resumable.active = self
        try:
            with _steps.followed(lambda optimizer: None, self._end_step, self._batch):
                yield
        finally:
            resumable.active = None
            called.remove()

    @contextmanager
    def _parts_of_others(self, folder: Path) -> Iterator[Path]:
        """Processes that are started in this block write parts of the receipt below the folder that it gives."""
        scratch = Path(tempfile.mkdtemp(prefix="repdl-receipt-", dir=self.scratch))
        parts, plan = scratch / "parts", scratch / "plan"
        parts.mkdir()
        checkpoints = None if self.folder is None else str(self.folder)
        Plan(str(parts), str(folder), self.every, checkpoints, self.resume, self.stop).write(plan)
        os.environ[VARIABLE] = str(plan)
        self.write_parts(parts, folder)
        try:
            yield parts
        finally:
            if os.getpid() == self._process:
                os.environ.pop(VARIABLE, None)
                shutil.rmtree(scratch, ignore_errors=True)

    def write_parts(self, parts: Path, folder: Path) -> None:
        """In processes that multiprocessing forks, and in those that it has begun afresh, as their first act."""
        register_after_fork(self, lambda self: self.begin_part(parts, folder))

    def begin_part(self, parts: Path, folder: Path) -> None:
        if resumable.active is not self:
            return
        self._begin()
        part = self._part = Part(parts)
        self._add, self.restore = part.add, self._restore_part if self.resume else None
        self._is_told = self.restore is None
        program = getattr(sys.modules["__main__"], "__file__", None)  # which Python forgets before the end

        def end() -> None:
            part.add(END, {"batches": self._batches, "sources": sources(folder, program)})

        Finalize(None, end, exitpriority=0)

    def _restore_part(self, states: Mapping[str, Any]) -> dict[str, Any]:
        assert self._part is not None
        name = self._part.name
        if name not in self.resume:
            self._part.refuse(
                f"{name or 'a process'} has no checkpoint to begin from, since the receipt does not know it"
            )
        path, entry = self.resume[name]
        try:
            checkpoint.load(path, **states)
        except (checkpoint.CheckpointError, OSError) as error:
            self._part.refuse(f"{name}: {error}")
        return entry

    def begin_loop(self, parts: Mapping[str, Any]) -> int:
        """Of a `Resumable`: the number of its iterations that are done."""
        if self.is_resumable:
            raise RuntimeError("[Resumable] a run has one; this is the second")
        self.is_resumable = True
        iterations, drawn = 0, None
        if self.restore is not None:
            before = generators.states()
            entry = self.restore(parts)
            self.steps, iterations = entry["before"], entry["iterations"]
            self._generators.resume(before, entry["generators"])
            drawn = generators.states()
            self._is_told = True
            self._batches = []
        if self.every:
            self._checkpoint(parts, iterations, drawn)
        return iterations

    def end_iteration(self, parts: Mapping[str, Any], iterations: int) -> None:
        if self.every and iterations % self.every == 0:
            self._checkpoint(parts, iterations)

    def _tell(self, kind: str, content: dict[str, Any]) -> None:
        if self._is_told and os.getpid() == self._process:  # in a process that the program forks it is the parent's
            self._add(kind, content)

    def _batch(self, loader: Any, take: _steps.Take) -> Any:
        batch = take(loader)
        self._batches.append(digests.of_batch(batch))
        return batch

    def _module(self, module: nn.Module, args: Any) -> None:
        if module._buffers and get_ident() == self._thread:
            self._modules.setdefault(id(module), module)

    @torch.no_grad()
    def _end_step(self, optimizer: torch.optim.Optimizer) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        content = {
            "number": self.steps,
            "batches": self._batches,
            "parameters": hash_of_all(map(local, parameters)),
            "buffers": digests.of([module._buffers for module in self._modules.values()]),
            "optimizer": digests.of_optimizer(optimizer, parameters),
            "generators": self._generators.digests(),
        }
        self.steps += 1
        self._batches, self._modules = [], {}
        self._tell(STEP, content)

    @torch.no_grad()
    def _checkpoint(self, parts: Mapping[str, Any], iterations: int, drawn: dict[str, Any] | None = None) -> None:
        """Some parts draw random numbers when asked for their state. drawn: the generators after that."""
        of_part = {} if self._part is None else {"before": self.steps}
        if self._batches:  # which no step has
            self._tell(READ, {"batches": self._batches} | of_part)
        self._batches, self._modules = [], {}
        taken = {name: _Taken(part) for name, part in parts.items()}
        if drawn is not None:
            generators.restore(drawn)
        content = {
            "before": self.steps,
            "iterations": iterations,
            "states": {name: digests.of(part.state) for name, part in taken.items()},
            "generators": self._generators.digests(),
        }
        if self.folder is not None and iterations:
            process = "" if self._part is None else self._part.name
            checkpoint.save(self.folder / checkpoint_name(self.steps, process), **taken)
        self._tell(CHECKPOINT, content)
        if self._part is not None and self.stop == iterations:
            self._part.leave()


class _Taken:
    """The state of a part, asked for once."""

    def __init__(self, part: Any) -> None:
        self.state = part.get_state() if isinstance(part, torch.Generator) else part.state_dict()

    def state_dict(self) -> Any:
        return self.state

    def load_state_dict(self, state: Any) -> None:
        raise NotImplementedError


_started = ExitStack()


def follow_started() -> None:
    """In a process that a program with a receipt has started afresh: site/sitecustomize.py."""
    plan = Plan.read(Path(os.environ[VARIABLE]))
    parts, folder = Path(plan.parts), Path(plan.program)
    checkpoints = None if plan.checkpoints is None else Path(plan.checkpoints)
    follower = Follower(Part(parts).add, plan.every, checkpoints, resume=plan.resume, stop=plan.stop)
    _started.enter_context(follower.watching())
    follower.write_parts(parts, folder)
    follower.begin_part(parts, folder)
