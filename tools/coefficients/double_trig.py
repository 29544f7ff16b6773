# SPDX-License-Identifier: MIT
"""Of trigonometric and error functions of doubles: quick steps in two doubles, accurate ones in three."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from mpmath import mp, mpf
from remez import Problem


def _parts(values: Iterable[mpf], part: int) -> list[mpf]:
    """The first, second or third double of each number."""
    found = []
    for value in values:
        for _ in range(part):
            value -= mpf(float(value))
        found.append(value)
    return found


def _in_parts(name: str, values: Callable[[], list[mpf]], count: int) -> dict[str, Callable[[], list[mpf]]]:
    suffixes = ("", "_low", "_lowest")[:count]
    return {name + suffix: lambda part=part: _parts(values(), part) for part, suffix in enumerate(suffixes)}


def _sine_rest(first: int, skipped: int) -> Callable[[mpf], mpf]:
    """The sum of (-z)^k / (2 k + first)! from k = skipped on, divided by z^skipped."""

    def rest(z: mpf) -> mpf:
        return mp.nsum(lambda k: (-1) ** int(k) * z ** (k - skipped) / mp.factorial(2 * k + first), [skipped, 40])

    return rest


def _atan_rest(z: mpf) -> mpf:
    """(atan(u) / u - 1 + z / 3) / z^2 for z = u^2."""
    return mp.nsum(lambda k: (-z) ** k / (2 * k + 5), [0, 40])


def _tan_rest(z: mpf) -> mpf:
    """(tan(h) - h) / h^3 with z = h^2."""
    if z == 0:
        return mpf(1) / 3
    with mp.workdps(120):
        h = mp.sqrt(z)
        return (mp.tan(h) - h) / (z * h)


def _two_over_pi() -> list[mpf]:
    """2 / pi in digits of 32 bits."""
    with mp.workprec(1700):
        digits = int(mp.floor(mp.ldexp(2 / mp.pi, 32 * 45)))
    return [mpf(digits >> 32 * (44 - i) & 0xFFFFFFFF) for i in range(45)]


def _constants() -> list[mpf]:
    """Numbers that the accurate steps take in three doubles."""
    return [
        mp.pi,
        mp.pi / 2,
        2 / mp.sqrt(mp.pi),
        mp.sqrt(mp.pi) / 2,
        1 / mp.sqrt(mp.pi),
        1 / mp.sqrt(2),
        1 / mp.sqrt(2 * mp.pi),
        mp.log(2),
    ]


@cache
def _erfinv_tail(s: mpf) -> mpf:
    """erfinv(1 - e^(-s^2)), by Newton's method."""
    q = mp.exp(-s * s)
    y = mp.sqrt(-mp.log(q * mp.sqrt(mp.pi) * s))
    for _ in range(100):
        step = (mp.erfc(y) - q) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mpf(10) ** -40:
            break
    return y


_QUARTER_TURN = (mp.pi / 2) ** 2
_EIGHTH_TURN = (mp.pi / 4) ** 2 * mpf("1.0001")

PROBLEMS = {
    # What sin(r) / r has beyond four terms, for |r| <= pi / 2; then beyond three terms, and cos(r), for |r| <= pi / 4.
    "double_sin": Problem(_sine_rest(1, 5), lambda z: z**5, mpf(0), _QUARTER_TURN, 5),
    "double_tan_sin": Problem(_sine_rest(1, 4), lambda z: z**4, mpf(0), _EIGHTH_TURN, 4),
    "double_tan_cos": Problem(_sine_rest(0, 4), lambda z: z**4, mpf(0), _EIGHTH_TURN, 4),
    # tan(h) = h + h^3 p(h^2), with an error that counts as it is.
    "quick_tan": Problem(_tan_rest, lambda z: z * mp.sqrt(z), mpf(0), mpf("0.0345") ** 2, 3),
    "double_atan": Problem(_atan_rest, lambda z: z * z, mpf(0), mpf(1) / 30**2, 3),
    "double_erfinv_tail": Problem(_erfinv_tail, lambda s: mpf(1), mpf("3.98"), mpf("6.07"), 8),
}

TABLES = {
    "double_two_over_pi": _two_over_pi,
    **_in_parts("double_constants", _constants, 3),
    **_in_parts("double_factorials", lambda: [1 / mp.factorial(n) for n in range(42)], 3),
    **_in_parts("double_sixteenths", lambda: [mp.atan(mpf(i) / 16) for i in range(16)], 2),
}
