# SPDX-License-Identifier: MIT
"""Functions of one float64 by mpmath, where stock torch in float64 is not reliable enough to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

FUNCTIONS = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "i0": "i0", "lgamma": "loggamma", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sin": "sin",
    "sinh": "sinh", "special.airy_ai": "airyai", "special.bessel_j0": "j0", "special.bessel_j1": "j1",
    "special.erfcx": "erfcx", "special.i0e": "i0e", "special.i1": "i1", "special.i1e": "i1e",
    "special.log_ndtr": "log_ndtr", "special.ndtri": "ndtri",
    "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
"""By the name of the op, that of the function."""

AGAINST_ONE = {"special.airy_ai", "special.bessel_j0", "special.bessel_j1", "lgamma", "digamma"}
"""Functions with zeros, near which an error counts against 1 rather than against the value."""

STOCK_IS_OFF = (
    "special.airy_ai", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1", "igamma",
    "igammac",
)  # fmt: skip
"""Functions of which stock torch in float64 is further off than ours, so that nothing is told by it."""

STOCK_FLOAT64_IS_OFF = (
    *STOCK_IS_OFF, "digamma", "polygamma", "special.polygamma", "fmod", "remainder", "__rmod__", "sigmoid",
    "nn.functional.sigmoid", "nn.Sigmoid", "sinh", "histc", "nn.functional.gelu", "nn.GELU",
    "special.scaled_modified_bessel_k", "special.laguerre_polynomial", "special.shifted_chebyshev",
)  # fmt: skip
"""Names of ops begin so of which it has fewer digits than float64: trigamma, the gradient of digamma, has 9. In its
vectors remainders by subnormal numbers are NaN, small sigmoids 0 and the largest sinh infinite. Edges of histograms are
rounded otherwise. Beside -8 gelu cancels, Bessel functions of subnormal numbers overflow, and recurrences of
polynomials lose digits in either order of their steps."""

ULPS = 32


def _function(name: str) -> Callable[[Any], Any] | None:
    try:
        import mpmath as mp
    except ModuleNotFoundError:
        return None
    mp.mp.prec = 200
    own: dict[str, Callable[[Any], Any]] = {
        "j0": lambda x: mp.besselj(0, x),
        "j1": lambda x: mp.besselj(1, x),
        "i0": lambda x: mp.besseli(0, x),
        "i1": lambda x: mp.besseli(1, x),
        "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
        "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
        "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
        "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
        "ndtri": lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
        "exp2": lambda x: mp.mpf(2) ** x,
        "log2": lambda x: mp.log(x, 2),
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "rsqrt": lambda x: 1 / mp.sqrt(x),
        "loggamma": lambda x: mp.log(abs(mp.gamma(x))),
    }
    return own.get(FUNCTIONS[name]) or getattr(mp, FUNCTIONS[name])


def wrong_function(name: str, x: torch.Tensor, result: torch.Tensor, most: int = 24) -> str | None:
    """What is wrong with the float64 values of a function, of the first few arguments."""
    function = _function(name) if name in FUNCTIONS else None
    if function is None or x.dtype != torch.float64 or result.shape != x.shape:
        return None
    import mpmath as mp

    for a, b in zip(x.reshape(-1)[:most].tolist(), result.reshape(-1)[:most].tolist()):
        if a != a or b != b or abs(b) in (float("inf"), 0.0) or abs(a) > 1e6:
            continue
        try:
            exact = function(mp.mpf(a))
        except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
            continue
        if not isinstance(exact, mp.mpf):
            continue
        size = max(abs(exact), 1) if name in AGAINST_ONE else max(abs(exact), mp.mpf(2) ** -1022)
        error = abs(mp.mpf(b) - exact) / (size * mp.mpf(2) ** -52)
        if error > ULPS:
            return f"{name}({a!r}) is {b!r}, exactly {mp.nstr(exact, 20)}: an error of {mp.nstr(error, 3)} ulp"
    return None
