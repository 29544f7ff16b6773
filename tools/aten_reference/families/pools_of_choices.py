# SPDX-License-Identifier: MIT
"""Largest numbers of windows with their places, and the way back; sums of segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from ..numbers import add, div, float32, mul
from ..registry import reference
from ..tensors import Tensor, offset, rounded, size_of
from .choices import larger, smaller
from .in_order import outputs

_LOW = ("", ".bfloat16", ".float16")
_SIZE = {2: "8, 9", 3: "5, 6, 7"}


def _best(self: Tensor, lead: Sequence[int], windows: Sequence[range]) -> int:
    """The place of the largest, the first of equals; NaN before all, the first of them."""
    sizes = self.shape[len(lead) :]
    first = offset(self.shape[: len(lead)], lead) * size_of(sizes)
    best = None
    for at in product(*windows):
        place = offset(sizes, at)
        x = self[(*lead, *at)]
        held = None if best is None else self.data[first + best]
        if best is None or (held == held and not x <= held):
            best = place
    assert best is not None
    return best


def _pooled(self: Tensor, rank: int, windows: Sequence[Sequence[range]]) -> list[Tensor]:
    lead = self.shape[:-rank]
    area = size_of(self.shape[-rank:])
    places = [_best(self, at, window) for at in product(*map(range, lead)) for window in product(*windows)]
    count = math.prod(map(len, windows))
    values = [self.data[i // count * area + place] for i, place in enumerate(places)]
    shape = (*lead, *map(len, windows))
    return [Tensor(self.dtype, shape, values), Tensor("int64", shape, places)]


def _windows(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> list[range]:
    found = []
    for k in range(outputs(size, dilation * (kernel - 1) + 1, stride, padding, ceil_mode)):
        first = k * stride - padding
        last = min(first + dilation * (kernel - 1) + 1, size)
        while first < 0:
            first += dilation
        found.append(range(first, last, dilation))
    return found


def _shares(size: int, count: int) -> list[range]:
    return [range(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]


def _back(grad: Tensor, self: Tensor, indices: Tensor, rank: int) -> Tensor:
    """An element gets the gradients of the windows whose largest it is, in their order."""
    area, count = size_of(self.shape[-rank:]), size_of(grad.shape[-rank:])
    total = [0.0] * len(self.data)
    for i, (g, place) in enumerate(zip(grad.data, indices.data, strict=True)):
        k = i // count * area + place
        total[k] = add(total[k], g)
    return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in total])


def _of_rank(rank: int) -> None:
    def of(*values: int) -> tuple[int, ...]:
        return values[:rank]

    settings = [
        f"kernel_size={of(3, 2, 2)}, stride={of(2, 1, 2)}, padding={of(1, 0, 1)}, dilation={of(1, 1, 1)}, "
        "ceil_mode=False",
        f"kernel_size={of(2, 2, 3)}, stride={of(2, 2, 2)}, padding={of(0, 1, 1)}, dilation={of(1, 2, 1)}, "
        "ceil_mode=True",
    ]
    # torch has no kernel of three dimensions for float16 on the CPU in all versions.
    cases = [
        f"self={g}{t}[2, 3, {_SIZE[rank]}]#1, {s}"
        for t in _LOW
        for g in ("normal", "ties", "zeros", "special")
        for s in settings
    ]

    @reference(f"max_pool{rank}d_with_indices", cases=cases)
    def run(self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> list[Tensor]:
        sides = zip(self.shape[-rank:], kernel_size, stride, padding, dilation, strict=True)
        return _pooled(self, rank, [_windows(*side, ceil_mode) for side in sides])

    sizes = [int(n) for n in _SIZE[rank].split(",")]
    area = math.prod(sizes)
    backward = [
        f"grad_output={g}{t}[2, 3, {', '.join('4' * rank)}]#1, self=normal{t}[2, 3, {_SIZE[rank]}]#2, "
        f"kernel_size={of(2, 2, 2)}, stride={of(1, 1, 1)}, padding={of(0, 0, 0)}, dilation={of(1, 1, 1)}, "
        f"ceil_mode=False, "
        f"indices=classes{area}[2, 3, {', '.join('4' * rank)}]#3"
        for t in _LOW
        for g in ("normal", "zeros")
    ]
    # The shape of the gradient must be that of the output.
    shape = ", ".join(str(n - 1) for n in sizes)
    backward = [call.replace(", ".join("4" * rank), shape) for call in backward]

    @reference(f"max_pool{rank}d_with_indices_backward", cases=backward)
    def run_back(grad_output: Tensor, self: Tensor, indices: Tensor, **settings: Any) -> Tensor:
        return _back(grad_output, self, indices, rank)

    small = ", ".join("345"[:rank])

    @reference(
        f"adaptive_max_pool{rank}d",
        cases=[
            f"self={g}{t}[2, 3, {_SIZE[rank]}]#1, output_size=({small})"
            for t in _LOW
            for g in ("normal", "ties", "special")
        ],
    )
    def run_adaptive(self: Tensor, output_size: Any) -> list[Tensor]:
        return _pooled(
            self, rank, [_shares(n, count) for n, count in zip(self.shape[-rank:], output_size, strict=True)]
        )

    @reference(
        f"adaptive_max_pool{rank}d_backward",
        cases=[
            f"grad_output={g}{t}[2, 3, {small}]#1, self=normal{t}[2, 3, {_SIZE[rank]}]#2, "
            f"indices=classes{area}[2, 3, {small}]#3"
            for t in _LOW
            for g in ("normal", "zeros")
        ],
    )
    def run_adaptive_back(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        return _back(grad_output, self, indices, rank)

    many = f"[1, 1, {'9, ' * (rank - 1)}9000]"
    windows = f", stride={of(1, 1, 1)}, padding={of(0, 0, 0)}" if rank == 3 else ""

    @reference(
        f"max_unpool{rank}d",
        cases=[
            f"self={g}{t}[2, 3, {_SIZE[rank]}]#1, indices=classes{math.prod(to)}[2, 3, {_SIZE[rank]}]#2, "
            f"output_size={to}{windows}"
            for t in _LOW
            for g in ("normal", "zeros", "special")
            for to in (of(3, 4, 2), of(7, 6, 8))
        ]
        # Threads race for a place.
        + [f"self=normal{many}#1, indices=classes4{many}#2, output_size={of(2, 2, 1)}{windows}"],
    )
    def run_unpool(self: Tensor, indices: Tensor, output_size: Any, **settings: Any) -> Tensor:
        """Of several elements with one index the last stays; +0 where there is none."""
        area, count = size_of(output_size), size_of(self.shape[-rank:])
        found: list[Any] = [0.0] * (len(self.data) // count * area)
        for i, (x, place) in enumerate(zip(self.data, indices.data, strict=True)):
            found[i // count * area + place] = x
        return Tensor(self.dtype, (*self.shape[:-rank], *output_size), found)

    @reference(
        f"fractional_max_pool{rank}d_backward",
        cases=[
            f"grad_output=normal[2, 3, {small}]#1, self=normal[2, 3, {_SIZE[rank]}]#2, kernel_size={of(2, 2, 2)}, "
            f"output_size=({small}), indices=classes{area}[2, 3, {small}]#3"
        ],
    )
    def run_fractional_back(
        grad_output: Tensor, self: Tensor, kernel_size: Any, output_size: Any, indices: Tensor
    ) -> Tensor:
        return _back(grad_output, self, indices, rank)


_of_rank(2)
_of_rank(3)


@reference(
    "segment_reduce",
    cases=[
        f"data={g}{t}[9, 5]#1, reduce='{how}', lengths=classes4[3]#{seed}, axis=0, unsafe=True"
        for t in _LOW
        for g in ("normal", "ties")
        for how in ("sum", "mean", "max", "min", "prod")
        for seed in (17,)
    ],
)
def segment_reduce(data: Tensor, reduce: str, lengths: Tensor, axis: int, unsafe: bool) -> Tensor:
    """In order; an empty segment gives the identity, its mean NaN."""
    width = data.shape[1]
    start, found = 0, []
    identity = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}[reduce]
    step = {"max": larger, "min": smaller, "prod": mul}.get(reduce, add)
    for length in lengths.data:
        for j in range(width):
            total = identity
            for i in range(start, start + length):
                total = step(total, data[i, j])
            if reduce == "mean":
                total = div(total, float(length)) if length else math.nan
            found.append(rounded(total, data.dtype))
        start += length
    return Tensor(data.dtype, (len(lengths.data), width), found)


@reference(
    "_segment_reduce_backward",
    cases=[
        f"grad={g}{t}[3, 5]#2, output={x}{t}[3, 5]#3, data={x}{t}[9, 5]#1, reduce='{how}', lengths=classes4[3]#17, "
        f"axis=0{more}"
        for t in _LOW
        for g, x in (("normal", "normal"), ("special", "ties"), ("zeros", "special"), ("normal", "zeros"))
        for how in ("sum", "mean", "max", "min", "prod")
        for more in ("", ", initial=0.3")[: 2 if how == "prod" else 1]
    ],
)
def segment_reduce_backward(
    grad: Tensor, output: Tensor, data: Tensor, reduce: str, lengths: Tensor, axis: int, initial: float = 1.0
) -> Tensor:
    """As torch: of equal largest numbers each gets its part of a positive gradient, but all of a negative one.

    A factor gets gradient * product / factor; one that is 0 or NaN the gradient times the product of the others.
    """
    start, width = 0, data.shape[1]
    result = Tensor(data.dtype, data.shape, [0.0] * len(data.data))
    for k, length in enumerate(lengths.data):
        for j in range(width):
            g, total = grad[k, j], output[k, j]
            segment = range(start, start + length)
            values = [data[i, j] for i in segment]
            count = sum(x != x or x == total for x in values)
            for i, x in zip(segment, values, strict=True):
                if reduce in ("max", "min"):
                    part = g if x != x or x == total else 0.0
                    part = div(part, float(count)) if count > 1 and part > 0 else part
                elif reduce == "prod" and (x != x or x == 0):
                    others = float32(initial)
                    for other in (y for at, y in zip(segment, values, strict=True) if at != i):
                        others = mul(others, other)
                    part = mul(g, others)
                elif reduce == "prod":
                    part = div(mul(g, total), x)
                else:
                    part = div(g, float(length)) if reduce == "mean" else g
                result[i, j] = rounded(part, data.dtype)
        start += length
    return result
