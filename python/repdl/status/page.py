# SPDX-License-Identifier: MIT
"""The page of a torch in docs/status: what was measured, as tables."""

from __future__ import annotations

from repdl.status.table import (
    BACKWARD,
    COLUMNS,
    DETERMINISTIC,
    DEVICE,
    DIRECTIONS,
    KINDS,
    OURS,
    STOCK,
    Cell,
    Status,
    worst,
)

HOLDS, RAISES, UNTRIED = "✓", "raises", "–"
NAMES = {STOCK: "torch", DETERMINISTIC: "`use_deterministic_algorithms`", OURS: "`repdl.enable()`"}

INTRODUCTION = """\
# In what the ops of torch {torch} keep their bits

Every op of which torch's own tests have samples (op_db), forward and backward, made again:

| | |
|---|---|
| run to run | with one thread and with seven, with other numbers in freed memory; in another process |
| threads | with 2, 3 and 7 threads instead of one |
| batch | a row alone, where the rows of a batch have nothing to do with each other |
| layout | transposed, with reversed axes, every second element of a larger tensor, misaligned, channels last |
| instruction set | in a process with the plainest `ATEN_CPU_CAPABILITY`, and MKL and oneDNN held back |
| CPU = GPU | {gpu} |

each by torch as it is, by torch with `torch.use_deterministic_algorithms(True)`, and by this library, `repdl.enable()`.
Calls are torch's samples as they are; with all sizes multiplied, up to 100,000 elements; with so many rows; and with
larger sizes by name. Random ops begin with the same seed each time. ✓ says that the bits were the same in all calls
that were tried, which is no proof. A number says that they were not, and by how many ulps at most, in the worst call.
"""

MARKS = """\
A cell has the marks of torch, of its deterministic algorithms, and of `repdl.enable()`; one stands for all three if
they are the same. Ulps are the most of all dtypes; x says that no number does, as where a NaN stands against a
number. –: not tried. raises: in all calls.
"""


def page(result: Status, json: str = "FILE.json", page: str = "FILE.md") -> str:
    """The text of the page, in Markdown; json and page are the files that the command on it names."""
    gpu = "on a GPU" if _tried(result, DEVICE) else "not measured: this machine has no GPU"
    parts = [
        INTRODUCTION.format(torch=result.torch, gpu=gpu),
        _measured(result),
        f"```sh\nrepdl status --json {json} --page {page}\n```\n",
        "## Summary\n",
        "How many ops vary, in any dtype or direction, of those that were tried in this way:\n",
        _table(*summary(result)),
        _findings(result),
        _refused(result),
        "## Left out\n",
        _left_out(result),
        "## Ops\n",
        MARKS,
        _table(*ops(result)),
    ]
    return "\n".join(part for part in parts if part)


def _measured(result: Status) -> str:
    runs = [
        [f"{count:,}", run.commit, run.date, run.CPU, ", ".join(run.settings)] for run, count in result.runs.items()
    ]
    calls = sum(cell.calls for _, _, row in result for _, _, cell in row)
    minutes = f"{result.seconds / 60:.0f} minutes"
    head = f"Measured with torch {result.torch}, {calls:,} calls in {minutes}:\n\n"
    return head + _table(["ops and dtypes", "commit", "date", "CPU", "other processes"], *runs)


def _tried(result: Status, kind: str) -> bool:
    return any(kind in cell.kinds for _, _, row in result for _, _, cell in row)


def _cells(result: Status, op: str, column: str, direction: str | None = None) -> list[Cell]:
    return [cell for row in result.rows[op].values() for d, c, cell in row if c == column and direction in (None, d)]


def summary(result: Status) -> list[list[str]]:
    """Of each kind, and of all: how many ops vary in each column; first the names of the columns."""
    rows = [["", *NAMES.values()]]
    for kind in KINDS:
        cells = []
        for column in COLUMNS:
            of = [op for op in result.rows if any(kind in cell.kinds for cell in _cells(result, op, column))]
            vary = [op for op in of if any(cell.varies(kind) for cell in _cells(result, op, column))]
            cells.append(f"{len(vary)} of {len(of)}" if of else "not measured")
        rows.append([kind, *cells])
    any_kind, raising, some = ["in any"], ["raise in all calls"], ["raise in some"]
    for column in COLUMNS:
        of = [op for op in result.rows if _cells(result, op, column)]
        vary = [op for op in of if any(c.varies(kind) for c in _cells(result, op, column) for kind in KINDS)]
        any_kind.append(f"**{len(vary)} of {len(of)}**")
        shares = [[c.raises / c.calls for c in _cells(result, op, column)] for op in of]
        raising.append(f"{sum(all(share == 1 for share in shares_of) for shares_of in shares)}")
        some.append(f"{sum(any(shares_of) and not all(share == 1 for share in shares_of) for shares_of in shares)}")
    return [*rows, any_kind, raising, some]


def _findings(result: Status) -> str:
    """What this library does not keep."""
    found = result.ours_vary
    if not found:
        return "Under `repdl.enable()` no bit differed.\n"
    return "**Under `repdl.enable()` bits differed**, which is an error of this library:\n\n" + "".join(
        f"- {line}\n" for line in found
    )


def _refused(result: Status) -> str:
    """What each column refuses, in some calls or all."""
    told = []
    for column, name in NAMES.items():
        refused = [op for op in sorted(result.rows) if any(cell.raises for cell in _cells(result, op, column))]
        told += [f"{name} raises, in some calls or all, of: {', '.join(refused)}.\n"] if refused else []
    return "\n".join(told)


def _left_out(result: Status) -> str:
    told = []
    if result.left:
        named = ", ".join(f"{count} of {result.of[dtype]} ops of {dtype}" for dtype, count in result.left.items())
        told.append(f"Not measured: {named}.\n")
    without = sorted({op for op, _, row in result if not row.cells})
    if without:
        told.append(f"Of these torch takes no sample that was tried: {', '.join(without)}.\n")
    cut = sum(row.cut for _, _, row in result)
    if cut:
        told.append(f"{cut:,} calls were left out because they take long, or those before them did.\n")
    for op, dtype, row in result:
        told += [f"{op} of {dtype}, {fate}.\n" for fate in row.fates]
    return "\n".join(told) or "Nothing.\n"


def ops(result: Status) -> list[list[str]]:
    """A row for each op and direction, with the marks of all columns; first the names."""
    rows = [["op", *KINDS]]
    for op in sorted(result.rows):
        for direction in DIRECTIONS:
            cells = {column: _cells(result, op, column, direction) for column in COLUMNS}
            if any(cells.values()):
                name = op if direction != BACKWARD else f"{op}, backward"
                rows.append([name, *(_marks([_mark(cells[c], kind) for c in COLUMNS]) for kind in KINDS)])
    return rows


def _mark(cells: list[Cell], kind: str) -> str:
    if cells and all(cell.raises == cell.calls for cell in cells):
        return RAISES
    found = [cell.kinds[kind] for cell in cells if kind in cell.kinds]
    if not found:
        return UNTRIED
    most = worst(found)
    return HOLDS if most is None else str(most) if isinstance(most, str) or most < 1e6 else f"{most:.0e}"


def _marks(marks: list[str]) -> str:
    return marks[0] if len(set(marks)) == 1 else " / ".join(marks)


def _table(columns: list[str], *rows: list[str]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [columns, ["---"] * len(columns), *rows])
