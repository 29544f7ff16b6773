# SPDX-License-Identifier: MIT
"""The page docs/torch-ops.md, and that of another torch: what a sweep found, as tables."""

from __future__ import annotations

from collections.abc import Iterable

from repdl.conformance.torch_sweep.database import DTYPES
from repdl.conformance.torch_sweep.outcome import Outcome, Sweep

_INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
COLUMNS = {dtype: (dtype,) for dtype in DTYPES if dtype not in _INTEGERS} | {"integers": _INTEGERS}
"""A column of the table, and the dtypes that it stands for."""

INTRODUCTION = """\
# Ops of torch

What `repdl.enable()` does with each op and module of which torch has samples (op_db and module_db of
`torch.testing`), by dtype:

| | |
|---|---|
| ours | computed by kernels of repdl, or in steps of torch that round once each |
| exact | torch's own kernels, which give the same bits everywhere |
| raises | NotReproducibleError |
| … some | some calls raise: the gradient, or some arguments |
| – | torch has none either |

`repdl.audit` tells the same of a program, by overload.
"""


def page(result: Sweep, name: str = "torch-ops") -> str:
    """The text of the page, in Markdown; `name` is that of its file, without ".md"."""
    return "\n".join(
        [
            INTRODUCTION,
            f"Measured with torch {result.torch}: {result.trials:,} calls, forward, backward, in place and into `out`,",
            "each in several layouts and with several threads, in these settings:\n",
            _table(["ops and dtypes", "commit", "date", "CPU", "settings"], _runs(result)),
            f"{len(result.findings)} findings.\n" if result.findings else "No bit differed.\n",
            f"```sh\nrepdl conformance --torch --record docs/{name}.jsonl --page docs/{name}.md\n```\n",
            *_left_out(result),
            *_findings(result),
            "## Table\n",
            _table(["op", *COLUMNS], [[op, *_cells(by_dtype)] for op, by_dtype in result.outcomes.items()]),
        ]
    )


def _runs(result: Sweep) -> list[list[str]]:
    return [
        [f"{count:,}", run.commit, run.date, run.CPU, ", ".join(run.settings)] for run, count in result.runs.items()
    ]


def _left_out(result: Sweep) -> list[str]:
    """What the sweep does not try, for want of time or because torch itself does not stand it."""
    told = [
        "In place, into `out`, in other layouts and against float64 they are tried in the first setting alone; between",
        "the first and the last there are fewer samples. Each sample takes two layouts and one row alone, in turn.\n",
    ]
    if result.left:
        named = ", ".join(f"{count} of {dtype}" for dtype, count in result.left.items())
        told.append(f"This is a part of the sweep. So many ops are missing: {named}.\n")
    cut = {(op, dtype): outcome.cut for op, dtype, outcome in result.pairs() if outcome.cut}
    if cut:
        told.append(f"Of these the time ran out, and {sum(cut.values())} calls were left out: {_named(sorted(cut))}.\n")
    if untried := _named((op, dtype) for op, dtype, outcome in result.pairs() if not outcome.trials):
        told.append(f"Of these torch has no sample that it takes on a CPU: {untried}.\n")
    for op, dtype, outcome in result.pairs():
        if outcome.stock:
            told.append(f"{outcome.left_out(op, dtype)}.\n")
    return told


def _named(pairs: Iterable[tuple[str, str]]) -> str:
    by_op: dict[str, list[str]] = {}
    for op, dtype in pairs:
        by_op.setdefault(op, []).append(dtype)
    return "; ".join(f"{op} of {', '.join(dtypes)}" for op, dtypes in by_op.items())


def _cells(by_dtype: dict[str, Outcome]) -> list[str]:
    return [_merged([by_dtype[dtype].word for dtype in dtypes if dtype in by_dtype]) for dtypes in COLUMNS.values()]


def _merged(words: list[str]) -> str:
    """One word for several dtypes."""
    kinds = list(dict.fromkeys(words))
    return kinds[0] if len(kinds) == 1 else " / ".join(kinds) if kinds else "–"


def _findings(result: Sweep) -> list[str]:
    if not result.findings:
        return []
    by_key: dict[tuple[str, str, str, str], list[str]] = {}
    for f in result.findings:
        by_key.setdefault((f.op, f.kind, f.form, _cut(f.detail)), []).append(f.dtype)
    rows = [
        [op, ", ".join(dict.fromkeys(dtypes)), kind, form, detail]
        for (op, kind, form, detail), dtypes in by_key.items()
    ]
    return ["## Findings\n", _table(["op", "dtypes", "what", "form", "where"], sorted(rows))]


def _cut(text: str) -> str:
    text = text.replace("|", "\\|")
    return text if len(text) < 160 else text[:159] + "…"


def _table(columns: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [columns, ["---"] * len(columns), *rows])
