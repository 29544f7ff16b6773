# SPDX-License-Identifier: MIT
"""Orthogonal polynomials, by recurrences in float64 or, of high degrees, by cosines of angles: of x, of the degree n.

The degree is what of n is left of its fraction; below 0 the value is 0, and of NaN NaN. So is a value that would take
more than 2^17 steps. The operands are broadcast, and one of them may be a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Op, Sample, Tensor, op, sample
from repdl.ops.elementwise._family import takes_numbers


@op()
def chebyshev_polynomial_t(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the first kind, T; by steps of float64."""


@op()
def chebyshev_polynomial_u(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the second kind, U; by steps of float64."""


@op()
def chebyshev_polynomial_v(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the third kind, V; by steps of float64."""


@op()
def chebyshev_polynomial_w(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, W; by steps of float64."""


@op()
def hermite_polynomial_h(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Hermite's polynomial H, for the weight exp(-x^2); by steps of float64."""


@op()
def hermite_polynomial_he(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Hermite's polynomial He, for the weight exp(-x^2 / 2); by steps of float64."""


@op()
def laguerre_polynomial_l(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Laguerre's polynomial; by steps of float64."""


@op()
def legendre_polynomial_p(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Legendre's polynomial; by steps of float64."""


@op()
def shifted_chebyshev_polynomial_t(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the first kind, T, of 2 x - 1; by steps of float64."""


@op()
def shifted_chebyshev_polynomial_u(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the second kind, U, of 2 x - 1; by steps of float64."""


@op()
def shifted_chebyshev_polynomial_v(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the third kind, V, of 2 x - 1; by steps of float64."""


@op()
def shifted_chebyshev_polynomial_w(x: Tensor | float, n: Tensor | float) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, W, of 2 x - 1; by steps of float64."""


def _samples() -> Iterator[Sample]:
    for x, n, size in (
        ("uniform", "wide", 1000),
        ("normal", "wide", 300),
        ("uniform", "positive", 99),
        ("special", "special", 300),
        ("normal", "special", 203),
        ("bits", "bits", 500),
    ):
        yield sample(x=f"{x}[{size}]#1", n=f"{n}[{size}]#2")
    yield sample(x="uniform[1100]#1", n="sweep[1100]#701")  # degrees from 0 to 44
    yield sample(x="special[1300]#1", n="sweep[1300]#1578")  # and from 30 on
    yield sample(x="uniform.float64[140]#1", n="sweep.float64[140]#9385")
    yield sample(x="normal.float64[160]#1", n="sweep.float64[160]#2853")
    yield sample(x="uniform[9, 1]#1", n="positive[7]#2")
    yield sample(x="uniform[8200]#3", n="positive[8200]#4")  # worth a fork
    yield sample(x="uniform[]#1", n="positive[3, 0]#2")
    for dtype in ("bfloat16", "float16"):
        yield sample(x=f"uniform.{dtype}[9, 200]#1", n=f"sweep.{dtype}[200]#0")
        yield sample(x=f"normal.{dtype}[99]#1", n=f"positive.{dtype}[99]#2")


_ALL: tuple[Op[..., Any], ...] = (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
for _polynomial in _ALL:
    takes_numbers(_polynomial)
    _polynomial.samples(_samples)
