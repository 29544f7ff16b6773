# SPDX-License-Identifier: MIT
"""Composites of torch, as the steps that they are made of: each step rounds to the dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from ..functions import exp, log
from ..numbers import add, div, float32, mul, nearest, sqrt, sub
from ..registry import Arguments, from_core, reference
from ..sums import norm_of, sum_of
from ..tensors import Tensor, broadcast_shape, each, expand, from_lines, lines, reduced_shape, rounded
from ..words import in_words
from .arithmetic import lerp
from .choices import larger
from .rounded import reduced

_LOW = ("", ".bfloat16", ".float16")


# Differences and sums of neighbours.


def _steps(line: Sequence[Any], dtype: str) -> list[Any]:
    if dtype == "bool":
        return [int(a != b) for a, b in pairwise(line)]
    is_float = dtype in ("float32", "bfloat16", "float16")
    return [rounded(sub(b, a) if is_float else b - a, dtype) for a, b in pairwise(line)]


@reference(
    "diff",
    cases=[
        *(
            f"self={g}{t}[5, 37]#1, n={n}, dim={d}"
            for t in _LOW
            for g in ("wide", "special")
            for n, d in ((1, 1), (3, 0))
        ),
        "self=zeros[9, 41]#1",
        "self=special[3, 7]#1, prepend=zeros[3, 2]#2, append=special[3, 1]#3, n=2",
        "self=extreme.int64[9, 41]#1, dim=0",
        "self=extreme.uint8[41]#1, n=5",
        "self=classes2.bool[41]#1, n=2",
        "self=normal[3, 2]#1, n=7",
        "self=normal[100003]#1",
    ],
)
def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    dim %= len(self.shape)
    found = lines(self, dim)
    for more, is_before in ((prepend, True), (append, False)):
        if more is not None:
            extra = lines(more, dim)
            found = [(b + a if is_before else a + b) for a, b in zip(found, extra, strict=True)]
    for _ in range(n):
        found = [_steps(line, self.dtype) for line in found]
    length = max(self.shape[dim] + sum(m.shape[dim] for m in (prepend, append) if m is not None) - n, 0)
    shape = tuple(length if d == dim else size for d, size in enumerate(self.shape))
    return from_lines(found, shape, dim, self.dtype)


@reference(
    "trapezoid.dx",
    cases=[
        *(
            f"y={g}{t}[5, 37]#1, dx={dx}, dim={d}"
            for t in _LOW
            for g in ("normal", "special")
            for dx in (1, 0.3)
            for d in (0, 1)
        ),
        "y=wide[3, 4097]#1, dx=0.1, order='sequential'",
        "y=zeros[9, 7]#1, dx=-1.0",
    ],
)
def trapezoid(y: Tensor, dx: float, dim: int = -1, order: str = "blocked") -> Tensor:
    """The sum of all, less half of both ends, times dx."""

    def low(x: float) -> float:
        return rounded(x, y.dtype)  # type: ignore[no-any-return]

    found = []
    for line in lines(y, dim):
        ends = low(mul(low(add(line[0], line[-1])), 0.5))
        found.append(low(mul(low(sub(low(sum_of(line, order)), ends)), float32(dx))))
    return Tensor(y.dtype, reduced_shape(y.shape, (dim,), False), found)


@reference(
    "trapezoid.x",
    cases=[
        *(f"y={g}{t}[5, 37]#1, x={x}{t}[37]#2" for t in _LOW for g, x in (("normal", "rising"), ("special", "normal"))),
        "y=normal[37, 5]#1, x=normal[37, 5]#2, dim=0",
    ],
)
def trapezoid_of_points(y: Tensor, x: Tensor, dim: int = -1) -> Tensor:
    """Half of the sum of the sums of neighbours, times the distance of the points."""

    def low(value: float) -> float:
        return rounded(value, y.dtype)  # type: ignore[no-any-return]

    rows = lines(y, dim)
    points = lines(x, dim) if len(x.shape) > 1 else [x.data] * len(rows)
    found = []
    for line, places in zip(rows, points, strict=True):
        terms = [
            low(mul(low(add(line[i], line[i + 1])), low(sub(places[i + 1], places[i])))) for i in range(len(line) - 1)
        ]
        found.append(low(div(low(sum_of(terms)), 2.0)))
    return Tensor(y.dtype, reduced_shape(y.shape, (dim,), False), found)


# Gradients by differences.


def _slopes(line: Sequence[float], spacing: float, edge_order: int) -> list[float]:
    """Points that are evenly spaced: differences over the spacing, of second neighbours also over 2."""
    width = float32(spacing)

    def over(x: float) -> float:
        return div(x, width)

    inner = [div(over(sub(line[i + 2], line[i])), 2.0) for i in range(len(line) - 2)]
    if edge_order == 1:
        return [over(sub(line[1], line[0])), *inner, over(sub(line[-1], line[-2]))]

    def of_three(x: float, y: float, z: float, sign: float) -> float:
        return over(add(add(mul(x, -1.5 * sign), mul(y, 2.0 * sign)), mul(z, -0.5 * sign)))

    last = over(add(add(mul(line[-3], 0.5), mul(line[-2], -2.0)), mul(line[-1], 1.5)))
    return [of_three(*line[:3], 1.0), *inner, last]


def _slopes_of_points(line: Sequence[float], points: Sequence[float]) -> list[float]:
    """Three terms at each place between the ends, from the first; at an end the slope to its neighbour."""
    steps = [sub(b, a) for a, b in pairwise(points)]
    found = [div(sub(line[1], line[0]), steps[0])]
    for i, (before, after) in enumerate(pairwise(steps)):
        both = add(before, after)
        factors = (
            div(-after, mul(before, both)),
            div(sub(after, before), mul(before, after)),
            div(before, mul(after, both)),
        )
        first, second, third = (mul(f, x) for f, x in zip(factors, line[i : i + 3], strict=True))
        found.append(add(add(first, second), third))
    return [*found, div(sub(line[-1], line[-2]), steps[-1])]


def _gradient(self: Tensor, spacings: Sequence[Any], dims: Sequence[int], edge_order: int) -> list[Tensor]:
    results = []
    for spacing, dim in zip(spacings, dims, strict=True):
        of_points = isinstance(spacing, Tensor)
        found = [
            _slopes_of_points(line, spacing.data) if of_points else _slopes(line, spacing, edge_order)
            for line in lines(self, dim)
        ]
        results.append(from_lines(found, self.shape, dim, self.dtype))
    return results


_SLOPED = [f"self={g}[9, 7]#1" for g in ("normal", "special", "zeros", "wide")]


def _gradient_of(overload: str, more: Sequence[str], *, spaced: str = "") -> None:
    """`spaced` says how the spacing is given: one for all dimensions, or a list of them."""

    @reference(f"gradient.{overload}", cases=[f"{c}, {m}" for c in _SLOPED for m in more])
    def run(self: Tensor, dim: Any = None, spacing: Any = None, edge_order: int = 1) -> list[Tensor]:
        dims = list(range(len(self.shape))) if dim is None else [dim] if isinstance(dim, int) else dim
        each_dim = spacing if spaced == "each" else [1.0 if spacing is None else spacing] * len(dims)
        return _gradient(self, each_dim, dims, edge_order)


_gradient_of("scalarint", ["spacing=0.3, dim=0", "dim=1", "spacing=0.3, dim=1, edge_order=2", "spacing=-2.0"])
_gradient_of("scalararray", ["spacing=0.3, dim=[0, 1]", "spacing=0.7, dim=[1], edge_order=2"])
_gradient_of("array", ["dim=[0, 1]", "dim=[1, 0], edge_order=2"])
_gradient_of("scalarrayint", ["spacing=[0.3], dim=1", "spacing=[0.3, 1.7]"], spaced="each")
_gradient_of("scalarrayarray", ["spacing=[0.3, 1.7], dim=[1, 0]"], spaced="each")
_gradient_of("tensorarrayint", ["spacing=[wide[7]#5], dim=1", "spacing=[normal[9]#5, normal[7]#6]"], spaced="each")
_gradient_of("tensorarray", ["spacing=[normal[9]#5, normal[7]#6], dim=[0, 1]"], spaced="each")


# Similarity, and a loss.


@reference(
    "cosine_similarity",
    cases=[
        *(
            f"x1={g}[5, 37]#1, x2={h}[5, 37]#2, dim={d}"
            for g, h in (("normal", "wide"), ("special", "special"), ("zeros", "normal"), ("tiny", "wide"))
            for d in (0, 1)
        ),
        "x1=normal[3, 1, 4097]#1, x2=normal[2, 4097]#2, dim=-1, eps=0.3",
        "x1=normal[5, 37]#1, x2=normal[5, 37]#2, order='sequential'",
    ],
)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8, order: str = "blocked") -> Tensor:
    """The sum of the products of both, each over its norm, or over eps if the norm is less."""
    shape = broadcast_shape(x1.shape, x2.shape)
    sides = [lines(Tensor(x.dtype, shape, expand(x, shape)), dim) for x in (x1, x2)]
    found = []
    for rows in zip(*sides, strict=True):
        unit = []
        for row in rows:
            length = norm_of(row, 2, order)
            length = length if length != length else larger(length, float32(eps))
            unit.append([div(x, length) for x in row])
        found.append(sum_of([mul(a, b) for a, b in zip(*unit, strict=True)], order))
    return Tensor("float32", reduced_shape(shape, (dim,), False), found)


@reference(
    "poisson_nll_loss",
    cases=[
        f"input={x}[19, 37]#1, target={y}[19, 37]#2, log_input={log_input}, full={full}, eps=1e-08, reduction={r}"
        for x, y in (("normal", "classes9.float32"), ("special", "special"), ("positive", "wide"))
        for log_input in (True, False)
        for full in (True, False)
        for r in (0, 1, 2)
    ],
)
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """exp(x) - y x, or x - y log(x + eps); with `full` Stirling's approximation is added where y is above 1."""

    def one(x: float, y: float) -> float:
        loss = sub(exp(x), mul(y, x)) if log_input else sub(x, mul(y, log(add(x, float32(eps)))))
        if not full:
            return loss
        if y <= 1:
            return add(loss, 0.0)
        last = mul(0.5, log(mul(float32(2 * math.pi), y)))
        return add(loss, add(sub(mul(y, log(y)), y), last))

    return reduced(each(one, input, target), reduction)


