# SPDX-License-Identifier: MIT
"""Samples of an image or volume at the places of a grid, step by step in float32, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from ..numbers import add, div, float32, mul, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, rounded

_LOW = ("", ".bfloat16", ".float16")
_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _down(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


def _place(g: float, size: int, align_corners: bool) -> float:
    if align_corners:
        return mul(add(g, 1.0), (size - 1) / 2)
    return div(sub(mul(add(g, 1.0), float(size)), 1.0), 2.0)


def _held(x: float, size: int, padding: int, align_corners: bool) -> tuple[float, float]:
    """A place brought into the image, and the derivative of that."""
    slope = 1.0
    if padding == _ZEROS:
        return x, slope
    if padding == _REFLECTION:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return 0.0, 0.0
        if x < low:
            slope = -1.0
        away = abs(sub(x, low))
        if not math.isfinite(away):
            return math.nan, 0.0
        rest, flips = math.fmod(away, span), _down(div(away, span))
        if math.fmod(flips, 2) != 0:
            x, slope = add(sub(span, rest), low), -slope
        else:
            x = add(rest, low)
    if x != x:
        return x, 0.0
    return min(max(x, 0.0), size - 1.0), slope if 0 < x < size - 1 else 0.0


def _near(x: float, a: float) -> float:
    return add(mul(mul(sub(mul(a + 2, x), a + 3), x), x), 1.0)


def _far(x: float, a: float) -> float:
    return sub(mul(add(mul(sub(mul(a, x), 5 * a), x), 8 * a), x), 4 * a)


def _near_slope(x: float, a: float) -> float:
    return mul(sub(mul(3 * (a + 2), x), 2 * (a + 3)), x)


def _far_slope(x: float, a: float) -> float:
    return add(mul(sub(mul(3 * a, x), 10 * a), x), 8 * a)


def _whole(x: float) -> int | None:
    """An index, if it is one at all."""
    return int(x) if math.isfinite(x) and abs(x) < 2**30 else None


Tap = tuple[int | None, float, float]
"""The index of a neighbour, None where it has none; its weight, and the derivative of that."""


def _taps(x: float, size: int, mode: int, padding: int, align_corners: bool) -> list[Tap]:
    if mode == _CUBIC:
        low = _down(x)
        t, a = sub(x, low), -0.75
        ahead, back, beyond = sub(1.0, t), add(t, 1.0), sub(2.0, t)
        weights = _far(back, a), _near(t, a), _near(ahead, a), _far(beyond, a)
        slopes = _far_slope(back, a), _near_slope(t, a), -_near_slope(ahead, a), -_far_slope(beyond, a)
        indices = [_whole(_held(add(low, k), size, padding, align_corners)[0]) for k in (-1.0, 0.0, 1.0, 2.0)]
        return list(zip(indices, weights, slopes, strict=True))
    place, slope = _held(x, size, padding, align_corners)
    if mode == _NEAREST:
        return [(_whole(float(round(place)) if math.isfinite(place) else place), 1.0, 0.0)]
    low = _down(place)
    after = add(low, 1.0)
    return [(_whole(low), sub(after, place), -slope), (_whole(after), sub(place, low), slope)]


Grid = Iterator[tuple[tuple[int, ...], list[tuple[tuple[int, ...], list[tuple[float, float]]]]]]


def _neighbours(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Grid:
    """For each place of the grid those of its neighbours that lie in the image, None for others: index and taps.

    Axes of a neighbour are those of the image, taps those of the grid, x first.
    """
    sizes = input.shape[2:]
    rank = len(sizes)
    for at in product(*map(range, grid.shape[:-1])):
        axes = [
            _taps(_place(grid[(*at, d)], sizes[-1 - d], align_corners), sizes[-1 - d], mode, padding, align_corners)
            for d in range(rank)
        ]
        found: list[Any] = []
        for corner in product(*reversed(axes)):
            index = tuple(tap[0] for tap in corner)
            inside = all(i is not None and 0 <= i < n for i, n in zip(index, sizes, strict=True))
            found.append((index, [tap[1:] for tap in reversed(corner)]) if inside else None)
        yield at, found


def _times(factors: Sequence[float]) -> float:
    result = factors[0]
    for factor in factors[1:]:
        result = mul(result, factor)
    return result


def _lost(grid: Tensor, at: tuple[int, ...]) -> bool:
    """Whether a coordinate of a place is NaN."""
    return any(math.isnan(grid[(*at, d)]) for d in range(grid.shape[-1]))


_SHAPES = {2: ("3, 4", "5, 3"), 3: ("3, 2, 4", "2, 3, 3")}


def _cases(rank: int, backward: bool) -> list[str]:
    image, places = _SHAPES[rank]
    settings = [
        f"interpolation_mode={mode}, padding_mode={padding}, align_corners={align}"
        for mode in ((_LINEAR, _NEAREST, _CUBIC) if rank == 2 else (_LINEAR, _NEAREST))
        for padding in (_ZEROS, _BORDER, _REFLECTION)
        for align in (False, True)
    ]
    found = []
    for t in _LOW:
        for k, (x, g) in enumerate(
            (("normal", "normal"), ("special", "ties"), ("normal", "special"), ("zeros", "uniform"))
        ):
            for setting in settings[:: 7 if t else (1, 2, 2, 5)[k]]:
                grad = f"grad_output=normal{t}[2, 5, {places}]#3, " if backward else ""
                more = ", output_mask=(True, True)" if backward else ""
                found.append(
                    f"{grad}input={x}{t}[2, 5, {image}]#1, grid={g}{t}[2, {places}, {rank}]#2, {setting}{more}"
                )
    wide = "40, 30" if rank == 2 else "10, 12, 9"
    grad = f"grad_output=normal[1, 67, {wide}]#3, " if backward else ""
    more = ", output_mask=(True, True)" if backward else ""
    one = ", ".join("1" * rank)
    grad_of_one = f"grad_output=normal[1, 2, {places}]#3, " if backward else ""
    return [
        *found,
        *(
            f"{grad_of_one}input=normal[1, 2, {one}]#1, grid=normal[1, {places}, {rank}]#2, {setting}{more}"
            for setting in settings[::3]
        ),
        f"{grad}input=normal[1, 67, {image}]#1, grid=uniform[1, {wide}, {rank}]#2, interpolation_mode=0, "
        f"padding_mode=0, align_corners=False{more}",
    ]


def _define(rank: int) -> None:
    name = f"grid_sampler_{rank}d"

    @reference(name, cases=_cases(rank, False))
    def run(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        count, channels = input.shape[:2]
        result = Tensor(
            "float32",
            (count, channels, *grid.shape[1:-1]),
            [0.0] * (count * channels * (len(grid.data) // rank // count)),
        )
        for (n, *at), found in _neighbours(input, grid, interpolation_mode, padding_mode, align_corners):
            weights = [None if f is None else (f[0], _times([w for w, _ in f[1]])) for f in found]
            for c in range(channels):
                terms = [0.0 if w is None else mul(input[(n, c, *w[0])], w[1]) for w in weights]
                total = terms[0]
                for term in terms[1:]:
                    total = add(total, term)
                result[(n, c, *at)] = math.nan if _lost(grid, (n, *at)) else total
        return Tensor(input.dtype, result.shape, [rounded(v, input.dtype) for v in result.data])

    @reference(f"{name}_backward", cases=_cases(rank, True))
    def run_back(
        grad_output: Tensor,
        input: Tensor,
        grid: Tensor,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        output_mask: Any,
    ) -> list[Tensor]:
        channels = input.shape[1]
        by_grid = []
        # Of each neighbour all places come before the next neighbour.
        spread: list[list[tuple[Any, Any, float]]] = [
            [] for _ in range((4 if interpolation_mode == _CUBIC else 2) ** rank)
        ]
        for (n, *at), found in _neighbours(input, grid, interpolation_mode, padding_mode, align_corners):
            slopes = [0.0] * rank
            for k, f in enumerate(found):
                if f is None:
                    continue
                index, taps = f
                spread[k].append(((n, index), (n, at), _times([w for w, _ in taps])))
                if interpolation_mode == _NEAREST:
                    continue
                along = sum_of([mul(input[(n, c, *index)], grad_output[(n, c, *at)]) for c in range(channels)])
                for d in range(rank):
                    slope = _times([s if i == d else w for i, (w, s) in enumerate(taps)])
                    slopes[d] = add(slopes[d], mul(along, slope))
            if interpolation_mode != _NEAREST and _lost(grid, (n, *at)):
                slopes = [math.nan] * rank
            for d, slope in enumerate(slopes):
                size = input.shape[-1 - d]
                by_grid.append(mul(slope, float32((size - 1) / 2 if align_corners else size / 2)))
        by_input = Tensor("float32", input.shape, [0.0] * len(input.data))
        for parts in spread:
            for (n, index), (m, at), weight in parts:
                for c in range(channels):
                    term = mul(grad_output[(m, c, *at)], weight)
                    by_input[(n, c, *index)] = add(by_input[(n, c, *index)], term)
        return [
            Tensor(input.dtype, input.shape, [rounded(v, input.dtype) for v in by_input.data]),
            Tensor(grid.dtype, grid.shape, [rounded(v, grid.dtype) for v in by_grid]),
        ]


_define(2)
_define(3)
