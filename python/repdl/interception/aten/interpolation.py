# SPDX-License-Identifier: MIT
"""Resizing by interpolation: one axis after another, the last first, each a sum of a few weighted neighbours in order.

Places and weights are computed in double and the weights rounded to the operand's type, as `weight * x` and the sums
are. A sum begins with the first product. An axis that keeps its size is left as it is, whatever the factor, as torch
has it; only a bicubic one without antialiasing is not.

A gradient goes the other way, the first axis first: +0, and for each neighbour in order, and for each place of the
result in order, `grad * weight` is added to the element that the neighbour is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from repdl.interception.override import memory_format, override

Taps = list[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]]
"""For each neighbour its index and its weight, for every place of the result, and which places have it, if not all."""


def _scale(size: int, new: int, align_corners: bool, factor: float | None) -> float:
    """The distance in the operand between neighbours of the result, by the factor where there is one."""
    if align_corners:
        return (size - 1) / (new - 1) if new > 1 else 0.0
    return 1 / factor if factor is not None and factor > 0 else size / new


def _places(new: int, scale: float, align_corners: bool) -> torch.Tensor:
    """Where the places of the result lie in the operand: i * scale, or (i + 1/2) * scale - 1/2."""
    index = torch.arange(new, dtype=torch.float64)
    return index * scale if align_corners else (index + 0.5) * scale - 0.5


def _linear(size: int, new: int, align_corners: bool, factor: float | None) -> Taps:
    """The element at or before a place p, which is 0 at least, and the next one: 1 - w and w = p - floor(p).

    Behind the last element both are the last one.
    """
    place = _places(new, _scale(size, new, align_corners, factor), align_corners).clamp_min(0)
    low = place.floor().clamp_max(size - 1)
    weight = (place - low).clamp_max(1)
    return [(low, 1 - weight, None), ((low + 1).clamp_max(size - 1), weight, None)]


def cubic_weights(t: torch.Tensor, a: float = -0.75) -> list[torch.Tensor]:
    """Of the neighbours at -1, 0, 1, 2 of a place t behind 0, by Keys' polynomials of the distance x.

    ((a + 2) x - (a + 3)) x x + 1 below 1, ((a x - 5 a) x + 8 a) x - 4 a above, each step rounded.
    """

    def near(x: torch.Tensor) -> torch.Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: torch.Tensor) -> torch.Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(size: int, new: int, align_corners: bool, factor: float | None) -> Taps:
    place = _places(new, _scale(size, new, align_corners, factor), align_corners)
    low = place.floor()
    weights = cubic_weights(place - low)
    return [((low + k - 1).clamp(0, size - 1), weight, None) for k, weight in enumerate(weights)]


def _smooth(width: int) -> Callable[..., Taps]:
    """With antialiasing: a filter that is as many times wider as the result is smaller.

    Around the centre c = (i + 1/2) * scale it reaches s = width / 2 * max(scale, 1) to both sides: from the element
    max(trunc(c - s + 1/2), 0) to the one before min(trunc(c + s + 1/2), size). Element j has the weight
    f((j - c + 1/2) / max(scale, 1)), divided by the sum of these in order, unless that is 0. No other element counts,
    with a weight of 0 neither. f(x) is 1 - |x|, or Keys' polynomials with a = -1/2; and 0 beyond.
    """

    def weight(x: torch.Tensor) -> torch.Tensor:
        x = x.abs()
        if width == 2:
            return (1 - x).clamp_min(0)
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        return torch.where(x < 1, near, torch.where(x < 2, far, torch.zeros_like(x)))

    def taps(size: int, new: int, align_corners: bool, factor: float | None) -> Taps:
        scale = _scale(size, new, align_corners, factor)
        stretch = max(scale, 1.0)
        support = width / 2 * stretch
        centre = (torch.arange(new, dtype=torch.float64) + 0.5) * scale
        first = (centre - support + 0.5).trunc().clamp_min(0)
        end = (centre + support + 0.5).trunc().clamp_max(size)
        found = []
        for k in range(max(int((end - first).max()), 1)):
            index = first + k
            inside = weight((index - centre + 0.5) / stretch)
            present = index < end
            found.append((index.clamp_max(size - 1), torch.where(present, inside, torch.zeros_like(inside)), present))
        total = functools.reduce(torch.add, (w for _, w, _ in found))
        return [
            (index, torch.where(total == 0, w, w / total), None if bool(present.all()) else present)
            for index, w, present in found
        ]

    return taps


def _each_axis(
    make: Callable[..., Taps], size: Any, new: Any, align_corners: bool, factors: Any, dtype: torch.dtype
) -> Iterator[tuple[int, Taps]]:
    """The neighbours of each axis that changes, the last first, the weights as they multiply a tensor."""
    rank = len(new)
    for d in reversed(range(rank)):
        if size[2 + d] == new[d] and make is not _cubic:
            continue
        shape = [-1 if i == d else 1 for i in range(rank)]
        taps = make(size[2 + d], new[d], align_corners, factors[d])
        yield (
            2 + d,
            [
                (i.to(torch.int64), w.to(dtype).reshape(shape), None if p is None else p.reshape(shape))
                for i, w, p in taps
            ],
        )


def _gathered(x: torch.Tensor, dim: int, taps: Taps) -> torch.Tensor:
    """The sum of the neighbours that are present; the first is present everywhere."""
    index, weight, _ = taps[0]
    total = x.index_select(dim, index) * weight
    for index, weight, present in taps[1:]:
        more = total + x.index_select(dim, index) * weight
        total = more if present is None else torch.where(present, more, total)
    return total


def _spread(grad: torch.Tensor, dim: int, size: int, taps: Taps) -> torch.Tensor:
    shape = list(grad.shape)
    shape[dim] = size
    total = torch.zeros(shape, dtype=grad.dtype)
    for index, weight, present in taps:
        part = grad * weight
        total = total.index_add(dim, index, part if present is None else torch.where(present, part, 0.0))
    return total


def _laid_out(result: torch.Tensor, operand: torch.Tensor) -> torch.Tensor:
    """In the layout of the operand, and in memory of its own."""
    if result is operand:
        return result.clone(memory_format=memory_format(operand))
    return result.contiguous(memory_format=memory_format(operand))


def _define(name: str, make: Callable[..., Taps]) -> None:
    @override(name, wide="float64")
    def _(self: torch.Tensor, output_size: Any, align_corners: bool, *factors: Any) -> torch.Tensor:
        factors = (*factors, *[None] * (len(output_size) - len(factors)))
        x = self
        for dim, taps in _each_axis(make, self.shape, output_size, align_corners, factors, self.dtype):
            x = _gathered(x, dim, taps)
        return _laid_out(x, self)

    @override(name + "_backward", wide="float64")
    def _(
        grad_output: torch.Tensor, output_size: Any, input_size: Any, align_corners: bool, *factors: Any
    ) -> torch.Tensor:
        factors = (*factors, *[None] * (len(output_size) - len(factors)))
        grad = grad_output
        axes = _each_axis(make, input_size, output_size, align_corners, factors, grad.dtype)
        for dim, taps in reversed(list(axes)):
            grad = _spread(grad, dim, input_size[dim], taps)
        return _laid_out(grad, grad_output)


_define("upsample_linear1d", _linear)
_define("upsample_bilinear2d", _linear)
_define("upsample_trilinear3d", _linear)
_define("upsample_bicubic2d", _cubic)
_define("_upsample_bilinear2d_aa", _smooth(2))
_define("_upsample_bicubic2d_aa", _smooth(4))
