# SPDX-License-Identifier: MIT
"""Golden files from a reference in Python: the contract of an op a second time, slow and without code of the op.

A reference is a function of the arguments of a call, NumPy arrays and numbers. It returns arrays, in the order of the
results, and computes one number after the other: Python's own floats for float64, `np.float32` for float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from repdl import _core
from repdl._op import registry
from repdl.conformance import digests
from repdl.testing import Reference
from repdl.testing.calls import bits_of

Function = Callable[..., Sequence[np.ndarray[Any, Any]]]

HEADER = """\
# Golden results of {op}, from its reference. A line is `<digest>  <marks>  <case>`.
# digest: SHA-256 of the elements of all results, little-endian, every NaN as the quiet one (0x7fc00000).
# marks: of the same bytes, in blocks of ceil(elements / 64) elements, the CRC: 16 bits, polynomial 0x1021, start 0.
# Made by repdl.testing.python_reference.
"""


def sum_in_order(terms: Sequence[Any], order: str) -> Any:
    """Sum of docs/arithmetic.md, of numbers of one type whose + rounds once, and at least one of them."""
    zero = type(terms[0])(0)
    if order == "sequential":
        return _add_all(terms, zero)
    waiting: list[Any] = []
    for place, start in enumerate(range(0, len(terms), 4096)):
        value = _sum_of_chunk(terms[start : start + 4096], zero)
        while place % 2 == 1:  # as many chunks on the left as on the right
            value, place = waiting.pop() + value, place // 2
        waiting.append(value)
    value = waiting.pop()
    while waiting:
        value = waiting.pop() + value
    return value


def _add_all(terms: Sequence[Any], total: Any) -> Any:
    for term in terms:
        total = total + term
    return total


def _sum_of_chunk(terms: Sequence[Any], zero: Any) -> Any:
    lanes = [_add_all(terms[lane::64], zero) for lane in range(64)]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[j] + lanes[j + half] for j in range(half)]
    return lanes[0]


def _results(functions: Mapping[str, Function], case: str) -> list[digests.Bits]:
    name, arguments = _core.read_case(case)
    with np.errstate(all="ignore"):
        return [bits_of(np.asarray(result)) for result in functions[name](**arguments)]


def digests_by(functions: Mapping[str, Function]) -> Reference:
    """What the fixture `reference_digests` returns."""

    def digests_of(cases: Sequence[str]) -> list[str | None]:
        return [digests.digest(_results(functions, case)) for case in cases]

    return digests_of


def write_golden(functions: Mapping[str, Function]) -> None:
    """Writes the golden file of each op, from its samples, into the package that declares the op."""
    for name in functions:
        op, lines = registry[name], []
        for case in op.cases():
            results = _results(functions, case)
            lines.append(f"{digests.digest(results)}  {digests.marks(results)}  {case}\n")
        op.golden_file.parent.mkdir(exist_ok=True)
        op.golden_file.write_text(HEADER.format(op=name) + "".join(lines))
