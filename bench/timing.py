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
    calls = {}
    for name, run in contenders.items():
        run()
        start = clock()
        run()
        once = max(clock() - start, 1e-7)
        calls[name] = max(1, min(100_000, int(seconds / rounds / once)))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            time.sleep(pause)
            run()
            start = clock()
            for _ in range(calls[name]):
                run()
            times[name].append((clock() - start) / calls[name])
    return {name: statistics.median(values) for name, values in times.items()}
