# SPDX-License-Identifier: MIT
"""Minimax polynomials by Remez' exchange, and polynomials that interpolate, in 60 digits."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 60
Function = Callable[[mpf], mpf]


def as_float(x: mpf) -> mpf:
    """x rounded to a float32."""
    (value,) = struct.unpack("<f", struct.pack("<f", float(x)))
    return mpf(value)


@dataclass(frozen=True)
class Problem:
    """Find p of this degree that minimises max |p(x) - f(x)| * weight(x) on [low, high]."""

    f: Function
    weight: Function
    low: mpf
    high: mpf
    degree: int


def remez(problem: Problem, rounds: int = 20) -> tuple[list[mpf], mpf]:
    n = problem.degree + 2
    middle, half = (problem.low + problem.high) / 2, (problem.high - problem.low) / 2
    # Off the middle, where a weight may be zero.
    points = [middle - half * mp.cos(mp.pi * (i + mpf(1) / 3) / n) for i in range(n)]

    def error(coefficients: list[mpf], x: mpf) -> mpf:
        return (mp.polyval(coefficients[::-1], x) - problem.f(x)) * problem.weight(x)

    grid = [middle - half * mp.cos(mp.pi * i / 2000) for i in range(2001)]
    for _ in range(rounds):
        weights = [problem.weight(x) for x in points]
        rows = [
            [x**j * w for j in range(n - 1)] + [mpf((-1) ** i)]
            for i, (x, w) in enumerate(zip(points, weights, strict=True))
        ]
        values = [problem.f(x) * w for x, w in zip(points, weights, strict=True)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix(values))
        coefficients = [solution[j] for j in range(n - 1)]
        errors = [error(coefficients, x) for x in grid]
        # The largest error between two changes of sign is the next point.
        extrema: list[int] = []
        for i, e in enumerate(errors):
            if extrema and (errors[extrema[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[extrema[-1]]):
                    extrema[-1] = i
            else:
                extrema.append(i)
        while len(extrema) > n:
            extrema.remove(min(extrema, key=lambda i: abs(errors[i])))
        largest = max(abs(e) for e in errors)
        if len(extrema) < n:
            break
        points = [grid[i] for i in extrema]
        if largest < abs(solution[n - 1]) * mpf("1.001"):
            break
    return coefficients, largest


def interpolated(f: Function, piece: tuple[mpf, mpf], terms: int) -> list[mpf]:
    """The polynomial in x - middle that is f at Chebyshev's points: hardly worse than the best, and soon found."""
    low, high = piece
    middle, half = (low + high) / 2, (high - low) / 2
    points = [half * mp.cos(mp.pi * (2 * k + 1) / (2 * terms)) for k in range(terms)]
    rows = mp.matrix([[x**j for j in range(terms)] for x in points])
    solution = mp.lu_solve(rows, mp.matrix([f(middle + x) for x in points]))
    return [solution[j] for j in range(terms)]
