# SPDX-License-Identifier: MIT
"""The page docs/calls.md, for build_docs.py, from what `bench/run.py calls --results docs` measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
NONE = "–"

Table = Callable[[list[str], list[list[str]]], str]
"""Lays out columns and rows."""


def _ratios(steps: dict[str, Any]) -> str:
    return " / ".join("raises" if "raises" in of else f"{of['ratio']:.2g}" for of in steps.values()) or NONE


def calls_page(general: str, table: Table) -> str:
    document: dict[str, Any] = json.loads((DOCS / "calls.json").read_text())
    targets = sorted(document, key=len, reverse=True)  # the widest first
    page = general + "\n"
    for target in targets:
        page += f"- {target}: commit {document[target]['commit']}, {document[target]['machine']}.\n"
    columns = {
        f"{target}, {n} threads": document[target]["threads"][n]
        for target in targets
        for n in document[target]["threads"]
    }
    names = [name.replace(" 1 threads", " 1 thread") for name in columns]
    measured = list(columns.values())

    def families(what: str) -> list[str]:
        return list(dict.fromkeys(family for of in measured for family in of[what]))

    rows = [
        [
            family,
            *(
                f"{s['geometric mean']} ({s['smallest']:.2g})" if (s := of["summary"].get(family)) else NONE
                for of in measured
            ),
        ]
        for family in families("summary")
    ]
    page += f"\nGeometric means, and the smallest ratio:\n\n{table(['family', *names], rows)}"
    for family in families("calls"):
        of_family = [of["calls"].get(family, {}) for of in measured]
        calls = dict.fromkeys(name for of in of_family for name in of)
        rows = [[name, *(_ratios(of.get(name, {})) for of in of_family)] for name in calls]
        page += f"\n## {family[0].upper()}{family[1:]}\n\n{table(['call', *names], rows)}"
    return page