# Quantiles.


def _quantiles(line: Sequence[float], places: Sequence[float], how: str, ignores_nan: bool) -> list[float]:
    known = sorted(x for x in line if x == x)
    if not known or (len(known) < len(line) and not ignores_nan):
        return [math.nan] * len(places)
    found = []
    for q in places:
        rank = q * (len(known) - 1)  # in binary64
        low, high = math.floor(rank), math.ceil(rank)
        if how in ("lower", "higher", "nearest"):
            found.append(known[{"lower": low, "higher": high, "nearest": round(rank)}[how]])
            continue
        weight = 0.5 if how == "midpoint" else nearest(Fraction(rank) - low, "float32")
        found.append(lerp(known[low], known[high], weight))
    return found


_SORTED = ["self=normal[5, 37]#1", "self=wide[5, 37]#1", "self=ties[5, 38]#3"]
_WITH_NAN = [*_SORTED, "self=special[5, 37]#2", "self=bits[19, 41]#4"]
_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name: str, ignores_nan: bool) -> None:
    def run(self: Tensor, places: list[float], dim: int | None, keepdim: bool, interpolation: str) -> list[list[float]]:
        rows = [self.data] if dim is None else lines(self, dim)
        return [_quantiles(row, places, interpolation, ignores_nan) for row in rows]

    def shape_of(self: Tensor, dim: int | None, keepdim: bool) -> tuple[int, ...]:
        over = range(len(self.shape)) if dim is None else (dim,)
        return reduced_shape(self.shape, over, keepdim)

    @reference(
        f"{name}.scalar",
        cases=[f"{c}, q={q}, dim={d}" for c in _WITH_NAN for q in (0.3, 1.0) for d in (None, 0, 1)]
        + [f"self=ties[5, 38]#3, q=0.1, dim=1, keepdim=True, interpolation={w!r}" for w in _WAYS],
    )
    def of_number(
        self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
    ) -> Tensor:
        rows = run(self, [float32(q)], dim, keepdim, interpolation)
        return Tensor(self.dtype, shape_of(self, dim, keepdim), [row[0] for row in rows])

    @reference(
        name,
        cases=[
            f"{c}, q=unit[7]#8, dim={d}, keepdim={d == 0}, interpolation={w!r}"
            for c in _WITH_NAN
            for d in (None, 0, 1)
            for w in (_WAYS if c in _SORTED else _WAYS[:1])
        ],
    )
    def of_numbers(
        self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
    ) -> Tensor:
        rows = run(self, q.data, dim, keepdim, interpolation)
        shape = (len(q.data), *shape_of(self, dim, keepdim))
        return Tensor(self.dtype, shape, [row[i] for i in range(len(q.data)) for row in rows])


