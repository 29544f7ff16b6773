# SPDX-License-Identifier: MIT
"""What experiments tell of a call, and what is kept of it if another machine tells it: a stranger's answer."""

from __future__ import annotations

from typing import Any

from repdl.experiments.variations import KINDS
from repdl.runs.columns import index

SETTINGS = "settings"
"""The kind of the ways with settings of B's that no other kind has."""

ROUNDING = "rounding"
"""The kind of the ways whose inputs have fewer bits."""

CHOICES = "choices"
"""The kind of the ways with another choice for torch's kernels, of algorithms or of as many bits."""

FEWER = "fewer bits"
"""The kind of the ways with a choice that allows fewer bits."""

RESULT = "result"
"""The kind of a way that makes nothing again: a small change of A's result, which is then B's."""

_MOST_WAYS = 1000
_MOST_DIMENSIONS = 64


def checked(told: Any, outputs: int) -> dict[str, Any]:
    """As `rerun` tells it, of a call with so many outputs.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: if it tells anything else.
    """
    if untried := printable(told["untried"]):
        return {"untried": untried}
    return {
        "untried": "",
        "without": _without(told.get("without", {})),
        "here": hashes(told["here"], outputs),
        "ways": [_way(way, outputs) for way in _list(told["ways"], _MOST_WAYS)],
    }


def printable(text: str) -> str:
    """Without what a terminal may obey."""
    return "".join(c if c.isprintable() else " " for c in text[:2000])


def _without(kinds: dict[str, str]) -> dict[str, str]:
    return {kind: printable(kinds[kind]) for kind in KINDS if kind in kinds}


def _way(way: Any, outputs: int) -> dict[str, Any]:
    kind, answer = way["kind"], way["answer"]
    if kind not in (*KINDS, SETTINGS, ROUNDING, CHOICES, FEWER, RESULT):
        raise ValueError("it has a way of no kind that this version of repdl knows")
    found, refused = answer["difference"], answer["refused"]
    kept = {
        "difference": None if found is None else _difference(found),
        "refused": None if refused is None else printable(refused) or "it was refused",
        "hashes": hashes(answer["hashes"], 0 if refused is not None else outputs),
    }
    return {"kind": kind, "name": printable(way["name"]), "answer": kept}


def _difference(found: Any) -> dict[str, Any]:
    ulps, first = found["ulps"], found["first"]
    if first is not None:
        result, at, *values = _list(first, 4)
        expected, got = map(printable, values)
        first = [index(result), [index(i) for i in _list(at, _MOST_DIMENSIONS)], expected, got]
    return {
        "elements": index(found["elements"]),
        "of": index(found["of"]),
        "ulps": None if ulps is None else index(ulps),
        "first": first,
    }


def hashes(values: Any, count: int) -> list[str | None]:
    if len(_list(values, count)) != count:
        raise ValueError("it has other hashes than of the results")
    return [None if item is None else bytes.fromhex(item).hex() for item in values]


def _list(values: Any, most: int) -> list[Any]:
    if not isinstance(values, list) or len(values) > most:
        raise ValueError(f"it has no list of at most {most} values")
    return values
