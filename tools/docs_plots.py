# SPDX-License-Identifier: MIT
"""Plots of ratios, for build_docs.py: the same bytes from the same figures."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from itertools import cycle

import matplotlib as mpl

mpl.use("svg")
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

SETTINGS = {"svg.hashsalt": "repdl", "svg.fonttype": "none", "font.size": 9}
MARKERS = ("o", "s", "^", "D", "v", "P")
TICKS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)


def ratio_plot(columns: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG with a line for each row and a marker for each column, of ratios by the titles of column and row."""
    rows = list(dict.fromkeys(row for of in columns.values() for row in of))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(8, 1.1 + 0.24 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.axvline(0.8, color="gray", linewidth=0.8, linestyle="--")
        for marker, (title, of) in zip(cycle(MARKERS), columns.items(), strict=False):
            places = [rows.index(row) for row in of]
            axes.plot(list(of.values()), places, marker, label=title, markersize=4.5, fillstyle="none")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(TICKS))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="y", color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("the best peer's time divided by ours: right of 1 this library is faster")
        figure.legend(loc="outside upper center", ncols=len(columns), frameon=False, handletextpad=0.2)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    # Trailing spaces are none of ours, and would be none of an editor's.
    return "".join(f"{line.rstrip()}\n" for line in _of_any_cpu(text.getvalue()).splitlines())


def _of_any_cpu(svg: str) -> str:
    """Leaves out last bits, which are not the same on all CPUs: of places, and of them in the hashes that are names."""
    svg = re.sub(r"\d+\.\d{4,}", lambda place: f"{float(place[0]):.2f}", svg)
    for number, name in enumerate(dict.fromkeys(re.findall(r'\bid="([mp][0-9a-f]{10})"', svg))):
        svg = svg.replace(name, f"{name[0]}{number}")
    return svg
