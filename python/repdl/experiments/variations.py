# SPDX-License-Identifier: MIT
"""The ways in which a call is made again in this process; in each of them its bits should be the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from repdl.conformance.layouts import LAYOUTS, misaligned
from repdl.experiments import devices, rows, settings
from repdl.experiments.call import Call, Results, Slot
from repdl.experiments.compare import difference
from repdl.interception import choices

RUN, THREADS, LAYOUT, BATCH = "run to run", "threads", "layout", "batch"
PROCESS, INSTRUCTIONS, PRECISION, DEVICE = "process", "instructions", "precision", "device"

KINDS = (RUN, THREADS, LAYOUT, BATCH, PROCESS, INSTRUCTIONS, PRECISION, DEVICE)
"""What is varied. "process": another one with the same settings. "precision": what lets products and sums have fewer
bits. "device": the CPU and a GPU."""

RUNS = 4
NUMBERS_OF_THREADS = (1, 2, 3, 7)

HELD_BY_TORCH = (
    "mean", "rstd", "save_mean", "save_invstd", "save_var", "logsumexp", "indices", "running_mean", "running_var",
    "rng_state", "philox_seed", "philox_offset", "total_weight", "offset2bag", "bag_size", "max_indices", "buffer",
    "reserve", "reserveSpace",
)  # fmt: skip
"""Names of arguments that torch's own code makes or keeps, and that no program lays out in another way."""

LAYOUT_IS_CHECKED = (
    "_scaled_dot_product", "_flash_attention", "_efficient_attention", "mkldnn_", "_fused", "_foreach",
    "native_group_norm",
)  # fmt: skip
"""Names of ops begin so that torch calls in some layouts only, which it has checked: others they may misread."""


@dataclass(frozen=True)
class Again:
    """One way: its name, what it must give, and what it gave; None if the op refused."""

    name: str
    expected: Results
    got: Results | None


def run_to_run(call: Call, whole: Results) -> Iterator[Again]:
    for i in range(1, RUNS):
        leave_behind(whole, i, len(call.memory) + 2, call.device)
        yield Again(f"run {i + 1}", whole, call.attempt())
    if call.device == devices.CPU and torch.get_num_threads() > 1:
        yield from among_many_threads(call)


def among_many_threads(call: Call) -> Iterator[Again]:
    """A race that few threads hide, since on a busy machine they may come in one order many times.

    Told only if there is one: what is equal says nothing of the settings of this moment.
    """
    count = NUMBERS_OF_THREADS[-1]
    with settings.threads(count):
        first, again = call.attempt(), call.attempt()
    if first is not None and again is not None and difference(first, again) is not None:
        yield Again(f"run 2 with {count} threads", first, again)


def leave_behind(whole: Results, i: int, times: int, device: str = devices.CPU) -> None:
    """Other numbers in freed memory, where an op may find them that reads what it has not written."""
    sizes = [x.nbytes for x in whole if isinstance(x, torch.Tensor)] * times
    left = [torch.full((size,), 0x3B + 0x22 * i, dtype=torch.uint8, device=device) for size in sizes]
    del left


def threads(call: Call, whole: Results) -> Iterator[Again]:
    if call.device != devices.CPU:  # where threads of the host compute nothing
        return
    for count in NUMBERS_OF_THREADS:
        if count != torch.get_num_threads():
            with settings.threads(count):
                got = call.attempt()
            yield Again(f"{count} thread{'s' * (count > 1)}", whole, got)


def layout(call: Call, whole: Results) -> Iterator[Again]:
    named = call.named().items()
    kept = {value.index for name, value in named if isinstance(value, Slot) and name in HELD_BY_TORCH}
    if call.shares:
        return
    checked = call.op._schema.name.partition("::")[2].startswith(LAYOUT_IS_CHECKED)
    for name, change in LAYOUTS.items():
        if checked and change is not misaligned:
            continue
        before = call.tensors()
        after = [x if i in kept else change(x) for i, x in enumerate(before)]
        if any(x.stride() != y.stride() or x.storage_offset() != y.storage_offset() for x, y in zip(before, after)):
            yield Again(name, whole, call.attempt(after))


def batch(call: Call, whole: Results) -> Iterator[Again]:
    for name, part, expected in rows.entries(call, whole):
        got = part.attempt()
        yield Again(name, expected, got and [None if of_whole is None else x for x, of_whole in zip(got, expected)])


def precision(call: Call, whole: Results) -> Iterator[Again]:
    """Where fewer bits are allowed: with all of them."""
    for choice, now in choices.of_calls(call.device != devices.CPU):
        if choice.fewer and now not in (choice.values[0], "none"):
            yield chosen(call, whole, choice, choice.values[0])


def chosen(call: Call, whole: Results, choice: choices.Choice, value: Any) -> Again:
    """With another choice for torch's kernels."""
    got = None
    with suppress(RuntimeError), choice.made(value):
        got = call.attempt()
    return Again(choice.line.format(value), whole, got)


def device(call: Call, whole: Results) -> Iterator[Again]:
    """On a GPU, if there is one; of a call on one, on the CPU."""
    other = devices.at_hand() if call.device == devices.CPU else devices.CPU
    if other is None:
        return
    expected, got = whole, None
    with suppress(RuntimeError):  # of a device without enough memory
        got = call.on_device(other).attempt()
    if call.is_random:
        expected = call.on_device(call.device).attempt() or whole
    yield Again(other, expected, got)


HERE: dict[str, Callable[[Call, Results], Iterator[Again]]] = {
    RUN: run_to_run,
    THREADS: threads,
    LAYOUT: layout,
    BATCH: batch,
    PRECISION: precision,
    DEVICE: device,
}
"""By kind; those that are missing need other processes."""