_quantile("quantile", ignores_nan=False)
_quantile("nanquantile", ignores_nan=True)


# A norm, and the nearest pixels.


@reference(
    "rms_norm",
    cases=[
        *(
            f"input={g}{t}[5, 137]#1, normalized_shape=[137]{more}"
            for t in _LOW
            for g in ("normal", "wide", "special", "zeros", "tiny")
            for more in ("", f", weight=normal{t}[137]#2, eps=0.3")
        ),
        "input=normal[2, 3, 5, 7]#1, normalized_shape=[5, 7], weight=special[5, 7]#2",
        "input=normal[2, 9001]#1, normalized_shape=[9001], eps=1e-05, order='sequential'",
    ],
)
def rms_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    eps: float | None = None,
    order: str = "blocked",
) -> Tensor:
    """(x * (1 / sqrt(Sum(x * x) * (1 / n) + eps))) * weight; eps is that of float32 unless it is given."""
    n = math.prod(normalized_shape)
    part, least = nearest(Fraction(1, n), "float32"), 2.0**-23 if eps is None else float32(eps)
    found = []
    for first in range(0, len(input.data), n):
        row = input.data[first : first + n]
        scale = div(1.0, sqrt(add(mul(sum_of([mul(x, x) for x in row], order), part), least)))
        for i, x in enumerate(row):
            y = mul(x, scale)
            found.append(rounded(y if weight is None else mul(y, weight.data[i]), input.dtype))
    return Tensor(input.dtype, input.shape, found)


