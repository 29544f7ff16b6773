# SPDX-License-Identifier: MIT
"""The page docs/cuda.md, for build_docs.py, from what `bench/run.py cuda --results docs` measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "cuda.json"
NONE = "–"

Table = Callable[[list[str], list[list[str]]], str]
"""Lays out columns and rows."""


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _cells(row: dict[str, Any] | None) -> list[str]:
    """Speeds, ratio and shares of a row on a device, or what came in their place."""
    if row is None:
        return [NONE] * 3
    speeds, shares = (
        " / ".join(_number(row[key]) if key in row else NONE for key in keys)
        for keys in (("peer", "ours"), ("peer_share", "share"))
    )
    if row["unit"] == "µs" and "ratio" in row:
        shares = f"{row['ours'] - row['peer']:.2g} µs more"
    ratio = f"{row['ratio']:.2f}" if "ratio" in row else NONE
    if "raises" in row:
        ratio = f"raises: {row['raises']}".replace("|", "\\|")
    elif "differs" in row:
        ratio += f", differs {row['differs']}"
    return [speeds, ratio, NONE if shares == f"{NONE} / {NONE}" else shares]


def _summary(devices: list[dict[str, Any]], family: str) -> list[str]:
    cells = []
    for device in devices:
        ratios = [row["ratio"] for row in device["families"].get(family, {}).values() if "ratio" in row]
        cells.append(f"{statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f})" if ratios else NONE)
    return cells


def cuda_page(general: str, table: Table, figures: Path = FIGURES) -> str:
    document: dict[str, Any] = json.loads(figures.read_text())
    names, devices = list(document), list(document.values())
    page = general + "\n"
    for name, device in document.items():
        page += f"- {name}, driver {device['driver']}: commit {device['commit'] or 'unknown'}, {device['machine']}."
        page += f" Left out: {', '.join(device['left out'])}.\n" if device["left out"] else "\n"
    families = list(dict.fromkeys(family for device in devices for family in device["families"]))
    rows = [[family, *_summary(devices, family)] for family in families]
    page += f"\nGeometric means, and the smallest ratio:\n\n{table(['family', *names], rows)}"
    columns = ["call", "unit"]
    for name in names:
        columns += [f"{name}, torch / ours", "ratio", "share"]
    for family in families:
        of = [device["families"].get(family, {}) for device in devices]
        units = {call: row["unit"] for calls in of for call, row in calls.items()}
        rows = [[call, units[call], *(cell for calls in of for cell in _cells(calls.get(call)))] for call in units]
        page += f"\n## {family[0].upper()}{family[1:]}\n\n{table(columns, rows)}"
    return page
