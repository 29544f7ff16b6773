# SPDX-License-Identifier: MIT
"""Samples of an image or volume at the places of a grid: weighted neighbours, added in the order of their places.

Every step is rounded to the type of the operand. A neighbour outside of the image counts as +0, whatever its weight. A
place of which a coordinate is NaN has the sample NaN, and so is its gradient unless elements are the nearest.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from repdl.interception.aten.interpolation import cubic_weights
from repdl.interception.aten.reduction import sum_of
from repdl.interception.override import ops_of, override

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _place(g: torch.Tensor, size: int, align_corners: bool) -> torch.Tensor:
    """From [-1, 1] to an index: between the centres of the corners, (g + 1) * ((size - 1) / 2), or their edges."""
    if align_corners:
        return (g + 1) * ((size - 1) / 2)
    return ((g + 1) * size - 1) / 2


def _held(x: torch.Tensor, size: int, padding: int, align_corners: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """A place brought into the image as the padding says, and the derivative of that, 1, 0 or -1.

    A reflection is that of |x - low| by the remainder and the floor of its quotient by the span; an infinite place has
    none. Then, and for a border, what lies beyond the outermost elements is brought to these.
    """
    sign = torch.ones_like(x)
    if padding == _ZEROS:
        return x, sign
    if padding == _REFLECTION:
        low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if span == 0:
            return torch.zeros_like(x), torch.zeros_like(x)
        sign = torch.where(x < low, -sign, sign)
        away = (x - low).abs()
        flips = (away / span).floor()
        rest = torch.fmod(away, span)
        odd = torch.fmod(flips, 2) != 0
        sign = torch.where(odd, -sign, sign)
        x = torch.where(odd, span - rest + low, rest + low)
    inside = (x > 0) & (x < size - 1)
    return x.clamp(0, size - 1), torch.where(inside, sign, torch.zeros_like(sign))


def _whole(x: torch.Tensor) -> torch.Tensor:
    """To an index; NaN and what no image has to one outside."""
    return x.nan_to_num(-100.0, -100.0, -100.0).clamp(-100, 2**30).to(torch.int64)


Taps = list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
"""For each neighbour along an axis: its index, its weight, and the derivative of that by the place."""


def _taps(x: torch.Tensor, size: int, mode: int, padding: int, align_corners: bool) -> Taps:
    """Of a place p: floor(p) with the weight (floor(p) + 1) - p and the next one with p - floor(p); or the nearest
    element, the even one of two; or four with Keys' weights, each of which is brought into the image by itself.
    """
    if mode == _CUBIC:
        low = x.floor()
        t = x - low
        slopes = _cubic_slopes(t)
        found = []
        for k, weight in enumerate(cubic_weights(t)):
            index, _ = _held(low + (k - 1), size, padding, align_corners)
            found.append((_whole(index), weight, slopes[k]))
        return found
    place, slope = _held(x, size, padding, align_corners)
    if mode == _NEAREST:
        return [(_whole(place.round()), torch.ones_like(place), torch.zeros_like(place))]
    low = place.floor()
    return [(_whole(low), low + 1 - place, slope.neg()), (_whole(low + 1), place - low, slope)]


def _cubic_slopes(t: torch.Tensor, a: float = -0.75) -> list[torch.Tensor]:
    def near(x: torch.Tensor) -> torch.Tensor:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: torch.Tensor) -> torch.Tensor:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [far(t + 1), near(t), near(1 - t).neg(), far(2 - t).neg()]


class _Sampling:
    """The neighbours of every place of a grid, and how they are read and written."""

    def __init__(self, input: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool) -> None:
        self.sizes = input.shape[2:]
        self.rank = len(self.sizes)
        self.factors = [(size - 1) / 2 if align_corners else size / 2 for size in reversed(self.sizes)]
        # The grid's last axis is x, y, z; the image's are z, y, x. The neighbours go along x first.
        self.axes = [
            _taps(
                _place(grid[..., d], self.sizes[-1 - d], align_corners),
                self.sizes[-1 - d],
                mode,
                padding,
                align_corners,
            )
            for d in range(self.rank)
        ]
        self.shape = grid.shape[1:-1]
        self.lost = grid.isnan().any(-1)

    def neighbours(self) -> Any:
        """For each neighbour: its place in the image as a row, whether it lies in it, and its taps by axis."""
        for corner in itertools.product(*reversed(self.axes)):
            taps = corner[::-1]
            flat = torch.zeros_like(taps[0][0])
            inside = torch.ones_like(flat, dtype=torch.bool)
            for d in reversed(range(self.rank)):
                size = self.sizes[-1 - d]
                inside = inside & (taps[d][0] >= 0) & (taps[d][0] < size)
                flat = flat * size + taps[d][0].clamp(0, size - 1)
            yield self._rows(flat), self._rows(inside), [(self._rows(w), self._rows(s)) for _, w, s in taps]

    def _rows(self, t: torch.Tensor) -> torch.Tensor:
        return t.flatten(1)[:, None]

    @staticmethod
    def weight(taps: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        product = taps[0][0]
        for weight, _ in taps[1:]:
            product = product * weight
        return product


def _if_inside(inside: torch.Tensor, term: torch.Tensor) -> torch.Tensor:
    return torch.where(inside, term, torch.zeros_like(term))


def _sample(input: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool) -> torch.Tensor:
    """The sum of element * weight, with x * y * z for a weight; x changes first, then y, then z."""
    sampling = _Sampling(input, grid, mode, padding, align_corners)
    image = input.flatten(2)
    total = None
    for place, inside, taps in sampling.neighbours():
        value = image.gather(2, place.expand(-1, image.shape[1], -1)) * sampling.weight(taps)
        value = _if_inside(inside, value)
        total = value if total is None else total + value
    assert total is not None
    return total.reshape(*input.shape[:2], *sampling.shape).masked_fill(sampling.lost[:, None], math.nan)


def _sample_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
    output_mask: Any,
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """An element gets grad * weight, neighbour after neighbour and of each place after place, added to +0.

    A place with a coordinate that is NaN gets NaN. Another one gets for each neighbour Sum(element * grad) over the
    channels, times the product of the weights in which one is its derivative, added to +0 neighbour after neighbour,
    and at last times half of the size (less 1 between centres). The nearest element has no derivative: +0.
    """
    sampling = _Sampling(input, grid, mode, padding, align_corners)
    image = input.flatten(2)
    grad = grad_output.flatten(2)
    by_input = torch.zeros_like(image, memory_format=torch.contiguous_format)
    by_place = [image.new_zeros(input.shape[0], grad.shape[2]) for _ in range(sampling.rank)]
    for place, inside, taps in sampling.neighbours():
        places = place.expand(-1, image.shape[1], -1)
        if output_mask[0]:
            part = grad * sampling.weight(taps)
            by_input = by_input.scatter_add(2, places, _if_inside(inside, part))
        if mode == _NEAREST:
            continue
        along = sum_of(image.gather(2, places) * grad, 1, True, ops_of(grad))
        for d in range(sampling.rank):
            slope = sampling.weight([(s if i == d else w, s) for i, (w, s) in enumerate(taps)])
            by_place[d] = by_place[d] + _if_inside(inside, along * slope)[:, 0]
    by_grid = torch.stack([g * factor for g, factor in zip(by_place, sampling.factors, strict=True)], -1)
    by_grid = by_grid.reshape(grid.shape)
    if mode != _NEAREST:
        by_grid = by_grid.masked_fill(sampling.lost[..., None], math.nan)
    return by_input.reshape(input.shape) if output_mask[0] else None, by_grid


override("grid_sampler_2d", "grid_sampler_3d", wide="float64")(_sample)
override("grid_sampler_2d_backward", "grid_sampler_3d_backward", wide="float64")(_sample_backward)
