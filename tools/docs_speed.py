# SPDX-License-Identifier: MIT
"""The page of speed, for build_docs.py: docs/speed.md, from what `bench/run.py --results docs` measured.

docs/speed.in.md has a line `<!-- table: NAME -->` for each table, and `<!-- plot: NAME -->` for each plot.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docs_functions import CONTENDERS, figure, sizes, speeds
from docs_plots import ratio_plot

DOCS = Path(__file__).resolve().parent.parent / "docs"
NONE = "–"
ORDERS = ("ratio blocked", "ratio sequential")
RATIO = ("ratio",)
STEPS = ("output", "by input", "by weight")

Figures = Mapping[str, Any]
"""What one run measured, by name."""
Table = Callable[[list[str], list[list[str]]], str]
"""Lays out columns and rows."""


class Suite:
    """What each CPU target measured of a suite, the widest target first."""

    def __init__(self, document: Mapping[str, Mapping[str, Any]], name: str) -> None:
        targets = sorted(document, key=len, reverse=True)
        self.of = {target: document[target][name] for target in targets if name in document[target]}

    def sources(self) -> str:
        """A line for each target: where its figures are from."""
        lines = []
        for target, of in self.of.items():
            date = f" of {of['date']}" if "date" in of else ""
            lines.append(f"- {target}: commit {of['commit']}{date}, {of['machine']}.\n")
        return "".join(lines)

    def columns(self) -> dict[str, Figures]:
        """Figures by the title of a column: a target and a number of threads."""
        return {
            f"{target}, {n} thread{'s' if n != '1' else ''}": figures
            for target, of in self.of.items()
            for n, figures in of["threads"].items()
        }


def names_of(columns: Iterable[Figures]) -> list[str]:
    """Of all rows, those that most targets have first."""
    return list(dict.fromkeys(name for of in columns for name in of))


def cells(of: Figures | None, keys: Iterable[str]) -> str:
    return " / ".join(f"{of[key]:.2f}" for key in keys) if of else NONE


def means(of: Iterable[Figures], keys: Iterable[str], what: Callable[[list[float]], float]) -> str:
    """Of the rows that were measured; `keys` are the figures of a cell."""
    rows = list(of)
    return " / ".join(f"{what([row[key] for row in rows]):.2f}" for key in keys) if rows else NONE


def ratio_rows(columns: Mapping[str, Figures], keys: Iterable[str]) -> Iterator[list[str]]:
    """A row for each name, its cells for each column; and what all of a column come to."""
    for name in names_of(columns.values()):
        yield [name.replace(" x ", " × "), *(cells(of.get(name), keys) for of in columns.values())]
    yield ["*geometric mean*", *(means(of.values(), keys, statistics.geometric_mean) for of in columns.values())]
    yield ["*smallest*", *(means(of.values(), keys, min) for of in columns.values())]


def products(suite: Suite, table: Table) -> str:
    columns = suite.columns()
    return table(["m × n × k", *columns], list(ratio_rows(columns, ORDERS)))


def throughput(suite: Suite, table: Table) -> str:
    """GFLOP/s of the best peer and of order blocked."""
    columns = suite.columns()

    def cell(of: Figures | None) -> str:
        if of is None:
            return NONE
        peer = max(speed for who, speed in of.items() if who not in ("blocked", "sequential") and "ratio" not in who)
        return f"{peer:.0f} / {of['blocked']:.0f}"

    rows = [
        [name.replace(" x ", " × "), *(cell(of.get(name)) for of in columns.values())]
        for name in names_of(columns.values())
    ]
    return table(["m × n × k", *columns], rows)


def lenet(suite: Suite, table: Table) -> str:
    columns = suite.columns()
    rows = [
        [title, *(f"{of[who]:.1f} ms" for who in ("torch", "blocked", "sequential")), cells(of, ORDERS)]
        for title, of in columns.items()
    ]
    return table(["", "torch", "blocked", "sequential", "ratios"], rows)


def training_steps(suite: Suite, table: Table) -> str:
    columns = suite.columns()
    return table(["a step", *columns], list(ratio_rows(columns, RATIO)))


def convolutions(suite: Suite, table: Table) -> str:
    """A cell has the ratios of all numbers of threads."""
    runs = [(step, list(of["threads"].values())) for of in suite.of.values() for step in STEPS]
    titles = [f"{target}: {step}" if step == STEPS[0] else step for target in suite.of for step in STEPS]
    every = [run for _, of_target in runs for run in of_target]
    rows = []
    for kind in names_of(every):
        for layer in names_of(run.get(kind, {}) for run in every):
            of_layer = [[run.get(kind, {}).get(layer, {}).get(step) for run in of] for step, of in runs]
            rows.append([layer, *(" / ".join(cells(times, RATIO) for times in of) for of in of_layer)])
        of_kind = [[[layer[step] for layer in run.get(kind, {}).values()] for run in of] for step, of in runs]
        mean = (" / ".join(means(times, RATIO, statistics.geometric_mean) for times in of) for of in of_kind)
        rows.append([f"*geometric mean, {kind}*", *mean])
    return table(["layer", *titles], rows)


def sums(suite: Suite, table: Table) -> str:
    runs = {target: of["threads"]["1"] for target, of in suite.of.items()}
    sizes = {f"{target}, {size}": (run, size) for target, run in runs.items() for size in next(iter(run.values()))}
    rows = [
        [axis, *(f"{run[axis][size]['ratio']:.2f}" for run, size in sizes.values())] for axis in names_of(runs.values())
    ]
    return table(["sum", *sizes], rows)


def functions(table: Table) -> str:
    """Those that networks use most."""
    measured = speeds()
    columns = [(target, size) for target, of in measured.items() for size in sizes(of)]

    def figures(of: dict[str, float]) -> str:
        return f"{' / '.join(figure(of, who) for who in CONTENDERS[:-1])}, {figure(of, 'ratio')}"

    rows = [
        [name, *(figures(measured[target]["functions"][name][size]) for target, size in columns)]
        for name in next(iter(measured.values()))["mean of"]
    ]
    mean = (f"{measured[target]['summary']['geometric mean'][size]:.2f}" for target, size in columns)
    return table(["function", *(", ".join(column) for column in columns)], [*rows, ["*geometric mean*", *mean]])


Ratios = dict[str, dict[str, float]]
"""Of a plot, by the titles of column and row."""


def plain_ratios(suite: Suite, key: str) -> Ratios:
    return {
        title: {name.replace(" x ", " × "): row[key] for name, row in of.items()}
        for title, of in suite.columns().items()
    }


def convolution_ratios(suite: Suite) -> Ratios:
    """Geometric means of each kind of layers."""
    return {
        title: {
            f"{kind}: {step}": statistics.geometric_mean([layer[step]["ratio"] for layer in layers.values()])
            for kind, layers in of.items()
            for step in STEPS
        }
        for title, of in suite.columns().items()
    }


def function_ratios() -> Ratios:
    return {
        f"{target}, {size}": {name: of["functions"][name][size]["ratio"] for name in of["mean of"]}
        for target, of in speeds().items()
        for size in sizes(of)
    }


PLACE = re.compile(r"<!-- table: ([\w ]+) -->\n")
PLOT = re.compile(r"<!-- plot: ([\w ]+) -->\n")
LAYOUTS = {
    "products": ("mm", products),
    "throughput": ("mm", throughput),
    "lenet": ("lenet", lenet),
    "training steps": ("steps", training_steps),
    "convolutions": ("convolution", convolutions),
    "sums": ("sums", sums),
}
"""The suite of `bench/run.py`, and the layout, of each table but that of functions."""
PLOTS: dict[str, Callable[[Suite], Ratios]] = {
    "products": lambda suite: plain_ratios(suite, "ratio blocked"),
    "training steps": lambda suite: plain_ratios(suite, "ratio"),
    "convolutions": convolution_ratios,
}
"""Of the suites of these tables, what is drawn."""


def speed_pages(general: str, table: Table, folder: Path = DOCS) -> dict[str, str]:
    """The page and its plots, by their places below docs."""
    document = json.loads((folder / "speed.json").read_text())
    pages = {}

    def made(place: re.Match[str]) -> str:
        if place[1] == "functions":
            return functions(table)
        name, layout = LAYOUTS[place[1]]
        suite = Suite(document, name)
        return f"{layout(suite, table)}\n{suite.sources()}"

    def drawn(place: re.Match[str]) -> str:
        name = place[1]
        columns = function_ratios() if name == "functions" else PLOTS[name](Suite(document, LAYOUTS[name][0]))
        path = f"speed/{name.replace(' ', '-')}.svg"
        pages[path] = ratio_plot(columns)
        return f"![Ratios of {name}]({path})\n"

    pages["speed.md"] = PLOT.sub(drawn, PLACE.sub(made, general))
    return pages
