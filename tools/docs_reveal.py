# SPDX-License-Identifier: MIT
"""docs/reveal.md, for build_docs.py: made from docs/reveal.json, which update_reveal.py writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent.parent / "docs/reveal.json"
NONE = "–"
OWN_TARGETS = ("ATEN_CPU_CAPABILITY", "REPDL_TARGET")

Table = Callable[[list[str], list[list[str]]], str]
"""Lays out columns and rows."""


def _short(digest: str) -> str:
    return digest[:8]


def _setting(environment: dict[str, str]) -> str:
    return ", ".join(value if name in OWN_TARGETS else f"`{name}={value}`" for name, value in environment.items())


def _rows(name: str, whose: str, threads: list[int], settings: list[dict[str, Any]]) -> list[list[str]]:
    """The trees of each setting, a column for each number of threads; settings with the same trees share a row."""
    cells: dict[str, dict[int, str]] = {}
    for setting in settings:
        if setting["whose"] == whose and name in setting["cases"]:
            found = setting["cases"][name]
            cell = f"`{_short(found['digest'])}`" if "digest" in found else "no tree"
            cells.setdefault(_setting(setting["environment"]), {})[setting["threads"]] = cell
    rows: dict[tuple[str, ...], list[str]] = {}
    for setting, of in cells.items():
        rows.setdefault(tuple(of.get(n, NONE) for n in threads), []).append(setting)
    owner = "torch" if whose == "torch" else "RepDL"
    return [[f"{owner}: {', '.join(of)}", *row] for row, of in rows.items()]


def _case(name: str, settings: list[dict[str, Any]], table: Table) -> str:
    threads = sorted({setting["threads"] for setting in settings})
    read = [(s["whose"], s["cases"][name]) for s in settings if name in s["cases"]]
    what = next((of["what"] for whose, of in read if whose == "torch" and "what" in of), name)
    text = f"### {what}\n\n"
    rows = [*_rows(name, "torch", threads, settings), *_rows(name, "ours", threads, settings)]
    text += table(["", *(f"{n} thread{'s' * (n > 1)}" for n in threads)], rows)
    trees = {of["digest"]: of["summary"] for _, of in read if "digest" in of}
    text += "\n" + "".join(
        f"- [`{_short(digest)}`](reveal/{_short(digest)}.svg): {summary}\n" for digest, summary in trees.items()
    )
    for error in dict.fromkeys(of["error"] for _, of in read if "error" in of):
        text += f"- no tree: {error}\n"
    return text


def reveal_page(introduction: str, table: Table) -> str:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    settings = record["settings"]
    names = list(dict.fromkeys(name for setting in settings for name in setting["cases"]))
    readings = [found for setting in settings for found in setting["cases"].values()]
    trees = sum("digest" in found for found in readings)
    text = f"{introduction}\nRead on {record['machine']}, with torch {record['torch']}: "
    text += f"{trees} of {len(readings)} readings gave a tree{', the others say why' * (trees < len(readings))}.\n"
    return text + "".join(f"\n{_case(name, settings, table)}" for name in names)
