# SPDX-License-Identifier: MIT
"""Compares what two runs gave, on two machines perhaps."""

from __future__ import annotations

from dataclasses import dataclass, field

from repdl.conformance.report import Report

Digests = dict[str, list[str]]
"""The places that gave a digest, by digest."""


class IncomparableError(ValueError):
    """Two reports about different arithmetic."""


@dataclass(frozen=True)
class Difference:
    """A case of which not all places of both runs have the same bits."""

    op: str
    case: str
    left: Digests
    right: Digests


@dataclass
class Comparison:
    equal: int = 0
    """Number of cases with one digest at all places of both."""
    different: list[Difference] = field(default_factory=list)
    only_left: list[tuple[str, str]] = field(default_factory=list)
    """The (op, case) that have a digest in the first only."""
    only_right: list[tuple[str, str]] = field(default_factory=list)


def _digests(report: Report) -> dict[tuple[str, str], Digests]:
    """By op and case; cases without any digest are left out."""
    digests: dict[tuple[str, str], Digests] = {}
    for result in report.results:
        if result.digest is not None:
            by_digest = digests.setdefault((result.op, result.case), {})
            by_digest.setdefault(result.digest, []).append(result.place)
    return digests


def compare(left: Report, right: Report) -> Comparison:
    """Compares the digests of two runs case by case, whatever the golden files say.

    Raises IncomparableError if the runs had different arithmetic versions, whose bits may differ.
    """
    if left.arithmetic_version != right.arithmetic_version:
        raise IncomparableError(
            f"the arithmetic versions are {left.arithmetic_version} and {right.arithmetic_version}: "
            "their bits are not comparable"
        )
    a, b = _digests(left), _digests(right)
    result = Comparison(only_left=[key for key in a if key not in b], only_right=[key for key in b if key not in a])
    for key in a.keys() & b.keys():
        if len(a[key].keys() | b[key].keys()) == 1:
            result.equal += 1
        else:
            result.different.append(Difference(*key, a[key], b[key]))
    result.different.sort(key=lambda difference: (difference.op, difference.case))
    return result
