# SPDX-License-Identifier: MIT
"""Resizing by weighted neighbours, one axis after another. Places and weights are of binary64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath

from ..numbers import add, float32, mul
from ..registry import reference
from ..tensors import Tensor, from_lines, lines, rounded

_LOW = ("", ".bfloat16", ".float16")

Taps = list[list[tuple[int, float]]]
"""For each place of the result its neighbours in order, and their weights."""

Make = Callable[[int, int, bool, float | None], Taps | None]
"""The neighbours along an axis of a size, of a result of another; None for an axis that stays as it is."""


def _scale(size: int, new: int, align_corners: bool, factor: float | None) -> float:
    if align_corners:
        return (size - 1) / (new - 1) if new > 1 else 0.0
    return 1 / factor if factor else size / new


def _place(i: int, scale: float, align_corners: bool) -> float:
    return i * scale if align_corners else (i + 0.5) * scale - 0.5


def _linear(size: int, new: int, align_corners: bool, factor: float | None) -> Taps | None:
    if size == new:
        return None
    found = []
    for i in range(new):
        place = max(_place(i, _scale(size, new, align_corners, factor), align_corners), 0.0)
        low = min(math.floor(place), size - 1)
        weight = min(place - low, 1.0)
        found.append([(low, 1 - weight), (min(low + 1, size - 1), weight)])
    return found


def _keys(x: float, a: float) -> float:
    """The weight of a neighbour at a distance up to 2."""
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _cubic(size: int, new: int, align_corners: bool, factor: float | None) -> Taps:
    found = []
    for i in range(new):
        place = _place(i, _scale(size, new, align_corners, factor), align_corners)
        low = math.floor(place)
        t = place - low
        found.append(
            [
                (min(max(low + k, 0), size - 1), _keys(distance, -0.75))
                for k, distance in ((-1, t + 1), (0, t), (1, 1 - t), (2, 2 - t))
            ]
        )
    return found


def _lanczos(x: float) -> float:
    """Of a distance below 3."""
    if x == 0:
        return 1.0
    with mpmath.workprec(160):
        sines = float(mpmath.sinpi(mpmath.mpf(x))) * float(mpmath.sinpi(mpmath.mpf(x / 3)))
    return 3 * sines / (9.869604401089358 * (x * x))


_SMOOTH: dict[int, Callable[[float], float]] = {
    2: lambda x: max(1 - x, 0.0),
    4: lambda x: _keys(x, -0.5) if x < 2 else 0.0,
    6: lambda x: _lanczos(x) if x < 3 else 0.0,
}
"""By the width of a filter, its weight for a distance."""


def _smooth(width: int) -> Make:
    def taps(size: int, new: int, align_corners: bool, factor: float | None) -> Taps | None:
        if size == new:
            return None
        found = []
        scale = _scale(size, new, align_corners, factor)
        stretch = max(scale, 1.0)
        reach = width / 2 * stretch
        for i in range(new):
            centre = (i + 0.5) * scale
            window = range(max(math.trunc(centre - reach + 0.5), 0), min(math.trunc(centre + reach + 0.5), size))
            weights = [_SMOOTH[width](abs((j - centre + 0.5) / stretch)) for j in window]
            total = 0.0
            for w in weights:
                total += w
            found.append([(j, w / total if total else w) for j, w in zip(window, weights, strict=True)])
        return found

    return taps


def _axes(make: Make, size: Sequence[int], new: Sequence[int], align_corners: bool, factors: Any) -> list[Any]:
    """Each axis that changes, with the neighbours, the last first; weights are float32."""
    factors = [*factors.values()] or [None] * len(new)
    found = []
    for d in reversed(range(len(new))):
        taps = make(size[d], new[d], align_corners, factors[d])
        if taps is not None:
            found.append((2 + d, [[(j, float32(w)) for j, w in place] for place in taps]))
    return found


def _gathered(line: Sequence[float], taps: Taps) -> list[float]:
    found = []
    for place in taps:
        terms = [mul(line[j], w) for j, w in place]
        total = terms[0]
        for term in terms[1:]:
            total = add(total, term)
        found.append(total)
    return found


def _spread(line: Sequence[float], taps: Taps, size: int) -> list[float]:
    """By neighbour, then by place."""
    total = [0.0] * size
    for k in range(max(map(len, taps))):
        for g, place in zip(line, taps, strict=True):
            if k < len(place):
                j, w = place[k]
                total[j] = add(total[j], mul(g, w))
    return total


def _resized(x: Tensor, dim: int, size: int, change: Callable[[list[float]], list[float]]) -> Tensor:
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    return from_lines([change(line) for line in lines(x, dim)], shape, dim, "float32")


_SHAPES: dict[int, list[tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]]] = {
    1: [
        ((7,), (16,), (2.3,)),
        ((19,), (5,), (0.29,)),
        ((10,), (10,), (1.05,)),
        ((1,), (3,), (3.0,)),
        ((9,), (1,), (0.2,)),
    ],
    2: [
        ((5, 7), (11, 16), (2.3, 2.3)),
        ((13, 19), (4, 5), (0.31, 0.29)),
        ((10, 6), (10, 13), (1.05, 2.2)),
        ((10, 9), (10, 9), (1.05, 1.1)),
        ((1, 3), (2, 1), (2.0, 0.4)),
    ],
    3: [
        ((3, 5, 4), (7, 4, 9), (2.4, 0.8, 2.3)),
        ((4, 6, 5), (4, 3, 5), (1.05, 0.5, 1.1)),
        ((2, 3, 1), (1, 6, 2), (0.5, 2.0, 2.0)),
    ],
}
_NAMES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def _define(name: str, rank: int, make: Make) -> None:
    cases, backward = [], []
    for t in _LOW:
        for i, (size, new, factors) in enumerate(_SHAPES[rank][: 1 if t else None]):
            given = ", ".join(f"{n}={f}" for n, f in zip(_NAMES[rank], factors, strict=True))
            for setting in ("align_corners=True", "align_corners=False", f"align_corners=False, {given}")[bool(t) :]:
                for g in ("special",) if i else ("normal", "special") if t else ("normal", "special", "zeros"):
                    cases.append(f"self={g}{t}{[2, 3, *size]}#1, output_size={new}, {setting}")
                    backward.append(
                        f"grad_output={g}{t}{[2, 3, *new]}#1, output_size={new}, input_size={(2, 3, *size)}, {setting}"
                    )
    if rank == 2:
        cases += [
            "self=normal[2, 3, 50, 70]#1, output_size=(61, 43), align_corners=False",
            "self=normal[0, 3, 5, 7]#1, output_size=(6, 4), align_corners=False",
        ]
        backward.append(
            "grad_output=normal[2, 3, 61, 43]#1, output_size=(61, 43), input_size=(2, 3, 50, 70), align_corners=False"
        )

    @reference(name, cases=cases)
    def run(self: Tensor, output_size: Sequence[int], align_corners: bool, **factors: Any) -> Tensor:
        x = self
        for dim, taps in _axes(make, self.shape[2:], output_size, align_corners, factors):
            x = _resized(x, dim, len(taps), lambda line, taps=taps: _gathered(line, taps))  # type: ignore[misc]
        return Tensor(self.dtype, x.shape, [rounded(v, self.dtype) for v in x.data])

    @reference(f"{name}_backward", cases=backward)
    def run_back(
        grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], align_corners: bool, **factors: Any
    ) -> Tensor:
        x = grad_output
        for dim, taps in reversed(_axes(make, input_size[2:], output_size, align_corners, factors)):
            size = input_size[dim]
            x = _resized(x, dim, size, lambda line, taps=taps, size=size: _spread(line, taps, size))  # type: ignore[misc]
        return Tensor(grad_output.dtype, x.shape, [rounded(v, grad_output.dtype) for v in x.data])


_define("upsample_linear1d", 1, _linear)
_define("upsample_bilinear2d", 2, _linear)
_define("upsample_trilinear3d", 3, _linear)
_define("upsample_bicubic2d", 2, _cubic)
_define("_upsample_bilinear2d_aa", 2, _smooth(2))
_define("_upsample_bicubic2d_aa", 2, _smooth(4))
_define("_upsample_lanczos2d_aa", 2, _smooth(6))
