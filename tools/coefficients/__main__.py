# SPDX-License-Identifier: MIT
"""The constants of the lane files: minimax polynomials and tables, rounded to
double from 60 digits.

    python tools/coefficients [NAME...] [--check]

Prints the coefficients of each polynomial (lowest degree first), with its largest error before they are rounded, and
the values of each table. A file of this folder holds a family: `PROBLEMS`, polynomials by name, and `TABLES`, functions
that give a list of numbers. --check fails if one of the constants stands in no lane file.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf
from remez import Problem, remez

HERE = Path(__file__).resolve().parent
LANE_FILES = HERE.parent.parent / "src/numerics"
HEX = re.compile(r"0x[0-9a-f](?:\.[0-9a-f]+)?p[+-]?\d+")


def families() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("__main__", "remez"))


def constants() -> dict[str, Problem | Callable[[], list[mpf]]]:
    """Every polynomial and table by name."""
    found: dict[str, Problem | Callable[[], list[mpf]]] = {}
    for family in families():
        module = importlib.import_module(family)
        for name, problem in getattr(module, "PROBLEMS", {}).items():
            found[name] = problem
        for name, table in getattr(module, "TABLES", {}).items():
            found[name] = table
    return found


def evaluate(problem: Problem | Callable[[], list[mpf]]) -> tuple[str, list[mpf]]:
    if not isinstance(problem, Problem):
        return "table", list(problem())
    coefficients, largest = remez(problem)
    return f"largest error 2^{float(mp.log(largest, 2)):.1f}", coefficients


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tools/coefficients", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="fail if a constant does not stand in a lane file")
    arguments = parser.parse_args()
    known = constants()
    if unknown := sorted(set(arguments.names) - set(known)):
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    text = "".join(path.read_text() for path in LANE_FILES.rglob("*.lane.h"))
    in_lane_files = {abs(float.fromhex(word)) for word in HEX.findall(text)}
    missing = []
    for name in arguments.names or sorted(known):
        about, numbers = evaluate(known[name])
        print(f"{name}: {about}")
        for number in numbers:
            value = float(number)
            found = abs(value) in in_lane_files or value in (0.0, 1.0)
            print(f"  {value.hex()}{'' if found or not arguments.check else '  # in no lane file'}")
            if not found:
                missing.append(name)
    if arguments.check and missing:
        sys.exit(f"not in src/numerics: constants of {', '.join(sorted(set(missing)))}")


if __name__ == "__main__":
    main()
