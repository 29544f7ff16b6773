# SPDX-License-Identifier: MIT
"""Times contenders against each other in one run: machines are noisy, ratios less so."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def time_in_turn(
    contenders: Mapping[str, Callable[[], object]],
    *,
    seconds: float = 0.4,
    rounds: int = 7,
    pause: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of one call of each contender, which take turns.

    Args:
        seconds: time for each contender, over all rounds.
        rounds: turns.
        pause: rest before each turn, so that threads of the contender before it stop waiting busily.
        clock: what to read; for one thread `time.thread_time` leaves out what other processes take.
    """
    calls = {name: calls_within(seconds / rounds, run, clock) for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            time.sleep(pause)
            times[name].append(mean_time(run, calls[name], clock))
    return {name: statistics.median(values) for name, values in times.items()}


def calls_within(seconds: float, run: Callable[[], object], clock: Callable[[], float]) -> int:
    """How many calls fill that time, at least one. The first ones take longer: their number grows until they count."""
    calls = 1
    while (taken := calls * mean_time(run, calls, clock)) < seconds / 4:
        calls *= 4
    return max(1, int(calls * seconds / taken))


def mean_time(run: Callable[[], object], calls: int, clock: Callable[[], float], before: int = 1) -> float:
    """Seconds of a call, after some that are not timed."""
    for _ in range(before):
        run()
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls
