# SPDX-License-Identifier: MIT
"""Measures errors of torch's calls in torch's own kernels and under `repdl.enable()`, for docs/accuracy.md.

    python tools/measure_accuracy.py [--only WORDS] [--results docs/accuracy.json]

On one thread; the figures of stock torch depend on the machine. tools/accuracy has the calls and their references.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from accuracy import FAMILIES, Call, Draw, Errors, measure
from repdl._machine import commit, describe_machine

DTYPES = {"float32": torch.float32, "float64": torch.float64}
Measured = dict[str, dict[str, dict[str, Any]]]
"""By family, call and dtype: errors, root mean square and largest, of stock torch and ours; or what ours raises."""


def chosen(only: str) -> list[tuple[str, str, Call]]:
    """Family, dtype and call, of those whose family or name has the words."""
    return [
        (family, dtype, call)
        for family, entry in FAMILIES.items()
        for dtype, kind in DTYPES.items()
        for call in entry.calls(Draw(kind))
        if only in family or only in call.name
    ]


def _short(errors: Errors) -> list[float]:
    return [float(f"{value:.4g}") for value in errors]


def run(only: str, console: Console) -> Measured:
    measured: Measured = {}
    for family, dtype, call in track(chosen(only), "measuring", console=console, transient=True):
        found = measure(call, DTYPES[dtype], FAMILIES[family].each)
        if found is not None:
            stock, ours = found
            row = [*_short(stock), *([ours] if isinstance(ours, str) else _short(ours))]
            measured.setdefault(family, {}).setdefault(call.name, {})[dtype] = row
    return measured


def shown(measured: Measured) -> Table:
    """Errors of stock torch and ours, and the ratio of the roots of their mean squares."""
    table = Table("call", "stock", "largest", "ours", "largest", "ratio")
    for family, calls in measured.items():
        for name, dtypes in calls.items():
            for dtype, (stock, largest, *ours) in dtypes.items():
                cells = [str(value) for value in (stock, largest, *ours)]
                ratio = [f"{ours[0] / stock:.3f}"] if stock and len(ours) == 2 else []
                table.add_row(f"{family}: {name}, {dtype}", *cells, *ratio)
    return table


def describe() -> str:
    info = describe_machine()
    return (
        f"{info['CPU']}; repdl {info['version']} ({info['CPU target chosen']}), order {info['order']}; "
        f"torch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()})"
    )


def document(measured: Measured, machine: dict[str, str | None]) -> str:
    """JSON with a line for each call."""
    families = [
        f"  {json.dumps(family, ensure_ascii=False)}: {{\n"
        + ",\n".join(f"   {json.dumps(name, ensure_ascii=False)}: {json.dumps(row)}" for name, row in calls.items())
        + "\n  }"
        for family, calls in measured.items()
    ]
    return f'{{\n "machine": {json.dumps(machine)},\n "families": {{\n' + ",\n".join(families) + "\n }\n}\n"


def main(
    only: Annotated[str, typer.Option(help="Words of a family or of a call.")] = "",
    results: Annotated[Path | None, typer.Option(help="Write the figures to this file.")] = None,
) -> None:
    """Measure errors in stock torch and under repdl.enable()."""
    if np.finfo(np.longdouble).nmant < 63:
        raise typer.BadParameter("the long doubles of this machine are no longer than doubles")
    torch.set_num_threads(1)
    console = Console()
    measured = run(only, console)
    console.print(shown(measured))
    if results:
        results.write_text(document(measured, {"machine": describe(), "commit": commit()}))


if __name__ == "__main__":
    typer.run(main)
