# SPDX-License-Identifier: MIT
"""Of the Bessel functions of doubles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from mpmath import mp, mpf
from remez import Problem, interpolated, remez

PIECES = ((mpf(1) / 16, mpf(1) / 8), (mpf(0), mpf(1) / 16))
"""Of 1 / x, for I."""
K_PIECES = ((mpf(3) / 16, mpf(1) / 2), (mpf(0), mpf(3) / 16))
"""Of 1 / x, for K."""
WAVE_PIECES = ((mpf(1) / 256, mpf(1) / 64), (mpf(0), mpf(1) / 256))
"""Of 1 / x^2, for J and Y."""


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


@cache
def far_k(order: int | mpf, u: mpf) -> mpf:
    """sqrt(2 x / pi) exp(x) K(x) for u = 1 / x; for small u by its asymptotic series."""
    if u > mpf(1) / 200:
        x = 1 / u
        return mp.besselk(order, x) * mp.exp(x) * mp.sqrt(2 * x / mp.pi)
    total = term = mpf(1)
    for k in range(1, 80):
        term *= (4 * order * order - (2 * k - 1) ** 2) * u / (8 * k)
        total += term
    return total


@cache
def wave(order: int | mpf, square: mpf) -> tuple[mpf, mpf]:
    """m and x p, where J + i Y = sqrt(2 / (pi x)) m exp(i (x - (2 n + 1) pi / 4 + p)), for square = 1 / x^2."""
    if square == 0:
        return mpf(1), mpf(4 * order * order - 1) / 8
    x = 1 / mp.sqrt(square)
    if x < 80:
        h = mp.besselj(order, x) + 1j * mp.bessely(order, x)
        h *= mp.sqrt(mp.pi * x / 2) * mp.exp(-1j * (x - (2 * order + 1) * mp.pi / 4))
    else:
        h = term = mp.mpc(1)
        for k in range(80):
            term *= 1j * (4 * order * order - (2 * k + 1) ** 2) / (8 * (k + 1) * x)
            h += term
    return abs(h), mp.arg(h) * x


def _problem(f: Callable[[mpf], mpf], piece: tuple[mpf, mpf], degree: int) -> Problem:
    low, high = piece
    middle = (low + high) / 2
    return Problem(lambda h: f(middle + h), lambda h: mpf(1), low - middle, high - middle, degree)


PROBLEMS = {
    f"i{order}_{piece}": _problem(partial(_far, order), PIECES[piece], 20) for order in (0, 1) for piece in (0, 1)
}


def wave_part(order: int | mpf, part: int, square: mpf) -> mpf:
    return wave(order, square)[part]


INTERPOLATED: dict[str, Callable[[], list[mpf]]] = {}
for _order in (0, 1):
    for _piece in (0, 1):
        INTERPOLATED[f"k{_order}_{_piece}"] = partial(interpolated, partial(far_k, _order), K_PIECES[_piece], 26)
        for _part, _name in enumerate(("modulus", "phase")):
            INTERPOLATED[f"{_name}{_order}_{_piece}"] = partial(
                interpolated, partial(wave_part, _order, _part), WAVE_PIECES[_piece], 18
            )


@cache
def _polynomial(name: str) -> list[mpf]:
    return remez(PROBLEMS[name])[0]


def rests(values: Callable[[], list[mpf]], count: int) -> list[mpf]:
    """What the doubles leave of the first numbers."""
    return [v - mpf(float(v)) for v in values()[:count]]


def _powers(order: int) -> list[mpf]:
    """1 / (k! (k + order)!)."""
    return [1 / (mp.factorial(k) * mp.factorial(k + order)) for k in range(28)]


def _beside_logarithm(order: int) -> list[mpf]:
    """What multiplies z^k beside (log(x / 2) + gamma) times the power series, in K and Y: (H(k) + H(k + order)) / 2."""
    return [p * (mp.harmonic(k) + mp.harmonic(k + order)) / 2 for k, p in enumerate(_powers(order))]


TABLES: dict[str, Callable[[], list[mpf]]] = {}
for _order in (0, 1):
    TABLES[f"i{_order}_powers"] = partial(_powers, _order)
    TABLES[f"i{_order}_powers_low"] = partial(rests, partial(_powers, _order), 16)
    TABLES[f"beside{_order}"] = partial(_beside_logarithm, _order)
    TABLES[f"beside{_order}_low"] = partial(rests, partial(_beside_logarithm, _order), 16)
for _name in PROBLEMS:
    TABLES[_name + "_low"] = partial(rests, partial(_polynomial, _name), 4)
for _name, _table in INTERPOLATED.items():
    TABLES[_name] = _table
    TABLES[_name + "_low"] = partial(rests, _table, 4)
