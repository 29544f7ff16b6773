# SPDX-License-Identifier: MIT
"""Times calls on a GPU by its own clock."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import time

import torch

from gpu_rows import BANDWIDTH, MICROSECONDS, TERAFLOPS, Call, Row

SECONDS = 0.05
"""For a contender, in each turn."""
MOST_CALLS = 100
HOST_BLOCKS = 20
"""Of so many calls each, for the host's time: a device that does not follow would make the host wait."""
LONG, SLOW, LIMIT = 0.1, 2.0, 1.0
"""Seconds: a call above the first is not called before a turn, and once in it; one above the second is timed once; a
contender that took the third has no more turns."""


class Gpu:
    """A device and its clock; without CUDA, the host's clock, for a try of what is timed."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.is_there = device == "cuda" and torch.version.cuda is not None

    def name(self) -> str:
        return torch.cuda.get_device_name() if self.is_there else self.device

    def driver(self) -> str:
        """Its version, the highest clock and the power limit, as far as they are told."""
        command = ["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.splitlines()[0]
        except (OSError, IndexError, subprocess.SubprocessError):
            return "unknown"

    def cache(self) -> int:
        return torch.cuda.get_device_properties(0).L2_cache_size if self.is_there else 0

    def allocated(self) -> int:
        return torch.cuda.memory_allocated() if self.is_there else 0

    def release(self) -> None:
        if self.is_there:
            torch.cuda.empty_cache()

    def wait(self) -> None:
        if self.is_there:
            torch.cuda.synchronize()

    def seconds(self, calls: list[Call]) -> tuple[float, float]:
        """Of one of these calls: the median of the device's time, and the mean of the host's."""
        self.wait()
        if not self.is_there:
            return (host := host_seconds(calls)), host
        events = [torch.cuda.Event(enable_timing=True) for _ in range(len(calls) + 1)]
        start = time.perf_counter()
        events[0].record()
        for call, event in zip(calls, events[1:]):
            call()
            event.record()
        host = (time.perf_counter() - start) / len(calls)
        events[-1].synchronize()
        return statistics.median(1e-3 * a.elapsed_time(b) for a, b in itertools.pairwise(events)), host


def host_seconds(calls: list[Call]) -> float:
    start = time.perf_counter()
    for call in calls:
        call()
    return (time.perf_counter() - start) / len(calls)


class Contender:
    """torch or this library in a row: operands of its own, and seconds of its turns."""

    def __init__(self, row: Row, gpu: Gpu) -> None:
        self.row, self.gpu = row, gpu
        self.calls = self._made()
        self.in_turn = itertools.cycle(self.calls)
        self.times: list[float] = []
        self.host: list[float] = []
        self.result: object = None
        self.was_called = False
        self.of_one = self.spent = 0.0

    def _made(self) -> list[Call]:
        """Calls with operands of their own, so many that the L2 cache does not keep them from one call to the next."""
        made: list[Call] = []
        copies = 1
        with torch.device(self.gpu.device):
            before = self.gpu.allocated()
            while len(made) < copies:
                torch.manual_seed(len(made))
                made.append(self.row.make())
                if self.row.unit in (TERAFLOPS, BANDWIDTH):
                    footprint = max(1, (self.gpu.allocated() - before) // len(made))
                    copies = min(16, -(-2 * self.gpu.cache() // footprint))
        return made

    def first(self, counts: bool) -> None:
        """The first call, whose result is kept. Where it counts, no other is timed if it is slow."""
        start = time.perf_counter()
        self.result = self.calls[0]()
        self.gpu.wait()
        self.was_called = True
        self.of_one = time.perf_counter() - start
        if counts and self.of_one > SLOW:
            self.times.append(self.of_one)
            self.spent = self.of_one

    def turn(self) -> None:
        if self.times and self.spent > LIMIT:
            return
        start = time.perf_counter()
        if self.of_one < LONG:
            next(self.in_turn)()
        if not self.times:
            found = self._seconds(1)
            self.of_one, _ = found
        if self.times or self.of_one < LONG:
            found = self._seconds(max(1, min(MOST_CALLS, int(SECONDS / max(self.of_one, 1e-6)))))
        of_device, of_host = found
        self.times.append(of_host if self.row.unit == MICROSECONDS else of_device)
        self.host.append(of_host)
        self.spent += time.perf_counter() - start

    def _seconds(self, number: int) -> tuple[float, float]:
        if self.row.unit != MICROSECONDS:
            return self.gpu.seconds(list(itertools.islice(self.in_turn, number)))
        blocks = []
        for _ in range(HOST_BLOCKS):
            self.gpu.wait()
            blocks.append(host_seconds(list(itertools.islice(self.in_turn, number))))
        return (host := statistics.median(blocks)), host
