# SPDX-License-Identifier: MIT
"""The pages of the elementwise functions, for build_docs.py: docs/functions.md, and docs/functions/<name>.md.

A page is made from the declaration in Python, the contract, docs/proofs.jsonl (`repdl prove --results`) and
docs/functions.json (`bench/run.py functions --results docs`).
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from repdl import ops
from repdl._op import registry

DOCS = Path(__file__).resolve().parent.parent / "docs"
FAMILIES = "repdl.ops.elementwise."
CONTENDERS = ("repdl", "Sleef", "torch", "ratio")
NONE = "–"

Contracts = Mapping[str, tuple[str, Path]]
Table = Callable[[list[str], list[list[str]]], str]
"""Lays out columns and rows."""


def functions() -> dict[str, Callable[..., Any]]:
    """What `repdl.ops` has of the elementwise families, by name."""
    named = {name: getattr(ops, name) for name in dir(ops)}
    return {
        name: value
        for name, value in named.items()
        if callable(value) and getattr(getattr(value, "function", value), "__module__", "").startswith(FAMILIES)
    }


def proofs() -> dict[str, list[dict[str, Any]]]:
    """The results of each function."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in functions()}
    for line in (DOCS / "proofs.jsonl").read_text().splitlines():
        result = json.loads(line)
        found.setdefault(result["function"], []).append(result)
    return found


def speeds() -> dict[str, dict[str, Any]]:
    """What was measured on each CPU target, the widest first."""
    path = DOCS / "functions.json"
    found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return {target: found[target] for target in sorted(found, key=len, reverse=True)}


def sizes(of: dict[str, Any]) -> list[str]:
    """Those that a target was measured with, as "16Ki", the small one first."""
    return sorted(of["summary"]["smallest"], key=lambda size: ("KiMi".index(size[-2:]), size))


def docstring(value: object) -> str:
    """In Markdown: what stands under `Args:` is a list."""
    text, _, arguments = (inspect.getdoc(value) or "").partition("\n\nArgs:\n")
    listed = re.sub(r"^    (\w+): ", r"- `\1`: ", arguments, flags=re.MULTILINE)
    return f"{text}\n\n{listed}".strip()


def definition(name: str, contracts: Contracts) -> str:
    """The contract, and those it refers to that are no op's."""
    text = contracts[name][0]
    others = [other for other in contracts if other not in registry and re.search(rf"\b{other}\b", text)]
    return "\n\n".join([text, *(f"*{other}*: {contracts[other][0]}" for other in others)])


def error(name: str, results: list[dict[str, Any]], table: Table) -> str:
    """What the results say, and a row of them for each dtype, with its targets."""
    if any(r["wrong"] for r in results):
        claim = "Wrong results were found."
    else:
        whose = "That of the derivative is at" if name.endswith("_grad") else "At"
        how = (
            "proven" if any(r["dtype"] == "float32" and r["tried"] == "all" for r in results) else "tested, not proven"
        )
        doubles = ", for float64 tested" if how == "proven" and any(r["dtype"] == "float64" for r in results) else ""
        claim = f"{whose} most half a unit in the last place: [{how}](../proofs.md){doubles}."
    rows: dict[tuple[str, ...], list[str]] = {}
    for r in sorted(results, key=lambda r: ["float32", "bfloat16", "float16", "float64"].index(r["dtype"])):
        inputs = f"{'all ' if r['tried'] == 'all' else ''}{r['inputs']:,}{' random' if r['tried'] == 'random' else ''}"
        rows.setdefault((r["dtype"], inputs, f"{r['wrong']:,}"), []).append(r["target"])
    columns = ["dtype", "inputs", "wrong results", "targets"]
    return f"{claim}\n\n{table(columns, [[*key, ', '.join(targets)] for key, targets in rows.items()])}"


def figure(speeds: dict[str, float], who: str) -> str:
    return format(speeds[who], ".2f" if who == "ratio" else "d") if who in speeds else NONE


def speed(name: str, table: Table) -> str:
    rows = [
        [target, size, *(figure(of[size], who) for who in CONTENDERS), of["operands"]]
        for target, measured in speeds().items()
        if (of := measured["functions"].get(name))
        for size in sizes(measured)
    ]
    return table(["CPU target", "elements", *CONTENDERS, "operands from"], rows) if rows else ""


def page(name: str, contracts: Contracts, table: Table) -> str:
    function = functions()[name]
    arguments = ", ".join(
        p.name if p.default is p.empty else f"{p.name}={json.dumps(p.default)}"
        for p in inspect.signature(function).parameters.values()
    )
    text = f"# {name}\n\n```python\nrepdl.ops.{name}({arguments})\n```\n\n{docstring(function)}\n"
    if name in contracts:
        text += f"\n## Definition\n\n{definition(name, contracts)}\n"
    if results := proofs()[name]:
        text += f"\n## Error\n\n{error(name, results, table)}"
    if rows := speed(name, table):
        text += f"\n## Speed\n\n{rows}"
    return f"{text}\n[All functions](../functions.md), and what the tables mean.\n"


def few_words(name: str, function: Callable[..., Any]) -> str:
    """The beginning of the docstring; that of the op where a function of the same name does more."""
    text = inspect.getdoc(registry[name].function if name in registry else function) or ""
    return re.split(r", (?:correctly )?rounded|\.(?:\s|$)|;", text)[0].replace("|", r"\|")


def proven_on(results: list[dict[str, Any]]) -> str:
    targets = [r["target"] for r in results if (r["dtype"], r["tried"], r["wrong"]) == ("float32", "all", 0)]
    return ", ".join(targets) or NONE


def index(introduction: str, table: Table) -> str:
    measured, results = speeds(), proofs()
    shown = [(target, size) for target, of in measured.items() for size in sizes(of)]

    def ratios(name: str) -> list[str]:
        return [figure(measured[target]["functions"].get(name, {}).get(size, {}), "ratio") for target, size in shown]

    rows = [
        [f"[{name}](functions/{name}.md)", few_words(name, function), proven_on(results[name]), *ratios(name)]
        for name, function in functions().items()
    ]
    for name in ("geometric mean", "smallest") if measured else ():
        rows.append([name, "", "", *(f"{measured[target]['summary'][name][size]:.2f}" for target, size in shown)])
    columns = ["function", "definition", "proven on", *(f"{target}, {size}" for target, size in shown)]
    text = f"{introduction}\n{table(columns, rows)}"
    for target, of in measured.items():
        text += f"\n{target}: ratios on {of['machine']}. The geometric mean is that of {', '.join(of['mean of'])}.\n"
    return text


def function_pages(contracts: Contracts, introduction: str, table: Table) -> dict[str, str]:
    """The pages, by their paths in docs/."""
    pages = {f"functions/{name}.md": page(name, contracts, table) for name in functions()}
    return pages | {"functions.md": index(introduction, table)}
