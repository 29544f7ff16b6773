# SPDX-License-Identifier: MIT
"""Orthogonal polynomials, in float64, rounded once: by their recurrences, or by cosines where the degree is high.

The degree is what of n is left of its fraction; below 0 the value is 0, and of NaN NaN. So is a value that would take
more than 2^17 steps.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from repdl.interception.aten.special import in_float64
from repdl.interception.core import ops

Step = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""The value of degree k + 1 from k, x and the values of degrees k and k - 1."""
Closed = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""A value from n and x."""

_HIGHEST = 2.0**40
_STEPS = 2.0**17


def _climbed(n: torch.Tensor, x: torch.Tensor, first: torch.Tensor, step: Step) -> torch.Tensor:
    """By the recurrence, each element up to its own degree; elements of degree -1 are 0."""
    result = torch.where(n == 0, 1.0, torch.where(n == 1, first, torch.where(n > _STEPS, torch.nan, 0.0))).flatten()
    places = ((n > 1) & (n <= _STEPS)).flatten().nonzero()[:, 0]
    n, x, now = (t.flatten()[places] for t in (n, x, first))
    before, k = torch.ones_like(x), 1
    while places.numel():
        before, now = now, step(k, x, now, before)
        k += 1
        ended = (n <= k) | now.isnan()  # NaN stays
        if bool(ended.any()):
            result[places[ended]] = now[ended]
            places, n, x, now, before = (t[~ended] for t in (places, n, x, now, before))
    return result


def _declared(
    name: str, first: Closed, step: Step, ends: Closed | None = None, closed: Closed | None = None, limit: int = 0
) -> None:
    """Declares a polynomial: its value of degree 1, its recurrence, and its closed forms.

    ends: at the ends of its interval, where not NaN.
    closed: above the degree `limit`, inside the interval.
    """

    def compute(*operands: torch.Tensor | float) -> torch.Tensor:
        x, n = torch.broadcast_tensors(*(torch.as_tensor(t, dtype=torch.float64) for t in operands))
        degree = n.nan_to_num(-1.0, _HIGHEST, -1.0).clamp(-1.0, _HIGHEST).trunc()
        nothing = degree < 0
        known = torch.where(nothing, torch.zeros_like(x), torch.nan)
        done = nothing.clone()
        if ends is not None:
            at_end = ends(degree, x)
            found = ~at_end.isnan() & ~done
            known, done = torch.where(found, at_end, known), done | found
        if closed is not None:
            inside = closed(degree, x)
            found = (degree > limit) & ~inside.isnan() & ~done
            known, done = torch.where(found, inside, known), done | found
        climbed = _climbed(torch.where(done, -1.0, degree), x, first(degree, x), step)
        return torch.where(n.isnan(), torch.nan, torch.where(done, known, climbed.reshape(x.shape)))

    for overload in (name, f"{name}.x_scalar", f"{name}.n_scalar"):
        in_float64(f"special_{overload}", compute)


def _odd(n: torch.Tensor) -> torch.Tensor:
    return n.remainder(2) == 1


def _at_ends(right: Closed, left: Closed, shifted: bool = False) -> Closed:
    """At 1 the value of the one; at -1, or 0 of a shifted polynomial, that of the other, its sign by the degree."""

    def ends(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        below = left(n, x)
        below = torch.where(_odd(n), -below, below)
        return torch.where(x == 1, right(n, x), torch.where(x == (0 if shifted else -1), below, torch.nan))

    return ends


def _one(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(n)


def _plus_one(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return n + 1


def _twice_plus_one(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return n + n + 1


def _by_angle(value: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Closed:
    """Of the angle whose cosine is x; NaN outside of (-1, 1)."""
    return lambda n, x: torch.where(x.abs() < 1, value(n, ops["acos"](x.clamp(-1.0, 1.0))), torch.nan)


_CHEBYSHEV: dict[str, tuple[Closed, Closed, Closed, Closed, int]] = {
    "t": (lambda n, x: x, _one, _one, _by_angle(lambda n, a: ops["cos"](n * a)), 6),
    "u": (
        lambda n, x: x + x,
        _plus_one,
        _plus_one,
        _by_angle(lambda n, a: ops["sin"]((n + 1) * a) / ops["sin"](a)),
        8,
    ),
    "v": (
        lambda n, x: x + x - 1,
        _one,
        _twice_plus_one,
        _by_angle(lambda n, a: ops["cos"]((n + 0.5) * a) / ops["cos"](a * 0.5)),
        8,
    ),
    "w": (
        lambda n, x: x + x + 1,
        _twice_plus_one,
        _one,
        _by_angle(lambda n, a: ops["sin"]((n + 0.5) * a) / ops["sin"](a * 0.5)),
        8,
    ),
}
"""The value of degree 1, those at 1 and at -1, the closed form and the degree above which it is used."""


def _chebyshev(kind: str) -> None:
    first, right, left, closed, limit = _CHEBYSHEV[kind]
    _declared(
        f"chebyshev_polynomial_{kind}",
        first,
        lambda k, x, now, before: (x + x) * now - before,
        _at_ends(right, left),
        closed,
        limit,
    )

    def turned(of: Closed) -> Closed:
        return lambda n, x: of(n, x + x - 1)

    _declared(
        f"shifted_chebyshev_polynomial_{kind}",
        turned(first),
        lambda k, x, now, before: ((x + x - 1) + (x + x - 1)) * now - before,
        _at_ends(right, left, shifted=True),
        turned(closed),
        6,
    )


for _kind in _CHEBYSHEV:
    _chebyshev(_kind)

_declared("hermite_polynomial_h", lambda n, x: x + x, lambda k, x, now, before: (x + x) * now - (k + k) * before)
_declared("hermite_polynomial_he", lambda n, x: x, lambda k, x, now, before: x * now - k * before)
_declared(
    "laguerre_polynomial_l",
    lambda n, x: 1 - x,
    lambda k, x, now, before: (((k + k) + (1 - x)) * now - k * before) / (k + 1),
    lambda n, x: torch.where(x == 0, 1.0, torch.nan),
)
_declared(
    "legendre_polynomial_p",
    lambda n, x: x,
    lambda k, x, now, before: ((k + k + 1) * x * now - k * before) / (k + 1),
    _at_ends(_one, _one),
)
