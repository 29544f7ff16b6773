# SPDX-License-Identifier: MIT
"""The sums of docs/arithmetic.md, "Orders", of float32 numbers; and norms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from . import functions
from .numbers import add, float32, fma, mul, sqrt


def tree(values: Iterable[float]) -> float:
    """The values of chunks meet in an aligned binary tree."""
    waiting: list[float] = []
    for place, chunk in enumerate(values):
        value, i = chunk, place
        while i % 2 == 1:
            value, i = add(waiting.pop(), value), i // 2
        waiting.append(value)
    if not waiting:
        return 0.0
    result = waiting.pop()
    while waiting:
        result = add(waiting.pop(), result)
    return result


def in_order(terms: Iterable[float], first: float = 0.0) -> float:
    total = first
    for term in terms:
        total = add(total, term)
    return total


def _chunk_of_lanes(terms: Sequence[float]) -> float:
    lanes = [0.0] * 64
    for i, term in enumerate(terms):
        lanes[i % 64] = add(lanes[i % 64], term)
    half = 32
    while half:
        lanes = [add(lanes[j], lanes[j + half]) for j in range(half)]
        half //= 2
    return lanes[0]


def sum_of(terms: Sequence[float], order: str = "blocked") -> float:
    if order == "sequential":
        return in_order(terms)
    return tree(_chunk_of_lanes(terms[i : i + 4096]) for i in range(0, len(terms), 4096))


def _chain(a: Sequence[float], b: Sequence[float]) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = fma(x, y, total)
    return total


def product_of_present(terms: Sequence[tuple[float, float] | None], order: str = "blocked") -> float:
    """The Product of pairs, some of which are absent."""

    def chain(part: Sequence[tuple[float, float] | None]) -> float:
        present = [pair for pair in part if pair is not None]
        return _chain([x for x, _ in present], [y for _, y in present])

    if order == "sequential":
        return chain(terms)
    return tree(chain(terms[i : i + 256]) for i in range(0, len(terms), 256))


def product_of(a: Sequence[float], b: Sequence[float], order: str = "blocked") -> float:
    """The Product of two rows, all of whose terms are present."""
    if order == "sequential":
        return _chain(a, b)
    return tree(_chain(a[i : i + 256], b[i : i + 256]) for i in range(0, len(a), 256))


def norm_of(values: Sequence[float], p: float = 2, order: str = "blocked") -> float:
    """The p-norm, of sums of powers that are correctly rounded; p and 1 / p are rounded to float32."""
    sizes = [abs(x) for x in values]
    if p == 2:
        return sqrt(sum_of([mul(x, x) for x in values], order))
    if p == 1:
        return sum_of(sizes, order)
    if p == 0:
        return sum_of([float(x != 0) for x in values], order)
    if math.isinf(p):
        return math.nan if any(x != x for x in sizes) else (max if p > 0 else min)(sizes)
    return functions.pow(sum_of([functions.pow(x, float32(p)) for x in sizes], order), float32(1 / p))
