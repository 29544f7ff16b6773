# SPDX-License-Identifier: MIT
"""Calls on a GPU in torch's own kernels, without TF32, and under `repdl.enable()`, each as a share of a ceiling too.

A run may end early: by a kernel that never returns or that takes CUDA's context with it, when its time is over, or
killed. So rows come in order of importance, each stands in the JSON file when it is done, and a next run can go on.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.table import Table
from torch.utils._pytree import tree_leaves

import repdl
from gpu_clock import Contender, Gpu
from gpu_rows import BANDWIDTH, FAMILIES, MICROSECONDS, MILLISECONDS, TERAFLOPS, Row
from machine import describe
from repdl import _machine

ROUNDS = 3
TOGETHER = 6
"""Rows that share the switches between torch and this library, each of which takes a while."""
PATIENCE = 25.0
"""Seconds after which a turn will never end. The first may contain cuDNN's search."""
STOPPED = 3
"""Exit status if it cannot go on in this process."""
NO_RETURN = "did not return"
PEER, OURS = "peer", "ours"
PER_SECOND = {TERAFLOPS: 1e12, BANDWIDTH: 1e9}
SECOND = {MILLISECONDS: 1e3, MICROSECONDS: 1e6}

Figures = dict[str, Any]
"""Of a row: the unit; ours and peer in it; ratio, above 1 if this library is faster; share and peer_share of the
ceiling; host, µs until our call returns; raises; differs, if results are too far from torch's."""


class Document:
    """The figures of this device and, in the file, those of others."""

    def __init__(self, path: Path | None, gpu: Gpu, go_on: bool) -> None:
        self.path = path
        self.all: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}
        if not go_on or gpu.name() not in self.all:
            self.all[gpu.name()] = {"seconds": 0.0, "left out": [], "families": {}}
        self.own: dict[str, Any] = self.all[gpu.name()]
        self.own |= {"machine": describe(), "driver": gpu.driver(), "commit": _machine.commit()}
        self.families: dict[str, dict[str, Figures]] = self.own["families"]
        self._began = time.perf_counter() - self.own["seconds"]

    def has(self, family: str, row: Row) -> bool:
        """Whether the row came to an end, good or bad."""
        return bool({"ratio", "raises"} & self.families.get(family, {}).get(row.name, {}).keys())

    def seconds(self) -> float:
        """Of all runs together."""
        return time.perf_counter() - self._began

    def enter(self, family: str, name: str, figures: Figures) -> None:
        self.families.setdefault(family, {})[name] = figures
        self.save()

    def save(self) -> None:
        self._add_shares()
        self.own["seconds"] = round(self.seconds(), 1)
        if self.path is not None:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.all, indent=1, ensure_ascii=False) + "\n")
            new.replace(self.path)

    def _add_shares(self) -> None:
        ceilings = {of["unit"]: of[PEER] for of in self.families.get("ceilings", {}).values() if PEER in of}
        for family in self.families.values():
            for name, figures in family.items():
                if "float64" in name or figures["unit"] not in ceilings:
                    continue
                for who, share in ((OURS, "share"), (PEER, "peer_share")):
                    if who in figures:
                        figures[share] = float(f"{figures[who] / ceilings[figures['unit']]:.3g}")


class ContextLostError(Exception):
    """Nothing runs on the device any more, in this process."""


class Trial:
    """A row, whose contenders take turns."""

    def __init__(self, family: str, row: Row, gpu: Gpu, document: Document) -> None:
        self.family, self.row, self.gpu, self.document = family, row, gpu, document
        self.contenders: dict[str, Contender] = {}
        self.found: Figures = {"unit": row.unit}

    def make(self, who: str) -> None:
        with self._caught(who):
            self.contenders[who] = Contender(self.row, self.gpu)

    def turn(self, who: str, is_first: bool) -> None:
        if who not in self.contenders:
            return
        contender = self.contenders[who]
        ours = repdl.order(self.row.order) if who == OURS and self.row.order else nullcontext()
        if is_first:
            self.document.enter(self.family, self.row.name, self._never(who))
        with self._caught(who), ours:
            if is_first:
                contender.first(counts=who == OURS)  # that of torch may contain cuDNN's search
            else:
                contender.turn()

    def compare(self) -> None:
        results = [contender.result for contender in self.contenders.values() if contender.was_called]
        for contender in self.contenders.values():
            contender.result = None
        if len(results) == 2:
            with self._caught("comparison"):
                far = distance(*results, random=self.row.random)
                if not far <= self.row.tolerance:
                    self.found["differs"] = f"by {far:.1e} of the largest"

    @contextmanager
    def _caught(self, who: str) -> Iterator[None]:
        """Enters what the row has come to, or what it raises."""
        lost = False
        try:
            with ends_within(PATIENCE, lambda: self._gave(self._never(who))):
                yield
                self.gpu.wait()
        except Exception as error:
            self.contenders.pop(who, None)
            self.found |= self._raises(who, (str(error).splitlines() or [""])[0] or type(error).__name__)
            try:
                self.gpu.wait()
            except RuntimeError:
                lost = True
        self.document.enter(self.family, self.row.name, self.figures())
        if lost:
            self._gave(self.figures())
            raise ContextLostError

    def _never(self, who: str) -> Figures:
        return self.figures() | self._raises(who, NO_RETURN)

    @staticmethod
    def _raises(who: str, what: str) -> Figures:
        return {"raises": what if who == OURS else f"{'torch' if who == PEER else who}: {what}"}

    def _gave(self, figures: Figures) -> None:
        self.document.enter(self.family, self.row.name, figures)
        say(self.row.name, figures)

    def figures(self) -> Figures:
        median = {who: statistics.median(of.times) for who, of in self.contenders.items() if of.times}
        figures = self.found | {who: self._in_unit(seconds) for who, seconds in median.items()}
        if len(median) == 2:
            figures["ratio"] = median[PEER] / median[OURS]
        if OURS in self.contenders and self.contenders[OURS].host:
            figures["host"] = 1e6 * statistics.median(self.contenders[OURS].host)
        return {name: float(f"{x:.4g}") if isinstance(x, float) else x for name, x in figures.items()}

    def _in_unit(self, seconds: float) -> float:
        if self.row.unit in PER_SECOND:
            return self.row.work / seconds / PER_SECOND[self.row.unit]
        return seconds * SECOND[self.row.unit]


