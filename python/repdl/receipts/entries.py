# SPDX-License-Identifier: MIT
"""What the entries of a receipt say, and in which order they stand.

First those of the process that the program was started in, then those of the processes that it started itself, by the
number of the step that they are of or before: batches that no step has, then checkpoints, then the step, each by
process. How far each process came follows, and the end is last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

FORMAT = "repdl receipt 2"

PROGRAM, STEP, CHECKPOINT, READ, PROCESS, END = "program", "step", "checkpoint", "read", "process", "end"
KINDS = (PROGRAM, STEP, CHECKPOINT, READ, PROCESS, END)

Entry = tuple[str, dict[str, Any]]
"""Its kind, and what it says."""

_HASH_SEED = re.compile("random|[0-9]{1,10}")
_DIGEST = re.compile("[0-9a-f]{64}")
_GENERATOR = re.compile("Python|NumPy|torch|[a-z]{1,20}:[0-9]{1,5}")
_PROCESS = re.compile(r"(rank|process) [0-9]{1,9}(:[0-9]{1,9}){0,9}( \([0-9]{1,9}\))?")


class ReceiptError(ValueError):
    """A file that is no whole receipt, or a receipt that cannot be verified here."""


def process_order(name: str) -> tuple[str, list[int]]:
    """Of the names of processes: "rank 2" comes before "rank 10"."""
    return name.partition(" ")[0], [int(number) for number in re.findall("[0-9]+", name)]


def part_order(entry: Entry) -> tuple[int, int, tuple[str, list[int]]]:
    """Of the steps of processes, and of what comes before them."""
    kind, content = entry
    number = content["number" if kind == STEP else "before"]
    return number, (READ, CHECKPOINT, STEP).index(kind), process_order(content["process"])


class Order:
    """Of the entries of a receipt, each of which is checked when it comes. steps: of the process that came first."""

    def __init__(self) -> None:
        self.steps = 0
        self._has_begun = False
        self._last: Any = None  # a step of another process
        self._of_processes: dict[str, int] = {}
        self._ended: list[str] = []

    def check(self, kind: str, content: Any, where: str) -> None:
        """Raises ReceiptError unless it is as a writer writes it, and in its place."""
        _check_fields(kind, content, where)
        if not self._fits(kind, content) or (kind == PROGRAM) is self._has_begun:
            raise ReceiptError(f"{where} is out of order")
        self._has_begun = True

    def _fits(self, kind: str, content: dict[str, Any]) -> bool:
        if kind != PROCESS and "process" in content:
            before, self._last = self._last, part_order((kind, content))
            number = self._of_processes.setdefault(content["process"], 0)
            self._of_processes[content["process"]] += kind == STEP
            is_next = before is None or before < self._last or (kind != STEP and before == self._last)
            return self._last[0] == number and is_next and not self._ended
        if kind == PROCESS:
            self._ended.append(content["process"])
            is_in_order = self._ended == sorted(set(self._ended), key=process_order)
            return is_in_order and self._of_processes.get(content["process"]) == content["steps"]
        if kind == END:
            return content["steps"] == self.steps and len(self._ended) == len(self._of_processes)
        number = {STEP: content.get("number", 0), CHECKPOINT: content.get("before", 0)}.get(kind, self.steps)
        is_next = number == self.steps and not self._of_processes
        self.steps += kind == STEP
        return is_next


def _check_fields(kind: str, content: Any, where: str) -> None:
    fields = _FIELDS[kind]
    more = _OPTIONAL.get(kind, {}).keys() if isinstance(content, dict) and "process" in content else set()
    if not isinstance(content, dict) or content.keys() != fields.keys() | more:
        raise ReceiptError(f"{where} has other fields than a {kind} has")
    for name, value in content.items():
        if not (fields.get(name) or _OPTIONAL[kind][name])(value):
            raise ReceiptError(f"{where} has no right {name}")


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def is_text(value: Any) -> bool:
    """One that a file or an argument of a program may have."""
    try:
        return isinstance(value, str) and "\0" not in value and os.fsencode(value) is not None
    except UnicodeEncodeError:
        return False


def shown(value: object) -> str:
    """A text of a receipt without anything that a terminal would act on."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def _are_digests(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_digest, value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def _is_process(value: Any) -> bool:
    return isinstance(value, str) and _PROCESS.fullmatch(value) is not None


def _are_named(is_name: Callable[[str], object]) -> Callable[[Any], bool]:
    """Digests by name."""
    return lambda value: isinstance(value, dict) and all(is_name(name) and _is_digest(value[name]) for name in value)


def _is_below(value: str) -> bool:
    path = PurePosixPath(value)
    return is_text(value) and not path.is_absolute() and ".." not in path.parts


_FIELDS: dict[str, dict[str, Callable[[Any], object]]] = {
    PROGRAM: {
        "format": is_text,
        "script": is_text,
        "is_module": _is_bool,
        "arguments": _are_texts,
        "sha256": lambda value: value is None or _is_digest(value),
        "arithmetic": _is_number,
        "order": is_text,
        "rng": is_text,
        "strict": is_text,
        "hash_seed": lambda value: value is None or (is_text(value) and _HASH_SEED.fullmatch(value)),
        "checkpoint_every": _is_number,
    },
    STEP: {
        "number": _is_number,
        "batches": _are_digests,
        **dict.fromkeys(("parameters", "buffers", "optimizer"), _is_digest),
        "generators": _are_named(_GENERATOR.fullmatch),
    },
    CHECKPOINT: {
        "before": _is_number,
        "iterations": _is_number,
        "states": _are_named(str.isidentifier),
        "generators": _are_named(_GENERATOR.fullmatch),
    },
    READ: {"batches": _are_digests},
    PROCESS: {"process": _is_process, "batches": _are_digests, "steps": _is_number, "ended": _is_bool},
    END: {
        "batches": _are_digests,
        "status": lambda value: type(value) is int,
        "steps": _is_number,
        "sources": _are_named(_is_below),
    },
}
_OPTIONAL: dict[str, dict[str, Callable[[Any], object]]] = {
    STEP: {"process": _is_process},
    CHECKPOINT: {"process": _is_process},
    READ: {"process": _is_process, "before": _is_number},
}
"""Of the processes that the program started."""
