# SPDX-License-Identifier: MIT
"""Cases derived from the samples of an op: other sizes, other numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping

SIZES = re.compile(r"([a-z]+)(\d*)((?:\.\w+)?)\[([\d, ]*)\]#(\d+)|(\w*shape)=\(([\d, ]*)\)")
"""A tensor: generator, number of classes, dtype, sizes, seed. Or an argument that is a shape."""


def sizes_of(case: str) -> list[int]:
    """The distinct sizes of the tensors of a case, ascending."""
    found = set()
    for _, _, _, sizes, _, _, shape in SIZES.findall(case):
        found |= {int(n) for n in (sizes or shape).split(",") if n.strip()}
    return sorted(found)


def numel(case: str) -> int:
    """Elements of the largest tensor."""
    largest = 1
    for _, _, _, sizes, _, _, _ in SIZES.findall(case):
        count = 1
        for n in sizes.split(","):
            count *= int(n) if n.strip() else 1
        largest = max(largest, count)
    return largest


def with_sizes(case: str, new: Mapping[int, int]) -> str:
    """The case with other sizes: equal ones, which must often be equal, stay so."""

    def rename(sizes: str) -> str:
        return ", ".join(str(new.get(int(n), int(n))) for n in sizes.split(",") if n.strip())

    def replace(found: re.Match[str]) -> str:
        kind, classes, dtype, sizes, seed, name, shape = found.groups()
        if name:
            numbers = rename(shape)
            return f"{name}=({numbers}{',' if numbers and ',' not in numbers else ''})"
        count = str(new.get(int(classes), int(classes))) if classes else ""
        return f"{kind}{count}{dtype}[{rename(sizes)}]#{seed}"

    return SIZES.sub(replace, case)


def with_generators(case: str, kinds: list[str], dtypes: list[str], seed: int) -> str:
    """The case with other numbers: tensor i from `kinds[i]`, of `dtypes[i]` (cyclic). Integers stay as they are."""
    number = iter(range(1000))

    def replace(found: re.Match[str]) -> str:
        kind, _, dtype, sizes, _, name, _ = found.groups()
        if name or kind in ("classes", "offsets"):
            return found.group()
        i = next(number)
        kind, dtype = kinds[i % len(kinds)] or kind, dtypes[i % len(dtypes)] if dtypes else dtype
        return f"{kind}{dtype}[{sizes}]#{seed + i}"

    return SIZES.sub(replace, case)