def _nearest(mode: str, rank: int, overload: str) -> None:
    @from_core("resample", overload, wide=True)
    def translate(arguments: Arguments) -> str | None:
        if arguments.get("mode") != mode or len(arguments["size"]) != rank or arguments.get("dim", 2) != 2:
            return None
        factors = "".join(f", {name}={value}" for name, value in arguments.items() if name.startswith("scales"))
        if rank == 1:
            factors = factors.replace("scales_w", "scales")
        return f"self={in_words(arguments['input'])}, output_size={list(arguments['size'])}{factors}"


for _rank in (1, 2, 3):
    _nearest("nearest", _rank, f"upsample_nearest{_rank}d")
    _nearest("nearest-exact", _rank, f"_upsample_nearest_exact{_rank}d")


def _place(i: int, size: int, new: int, factor: float | None, is_exact: bool) -> int:
    """Of binary32, each step."""
    scale = float32(1 / factor) if factor else div(float(size), float(new))
    return min(math.floor(mul(float32(i + 0.5) if is_exact else float(i), scale)), size - 1)


def _nearest_of_each(rank: int, is_exact: bool) -> None:
    sizes, new = {1: ("19", [40]), 2: ("8, 9", [13, 4]), 3: ("3, 4, 5", [7, 3, 6])}[rank]
    names = ["scales"] if rank == 1 else ["scales_d", "scales_h", "scales_w"][-rank:]
    factors = "".join(f", {name}={1.7 + i}" for i, name in enumerate(names))
    overload = f"_upsample_nearest_exact{rank}d" if is_exact else f"upsample_nearest{rank}d"

    @reference(
        overload,
        cases=[
            f"self={x}[2, 3, {sizes}]#1, output_size={new}{more}"
            for x in ("bits", "special.bfloat16", "bits.float16", "classes256.uint8")
            for more in ("", factors)
        ],
    )
    def run(self: Tensor, output_size: list[int], **scales: float) -> Tensor:
        given: list[float | None] = [scales.get(name) for name in names]
        shape = (*self.shape[:2], *output_size)
        taken = [
            [_place(i, size, n, factor, is_exact) for i in range(n)]
            for size, n, factor in zip(self.shape[2:], output_size, given, strict=True)
        ]
        places = product(*map(range, self.shape[:2]), *taken)
        return Tensor(self.dtype, shape, [self[place] for place in places])


for _rank in (1, 2, 3):
    for _is_exact in (False, True):
        _nearest_of_each(_rank, _is_exact)
