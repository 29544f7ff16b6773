# SPDX-License-Identifier: MIT
"""Calls of torch, forward and with their gradients, in torch's own kernels and under `repdl.enable()`."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch.utils._pytree import tree_leaves

import repdl
from figures import of_target, rounded, source
from timing import calls_within, mean_time
from torch_calls import FAMILIES

FORWARD, WITH_GRADIENT = "forward", "with gradient"
SECONDS = 0.008
"""For each step, in each turn."""
BEFORE = 10
"""Calls in each turn that are not timed: at first a large result moves through fresh pages of the heap, which the
kernel clears."""
PAUSE = 0.02
"""Seconds of rest before each turn on several threads: those of the other contender wait busily, torch's for some
milliseconds after a call, and would take the processor from the threads that are measured."""
LIMIT = 4.0
"""Seconds after which a call gets no more turns, if it had two."""
SLOW = 0.3

Run = Callable[[], object]


class Speed(NamedTuple):
    """Medians over turns; microseconds."""

    torch: float
    ours: float
    ratio: float
    """Of torch's time to ours: above 1 this library is faster."""
    more: float


Steps = dict[str, Speed | str]
"""By step; a text is the error that it raises under `repdl.enable()`."""
Measured = dict[str, dict[str, Steps]]
"""By family and call."""


def chosen(only: str | None = None) -> Iterator[tuple[str, str, Callable[..., object], tuple[Any, ...]]]:
    """Family, name, function and operands of each call; `only` is a family, or a part of names."""
    for family in [only] if only in FAMILIES else FAMILIES:
        torch.manual_seed(0)
        for name, function, *operands in FAMILIES[family]():
            if only in (None, family) or only in name:
                yield family, name, function, tuple(operands)


def steps_of(function: Callable[..., object], operands: tuple[Any, ...]) -> dict[str, Run]:
    """The call; and with the gradient of the first of its results that has one."""
    steps: dict[str, Run] = {FORWARD: partial(function, *operands)}
    leaves = [x for x in operands if isinstance(x, torch.Tensor) and x.requires_grad]
    if isinstance(function, torch.nn.Module):
        leaves += function.parameters()
    if not leaves:
        return steps

    def differentiable() -> torch.Tensor:
        results = function(*operands)
        if isinstance(results, torch.Tensor):
            return results
        return next(x for x in tree_leaves(results) if x.requires_grad)

    grad = torch.randn_like(differentiable())
    steps[WITH_GRADIENT] = lambda: torch.autograd.grad(differentiable(), leaves, grad, allow_unused=True)
    return steps


def measure(steps: dict[str, Run], rounds: int, clock: Callable[[], float], pause: float = 0.0) -> Steps:
    """Torch and this library take turns; a ratio is of two times in one turn, so that a busy machine slows both."""
    contenders: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "torch": nullcontext, "ours": repdl.reproducible,
    }  # fmt: skip
    calls: dict[str, dict[str, int]] = {who: {} for who in contenders}
    times: dict[str, dict[str, list[float]]] = {who: {step: [] for step in steps} for who in contenders}
    found: Steps = {}
    began = time.perf_counter()
    for turn in range(rounds + 1):
        if turn > 2 and time.perf_counter() - began > LIMIT:
            break
        for who, context in contenders.items():
            time.sleep(pause)
            with context():
                for step, run in steps.items():
                    if step in found:
                        continue
                    with torch.set_grad_enabled(step == WITH_GRADIENT):
                        if turn > 0:
                            before = min(BEFORE, 4 * calls[who][step])
                            times[who][step].append(1e6 * mean_time(run, calls[who][step], clock, before))
                            continue
                        try:
                            calls[who][step] = calls_within(SECONDS, run, clock)
                        except Exception as error:
                            if who == "torch":
                                raise
                            found[step] = str(error).splitlines()[0]
    for step in steps.keys() - found.keys():
        stock, ours = (times[who][step] for who in contenders)
        ratios, more = ([of(a, b) for a, b in zip(stock, ours)] for of in (lambda a, b: a / b, lambda a, b: b - a))
        found[step] = Speed(*(statistics.median(values) for values in (stock, ours, ratios, more)))
    return {step: found[step] for step in steps}


