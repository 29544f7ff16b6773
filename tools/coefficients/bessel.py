# SPDX-License-Identifier: MIT
"""Of the modified Bessel functions of the first kind, of doubles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from mpmath import mp, mpf
from remez import Problem, remez

PIECES = ((mpf(1) / 16, mpf(1) / 8), (mpf(0), mpf(1) / 16))
"""Of 1 / x."""


@cache
def _far(order: int, u: mpf) -> mpf:
    """sqrt(2 pi x) exp(-x) I(x) for u = 1 / x; for small u by its asymptotic series."""
    if u > mpf(1) / 200:
        x = 1 / u
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(2 * mp.pi * x)
    total = term = mpf(1)
    for k in range(1, 80):
        term *= -(4 * order * order - (2 * k - 1) ** 2) * u / (8 * k)
        total += term
    return total


def _problem(order: int, piece: int) -> Problem:
    low, high = PIECES[piece]
    middle = (low + high) / 2
    return Problem(lambda h: _far(order, middle + h), lambda h: mpf(1), low - middle, high - middle, 20)


PROBLEMS = {f"i{order}_{piece}": _problem(order, piece) for order in (0, 1) for piece in (0, 1)}


@cache
def _polynomial(name: str) -> list[mpf]:
    return remez(PROBLEMS[name])[0]


def _low(values: Callable[[], list[mpf]], count: int) -> list[mpf]:
    """What the doubles leave of the first numbers."""
    return [v - mpf(float(v)) for v in values()[:count]]


def _powers(order: int) -> list[mpf]:
    """1 / (k! (k + order)!)."""
    return [1 / (mp.factorial(k) * mp.factorial(k + order)) for k in range(28)]


TABLES: dict[str, Callable[[], list[mpf]]] = {}
for _order in (0, 1):
    TABLES[f"i{_order}_powers"] = partial(_powers, _order)
    TABLES[f"i{_order}_powers_low"] = partial(_low, partial(_powers, _order), 16)
    for _piece in (0, 1):
        _name = f"i{_order}_{_piece}"
        TABLES[_name + "_low"] = partial(_low, partial(_polynomial, _name), 4)
