# SPDX-License-Identifier: MIT
"""Sums in order `blocked` against a plain vectorised sum that promises no order, by the C++ benchmark, one thread."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

from rich.table import Table

SIZES = ("128KiB", "512KiB", "8MiB", "128MiB")
AXES = {"rows": "along rows", "columns": "along columns", "all": "to a scalar"}


def measure(program: Path) -> dict[str, dict[str, dict[str, float]]]:
    """GB/s of the plain sum and of ours, and their ratio, by axis and size; `program` is repdl_bench."""
    command = [
        program, "--benchmark_filter=^sum/", "--benchmark_format=json", "--benchmark_min_time=0.1",
        "--benchmark_repetitions=7", "--benchmark_enable_random_interleaving=true",
    ]  # fmt: skip
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    speeds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for result in json.loads(output)["benchmarks"]:
        if result["run_type"] == "iteration":
            _, axis, size, whose = result["run_name"].split("/")
            speeds[axis, size, whose].append(result["bytes_per_second"] / 1e9)
    measured: dict[str, dict[str, dict[str, float]]] = {name: {} for name in AXES.values()}
    for axis, name in AXES.items():
        for size in SIZES:
            plain, ours = (statistics.median(speeds[axis, size, whose]) for whose in ("plain", "repdl"))
            measured[name][size] = {"plain": plain, "blocked": ours, "ratio": ours / plain}
    return measured


def table(measured: dict[str, dict[str, dict[str, float]]]) -> Table:
    """A row an axis and size."""
    made = Table(title="sums of float32, order blocked, 1 thread: GB/s, and ratio to a plain vectorised sum")
    for column in ("sum", "size", "plain", "blocked", "ratio"):
        made.add_column(column, justify="left" if column == "sum" else "right")
    for axis, sizes in measured.items():
        for size, of in sizes.items():
            made.add_row(axis, size, f"{of['plain']:.1f}", f"{of['blocked']:.1f}", f"{of['ratio']:.2f}")
    return made
