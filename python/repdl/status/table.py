# SPDX-License-Identifier: MIT
"""What was measured, and the file of JSON that it is kept in: a line for each op and dtype."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

from repdl.conformance.torch_sweep.outcome import Run

FORMAT = "repdl status 1"

STOCK, DETERMINISTIC, OURS = "torch", "deterministic", "repdl"
COLUMNS = (STOCK, DETERMINISTIC, OURS)

FORWARD, BACKWARD = "forward", "backward"
DIRECTIONS = (FORWARD, BACKWARD)

RUN, THREADS, BATCH, LAYOUT = "run to run", "threads", "batch", "layout"
INSTRUCTIONS, DEVICE = "instruction set", "CPU = GPU"
KINDS = (RUN, THREADS, BATCH, LAYOUT, INSTRUCTIONS, DEVICE)

DTYPES = ("float32", "bfloat16", "float64")

SAME, UNTRIED, NO_NUMBER = "=", "-", "x"
"""The words of a kind in a file, beside the number of ulps by which results differ."""


class FormatError(ValueError):
    """A file that holds no such table, or one of another torch."""


@dataclass
class Cell:
    """Of an op, dtype, direction and column.

    calls: how many were made. raises: how many of them the column refuses. kinds: of each that was tried, how far
    results were apart: None if they never were, ulps, or "x" where no number says it, as with NaN.
    seen: in which call, made in which way, by kind. refusal: the first error with which the column refuses a call.
    """

    calls: int = 0
    raises: int = 0
    kinds: dict[str, int | str | None] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    refusal: str = ""

    def note(self, kind: str, found: int | str | None, seen: str) -> None:
        if found is not None and _weight(found) > _weight(self.kinds.get(kind)):
            self.kinds[kind], self.seen[kind] = found, seen
        self.kinds.setdefault(kind, None)

    def varies(self, kind: str) -> bool:
        return self.kinds.get(kind) is not None

    def words(self) -> str:
        found = [UNTRIED if kind not in self.kinds else _word(self.kinds[kind]) for kind in KINDS]
        return " ".join([*found, f"{self.calls}"] + [f"raises {self.raises}"] * bool(self.raises))

    @staticmethod
    def read(text: str, seen: dict[str, str], refusal: str) -> Cell:
        words = text.split()
        kinds = {kind: _found(word) for kind, word in zip(KINDS, words[: len(KINDS)], strict=True) if word != UNTRIED}
        calls, *raises = words[len(KINDS) :]
        return Cell(int(calls), int(raises[1]) if raises else 0, kinds, seen, refusal)


def _word(found: int | str | None) -> str:
    return SAME if found is None else str(found)


def _found(word: str) -> int | str | None:
    return None if word == SAME else word if word == NO_NUMBER else int(word)


def _weight(found: int | str | None) -> float:
    return -1 if found is None else float("inf") if isinstance(found, str) else found


def worst(found: list[int | str | None]) -> int | str | None:
    return max(found, key=_weight)


@dataclass
class Row:
    """Of an op and dtype. cut: how many calls were left out because the time ran out. fates: what a process did with
    which call, "crashes: torch: 3 rows"."""

    run: Run
    cells: dict[str, dict[str, Cell]] = field(default_factory=dict)
    cut: int = 0
    fates: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[str, str, Cell]]:
        """Direction, column and cell."""
        for direction, by_column in self.cells.items():
            for column, cell in by_column.items():
                yield direction, column, cell

    def to_json(self, number: int) -> dict[str, Any]:
        told: dict[str, Any] = {"run": number}
        for direction, column, cell in self:
            told.setdefault(direction, {})[column] = cell.words()
            if cell.seen:
                told.setdefault("seen", {})[f"{direction} {column}"] = cell.seen
            if cell.refusal:
                told.setdefault("refusals", {})[f"{direction} {column}"] = cell.refusal
        return told | {name: value for name, value in (("cut", self.cut), ("fates", self.fates)) if value}

    @staticmethod
    def read(told: dict[str, Any], run: Run) -> Row:
        seen, refusals = told.get("seen", {}), told.get("refusals", {})
        cells = {
            direction: {
                column: Cell.read(words, seen.get(name := f"{direction} {column}", {}), refusals.get(name, ""))
                for column, words in told[direction].items()
            }
            for direction in DIRECTIONS
            if direction in told
        }
        return Row(run, cells, told.get("cut", 0), told.get("fates", []))


@dataclass
class Status:
    """of: by dtype, how many ops there are. rows: by op, by dtype. seconds: what it took, by the clock."""

    torch: str
    of: dict[str, int]
    seconds: float = 0.0
    rows: dict[str, dict[str, Row]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, str, Row]]:
        """Op, dtype and row."""
        for op, by_dtype in self.rows.items():
            for dtype, row in by_dtype.items():
                yield op, dtype, row

    @property
    def runs(self) -> dict[Run, int]:
        """Of each run, how many ops and dtypes; the largest first."""
        return dict(Counter(row.run for _, _, row in self).most_common())

    @property
    def left(self) -> dict[str, int]:
        """By dtype, how many ops were not measured."""
        done = Counter(dtype for _, dtype, _ in self)
        return {dtype: count - done[dtype] for dtype, count in self.of.items() if count > done[dtype]}

    @property
    def ours_vary(self) -> list[str]:
        """Where this library does not keep what it promises."""
        return [
            f"{op} of {dtype}, {direction}: {kind}: {cell.seen[kind]}, {cell.kinds[kind]} ulp"
            for op, dtype, row in self
            for direction, column, cell in row
            for kind in KINDS
            if column == OURS and cell.varies(kind)
        ]

    def save(self, path: Path) -> None:
        """In one step, so that a run that is killed leaves what it had."""
        numbers = {run: number for number, run in enumerate(sorted(self.runs, key=astuple))}
        head = {"format": FORMAT, "torch": self.torch, "of": self.of, "seconds": round(self.seconds)}
        head["kinds"] = list(KINDS)
        head["runs"] = [asdict(run) for run in numbers]
        ops = [
            f"{json.dumps(op)}: {{\n"
            + ",\n".join(
                f"  {json.dumps(dtype)}: {json.dumps(row.to_json(numbers[row.run]))}" for dtype, row in of.items()
            )
            + "}"
            for op, of in sorted(self.rows.items())
        ]
        text = json.dumps(head)[:-1] + ',\n"ops": {\n' + ",\n".join(ops) + "}}\n"
        new = path.with_name(path.name + ".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)

    @staticmethod
    def load(path: Path) -> Status:
        """Reads what `save` wrote; raises FormatError, naming the file, for anything else."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if told["format"] != FORMAT:
                raise FormatError(f"{path} is of the format {told['format']!r}, not {FORMAT!r}")
            runs = [Run(**run | {"settings": tuple(run["settings"])}) for run in told["runs"]]
            rows = {
                op: {dtype: Row.read(row, runs[row["run"]]) for dtype, row in of.items()}
                for op, of in told["ops"].items()
            }
            return Status(told["torch"], told["of"], told["seconds"], rows)
        except OSError as error:
            raise FormatError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{path} holds no table of `repdl status --json`: {error}") from error
