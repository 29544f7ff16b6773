# SPDX-License-Identifier: MIT
"""What a run gave, and the JSON file that it is kept in."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

FORMAT = "repdl conformance 1"
STATUSES = ("passed", "failed", "no kernel")

T = TypeVar("T")


class ReportError(ValueError):
    """A file that is no report."""


@dataclass(frozen=True)
class Result:
    """A case of an op at a place, which is a CPU target or a CUDA device."""

    op: str
    case: str
    place: str
    status: str
    """One of STATUSES."""
    digest: str | None = None
    """Of the results; None if there are none."""
    detail: str = ""
    """Of a failure: where the results first differ, or the error."""


@dataclass
class Report:
    machine: dict[str, Any]
    arithmetic_version: int
    threads: int
    results: list[Result] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """By place, in the order in which they ran."""

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.status == "failed"]

    @property
    def passed(self) -> bool:
        """No case failed, and not all lacked a kernel."""
        return not self.failures and any(result.status == "passed" for result in self.results)

    def counts(self, place: str) -> Counter[str]:
        """How many cases of each status a place has."""
        return Counter(result.status for result in self.results if result.place == place)

    def ops(self, place: str, status: str | None = None) -> list[str]:
        """The ops with cases at a place, of one status if that is given."""
        return sorted({r.op for r in self.results if r.place == place and status in (None, r.status)})

    def save(self, path: Path) -> None:
        """Writes JSON: by op, by case, the different outcomes and the places that had each."""
        ops: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for r in self.results:
            outcomes = ops.setdefault(r.op, {}).setdefault(r.case, [])
            outcome = {"status": r.status, "digest": r.digest, "detail": r.detail}
            same = next((o for o in outcomes if {**o, "places": 0} == {**outcome, "places": 0}), None)
            if same is None:
                outcomes.append({**outcome, "places": [r.place]})
            else:
                same["places"].append(r.place)
        page = {
            "format": FORMAT,
            "arithmetic_version": self.arithmetic_version,
            "threads": self.threads,
            "machine": self.machine,
            "seconds": self.seconds,
            "ops": ops,
        }
        path.write_text(json.dumps(page, separators=(",", ":")) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Report:
        """Reads what `save` wrote; raises ReportError, naming the file, for anything else."""
        if path.exists() and not path.is_file():
            raise ReportError(f"{path} is no regular file; give one that `repdl conformance --json` wrote")
        try:
            page = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(page, dict) or page.get("format") != FORMAT:
                raise ReportError(f"it does not say that its format is '{FORMAT}'")
            report = Report(
                _get(page, "machine", dict), _get(page, "arithmetic_version", int), _get(page, "threads", int)
            )
            report.seconds = {place: float(seconds) for place, seconds in _get(page, "seconds", dict).items()}
            ops = _get(page, "ops", dict)
            for op in ops:
                cases = _get(ops, op, dict)
                for case in cases:
                    for outcome in _get(cases, case, list):
                        report.results += _results(op, case, outcome)
        except OSError as error:
            raise ReportError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ReportError(f"{path} is no report of `repdl conformance --json`: {error}") from error
        return report


def _get(where: dict[str, Any], name: str, kind: type[T]) -> T:
    value = where.get(name)
    if not isinstance(value, kind):
        raise ReportError(f"'{name}' is missing or is not of type {kind.__name__}")
    return value


def _results(op: str, case: str, outcome: dict[str, Any]) -> list[Result]:
    status, digest = _get(outcome, "status", str), outcome["digest"]
    if status not in STATUSES or not isinstance(digest, str | None):
        raise ReportError(f"'{case}' has the status {status!r} and the digest {digest!r}")
    detail = _get(outcome, "detail", str)
    return [Result(op, case, str(place), status, digest, detail) for place in _get(outcome, "places", list)]