def ratios(measured: Measured, family: str | None = None) -> list[float]:
    return [
        speed.ratio
        for name, calls in measured.items()
        if family in (None, name)
        for steps in calls.values()
        for speed in steps.values()
        if isinstance(speed, Speed)
    ]


def summary(measured: Measured) -> dict[str, dict[str, float]]:
    """Of each family, and of all calls."""
    of = {family: ratios(measured, family) for family in measured} | {"all": ratios(measured)}
    return {
        name: {
            "timed": len(values),
            "geometric mean": round(statistics.geometric_mean(values), 2),
            "smallest": round(min(values), 3),
            f"under {SLOW}": sum(ratio < SLOW for ratio in values),
        }
        for name, values in of.items()
        if values
    }


def tables(measured: Measured, threads: int) -> list[Table]:
    """All calls; those that are slow or raise; and what each family comes to."""
    on = f"{threads} thread{'s' if threads > 1 else ''}"
    every = Table(title=f"Calls, {on}: torch and repdl.enable()")
    slow = Table(title=f"Under {SLOW} of torch's speed, {on}")
    for table in (every, slow):
        for column in ("call", "step", "torch, µs", "ours, µs", "more, µs", "ratio"):
            table.add_column(column, justify="left" if column in ("call", "step") else "right")
    rows: list[tuple[float, list[str]]] = []
    for family, calls in measured.items():
        every.add_section()
        every.add_row(f"[bold]{family}")
        for name, steps in calls.items():
            for step, speed in steps.items():
                if isinstance(speed, str):
                    cells, ratio = ["", "", "", "raises"], 0.0
                else:
                    ratio = speed.ratio
                    cells = [f"{x:.2f}" if x < 100 else f"{x:.0f}" for x in (speed.torch, speed.ours, speed.more)]
                    cells.append(f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}")
                every.add_row(name if step == FORWARD else "", step, *cells)
                rows.append((ratio, [f"{family}: {name}", step, *cells]))
    for _, row in sorted(row for row in rows if row[0] < SLOW):
        slow.add_row(*row)
    means = Table("family", title=f"Families, {on}: ratios")
    for column in next(iter(summary(measured).values()), {}):
        means.add_column(column, justify="right")
    for family, figures in summary(measured).items():
        means.add_row(family, *(f"{value:g}" for value in figures.values()))
    return [every, slow, means]


def plain(measured: Measured) -> dict[str, Any]:
    """For a JSON file: three digits of each figure."""

    def of(speed: Speed | str) -> dict[str, Any]:
        if isinstance(speed, str):
            return {"raises": speed}
        return rounded(speed._asdict())

    return {
        family: {name: {step: of(speed) for step, speed in steps.items()} for name, steps in calls.items()}
        for family, calls in measured.items()
    }


def save(path: Path, measured: dict[int, Measured]) -> None:
    """Replaces what the file says of this CPU target."""
    with of_target(path) as found:
        found |= source()
        found["threads"] = {str(n): {"summary": summary(of), "calls": plain(of)} for n, of in measured.items()}


def run(threads: list[int], rounds: int, only: str | None, results: Path | None) -> list[Table]:
    """Tables for each number of threads; `results` is a JSON file that gets the figures."""
    warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)")
    measured: dict[int, Measured] = {}
    for n in threads:
        torch.set_num_threads(n)
        repdl.set_num_threads(n)
        clock, pause = (time.thread_time, 0.0) if n == 1 else (time.perf_counter, PAUSE)
        measured[n] = {}
        calls = track(chosen(only), "calls", sum(1 for _ in chosen(only)), console=Console(stderr=True), transient=True)
        for family, name, function, operands in calls:
            measured[n].setdefault(family, {})[name] = measure(steps_of(function, operands), rounds, clock, pause)
    if results is not None:
        save(results, measured)
    return [table for n in threads for table in tables(measured[n], n)]
