# SPDX-License-Identifier: MIT
"""Functions of one number and of two, against mpmath with 40 digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from mpmath import mp
from torch import special
from torch.nn import functional as F

from accuracy.calls import Call, Draw, family
from accuracy.precise import by_mpmath

Range = tuple[float, float]
Row = tuple[str, Callable[..., Any], Callable[..., Any], *tuple[Range, ...]]
"""The name, torch's function, mpmath's, and the range of each operand."""

ALL, POSITIVE, UNIT = (-10.0, 10.0), (1e-3, 20.0), (-1.0, 1.0)
COUNT, FEW = 1500, 500


def _gelu(x: Any) -> Any:
    return x / 2 * mp.erfc(-x / mp.sqrt(2))


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


ELEMENTARY: tuple[Row, ...] = (
    ("exp", torch.exp, mp.exp, (-80, 80)),
    ("exp2", torch.exp2, lambda x: mp.mpf(2) ** x, (-100, 100)),
    ("expm1", torch.expm1, mp.expm1, (-2, 5)),
    ("log", torch.log, mp.log, (1e-3, 1000)),
    ("log, near 1", torch.log, mp.log, (0.99, 1.01)),
    ("log2", torch.log2, lambda x: mp.log(x) / mp.log(2), (1e-3, 1000)),
    ("log10", torch.log10, lambda x: mp.log(x) / mp.log(10), (1e-3, 1000)),
    ("log1p", torch.log1p, lambda x: mp.log(1 + x), (-0.5, 2)),
    ("sin", torch.sin, mp.sin, ALL),
    ("sin, large angles", torch.sin, mp.sin, (-1e6, 1e6)),
    ("cos", torch.cos, mp.cos, ALL),
    ("tan", torch.tan, mp.tan, ALL),
    ("asin", torch.asin, mp.asin, UNIT),
    ("acos", torch.acos, mp.acos, UNIT),
    ("atan", torch.atan, mp.atan, ALL),
    ("sinh", torch.sinh, mp.sinh, ALL),
    ("cosh", torch.cosh, mp.cosh, ALL),
    ("tanh", torch.tanh, mp.tanh, (-5, 5)),
    ("asinh", torch.asinh, mp.asinh, ALL),
    ("acosh", torch.acosh, mp.acosh, (1, 20)),
    ("atanh", torch.atanh, mp.atanh, (-0.99, 0.99)),
    ("sqrt", torch.sqrt, mp.sqrt, POSITIVE),
    ("rsqrt", torch.rsqrt, lambda x: 1 / mp.sqrt(x), POSITIVE),
    ("reciprocal", torch.reciprocal, lambda x: 1 / x, POSITIVE),
    ("pow", torch.pow, mp.power, POSITIVE, (-8, 8)),
    ("atan2", torch.atan2, mp.atan2, ALL, ALL),
    ("hypot", torch.hypot, mp.hypot, ALL, ALL),
    ("logaddexp", torch.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), ALL, ALL),
)
ACTIVATIONS: tuple[Row, ...] = (
    ("sigmoid", torch.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), ALL),
    ("log_sigmoid", F.logsigmoid, lambda x: -mp.log(1 + mp.exp(-x)), ALL),
    ("softplus", F.softplus, lambda x: mp.log(1 + mp.exp(x)), ALL),
    ("silu", F.silu, lambda x: x / (1 + mp.exp(-x)), ALL),
    ("gelu", F.gelu, _gelu, (-5, 5)),
    (
        "gelu, by tanh",
        partial(F.gelu, approximate="tanh"),
        lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))),
        (-4, 4),
    ),
    ("mish", F.mish, lambda x: x * mp.tanh(mp.log(1 + mp.exp(x))), ALL),
    ("elu", F.elu, lambda x: x if x > 0 else mp.expm1(x), ALL),
    ("celu", F.celu, lambda x: x if x > 0 else mp.expm1(x), ALL),
)
SPECIAL: tuple[Row, ...] = (
    ("erf", torch.erf, mp.erf, (-4, 4)),
    ("erfc", torch.erfc, mp.erfc, (-4, 8)),
    ("erfinv", torch.erfinv, mp.erfinv, (-0.99, 0.99)),
    ("erfcx", special.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), (-3, 20)),
    ("ndtr", special.ndtr, _normal, (-8, 8)),
    ("log_ndtr", special.log_ndtr, lambda x: mp.log(_normal(x)), (-15, 5)),
    ("ndtri", special.ndtri, lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), (0.001, 0.999)),
    ("logit", torch.logit, lambda p: mp.log(p / (1 - p)), (0.001, 0.999)),
    ("lgamma", torch.lgamma, lambda x: mp.log(abs(mp.gamma(x))), (0.01, 50)),
    ("lgamma, negative", torch.lgamma, lambda x: mp.log(abs(mp.gamma(x))), (-10, 0)),
    ("digamma", torch.digamma, mp.digamma, (0.01, 50)),
    ("polygamma 1", partial(torch.polygamma, 1), lambda x: mp.psi(1, x), (0.01, 50)),
    ("zeta", special.zeta, mp.zeta, (1.1, 10), (0.5, 10)),
    ("gammainc", special.gammainc, lambda a, x: mp.gammainc(a, 0, x, regularized=True), (0.5, 20), (0.1, 30)),
    ("gammaincc", special.gammaincc, lambda a, x: mp.gammainc(a, x, regularized=True), (0.5, 20), (0.1, 30)),
    ("i0", torch.i0, lambda x: mp.besseli(0, x), ALL),
    ("i0e", special.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (-50, 50)),
    ("i1", special.i1, lambda x: mp.besseli(1, x), ALL),
    ("bessel_j0", special.bessel_j0, lambda x: mp.besselj(0, x), ALL),
    ("bessel_j1", special.bessel_j1, lambda x: mp.besselj(1, x), ALL),
    ("bessel_y0", special.bessel_y0, lambda x: mp.bessely(0, x), POSITIVE),
    ("bessel_k0", special.modified_bessel_k0, lambda x: mp.besselk(0, x), POSITIVE),
    ("entr", special.entr, lambda x: -x * mp.log(x), POSITIVE),
    ("xlogy", torch.xlogy, lambda x, y: x * mp.log(y), ALL, POSITIVE),
    ("sinc", torch.sinc, lambda x: mp.sin(mp.pi * x) / (mp.pi * x), ALL),
    ("airy_ai", special.airy_ai, mp.airyai, ALL),
)


def _calls(rows: tuple[Row, ...], draw: Draw, count: int) -> Iterator[Call]:
    for name, function, exact, *ranges in rows:
        yield Call(name, function, tuple(draw.between(*of, count) for of in ranges), by_mpmath(exact))


@family("elementary functions", each=True)
def _elementary(draw: Draw) -> Iterator[Call]:
    yield from _calls(ELEMENTARY, draw, COUNT)


@family("activations", each=True)
def _activations(draw: Draw) -> Iterator[Call]:
    yield from _calls(ACTIVATIONS, draw, COUNT)


@family("special functions", each=True)
def _special(draw: Draw) -> Iterator[Call]:
    yield from _calls(SPECIAL, draw, FEW)
