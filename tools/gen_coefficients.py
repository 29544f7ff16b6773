# SPDX-License-Identifier: MIT
"""Minimax polynomials for the lane files: Remez' exchange in 60 digits, coefficients rounded to double.

    python tools/gen_coefficients.py [NAME...]

Prints, for each function, the coefficients (lowest degree first) and the largest relative error of the
polynomial before its coefficients are rounded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 60
Function = Callable[[mpf], mpf]


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


def exp_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r^2, by its series near 0."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 30])


def atanh_tail(z: mpf) -> mpf:
    """(2 atanh(s) - 2 s) / s^3 with z = s^2, by its series."""
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 3), [0, 60])


HALF_LN2 = mp.log(2) / 2
S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)

PROBLEMS = {
    # exp(r) = 1 + (r + r^2 p(r)) for |r| <= ln(2) / 2; the error counts relative to exp(r).
    "exp": Problem(exp_tail, lambda r: r * r / mp.exp(r), -HALF_LN2, HALF_LN2, 9),
    # log(1 + f) = 2 s + s^3 p(s^2), s = f / (2 + f), 1 + f in [sqrt(1/2), sqrt(2)]; relative to s.
    "log": Problem(atanh_tail, lambda z: z, mpf(0), S_MAX**2, 7),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(PROBLEMS), metavar="NAME")
    for name in parser.parse_args().names:
        coefficients, largest = remez(PROBLEMS[name])
        print(f"{name}: largest error 2^{float(mp.log(largest, 2)):.1f}")
        for c in coefficients:
            print(f"  {float(c).hex()}  // {mp.nstr(c, 17)}")


if __name__ == "__main__":
    main()