@contextmanager
def ends_within(seconds: float, otherwise: Callable[[], None]) -> Iterator[None]:
    """Ends the process, after a last call, where the block has not ended by then."""

    def stop() -> None:
        try:
            otherwise()
        finally:
            os._exit(STOPPED)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def distance(expected: object, found: object, random: bool = False) -> float:
    """The largest difference of two results, as a share of the largest number of the first."""

    def numbers(result: object) -> list[torch.Tensor]:
        real = [x.detach() for x in tree_leaves(result) if isinstance(x, torch.Tensor) and x.is_floating_point()]
        return [torch.stack((x.mean(), x.std())) for x in real] if random else real

    shares = [
        (a - b).abs().max().item() / max(a.abs().max().item(), 1e-30)
        for a, b in zip(numbers(expected), numbers(found), strict=True)
    ]
    return max(shares, key=lambda share: (share != share, share))


def say(name: str, figures: Figures) -> None:
    """As it goes on."""
    print(f"{name}: {', '.join(f'{key} {value}' for key, value in figures.items())}", file=sys.stderr, flush=True)


def measure(trials: list[Trial], is_over: Callable[[], bool]) -> None:
    """All rows in turn, until it is over."""
    contexts: dict[str, Callable[[], AbstractContextManager[object]]] = {PEER: nullcontext, OURS: repdl.reproducible}
    for trial in trials:
        for who in contexts:
            if not is_over():
                trial.make(who)
    for turn in range(ROUNDS + 1):
        for who, context in contexts.items():
            with context():
                for trial in trials:
                    if not is_over():
                        trial.turn(who, is_first=turn == 0)
        if turn == 0:
            for trial in trials:
                trial.compare()
    for trial in trials:
        if trial.document.has(trial.family, trial.row):
            say(trial.row.name, trial.document.families[trial.family][trial.row.name])


def chosen(limit: int | None, only: str | None) -> dict[str, list[Row]]:
    """Rows by family; `only` is a family, or a part of names, and no size is above the limit."""
    rows = {family: list(make(lambda size: min(size, limit or size))) for family, make in FAMILIES.items()}
    return {family: [row for row in rows[family] if only in (None, family) or only in row.name] for family in rows}


def run(
    seconds: float = 100.0,
    only: str | None = None,
    results: Path | None = None,
    go_on: bool = False,
    device: str = "cuda",
    limit: int | None = None,
) -> list[Table]:
    """A table a family.

    Args:
        seconds: after which no call begins.
        only: a family, or a part of names.
        results: a JSON file that gets the figures as they come.
        go_on: leaves out what the file has.
        device: "cpu" to try the rows without a GPU.
        limit: none of the sizes of a row is above it.

    Raises:
        SystemExit: with `STOPPED` if the device cannot be used any more, in this process.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    gpu = Gpu(device)
    document = Document(results, gpu, go_on)
    rows = chosen(limit, only)

    def is_over() -> bool:
        return document.seconds() >= seconds

    for family in rows:
        waiting = [row for row in rows[family] if not document.has(family, row)]
        while waiting and not is_over():
            trials = [Trial(family, row, gpu, document) for row in waiting[:TOGETHER]]
            waiting = waiting[TOGETHER:]
            try:
                measure(trials, is_over)
            except ContextLostError:
                raise SystemExit(STOPPED) from None
            del trials
            gc.collect()
            gpu.release()
    document.own["left out"] = [row.name for family in rows for row in rows[family] if not document.has(family, row)]
    document.save()
    return tables(document)


def tables(document: Document) -> list[Table]:
    made = []
    for family, rows in document.families.items():
        table = Table(title=f"{family}: torch without TF32, and repdl.enable()")
        for column in ("call", "unit", "torch", "ours", "ratio", "torch's share", "our share", "host, µs", "note"):
            table.add_column(column, justify="left" if column in ("call", "note") else "right")
        for name, of in rows.items():
            keys = (PEER, OURS, "ratio", "peer_share", "share", "host")
            cells = [f"{of[key]:.3g}" if key in of else "" for key in keys]
            table.add_row(name, of["unit"], *cells, note(of))
        ratios = [of["ratio"] for of in rows.values() if "ratio" in of]
        if len(ratios) > 1:
            table.add_row("geometric mean", "", "", "", f"{statistics.geometric_mean(ratios):.2f}", "", "", "", "")
        made.append(table)
    if document.own["left out"]:
        made.append(left := Table("left out", title=f"{document.seconds():.0f} seconds"))
        for name in document.own["left out"]:
            left.add_row(name)
    return made


def note(of: Figures) -> str:
    said = [f"raises: {of['raises']}"] if "raises" in of else []
    said += [f"differs {of['differs']}"] if "differs" in of else []
    if of["unit"] == MICROSECONDS and OURS in of and PEER in of:
        said.append(f"{of[OURS] - of[PEER]:.2f} µs more")
    return "; ".join(said)
