# SPDX-License-Identifier: MIT
"""Bags of rows: sums, means and maxima, in the order of the indices, and their gradients. Rows held to a norm."""

from __future__ import annotations

import math
from typing import Any

from ..numbers import add, div, float32, mul
from ..registry import reference
from ..sums import norm_of, product_of
from ..tensors import Tensor, from_lines, lines, rounded

_LOW = ("", ".bfloat16", ".float16")
_SUM, _MEAN, _MAX = range(3)


def _row(t: Tensor, i: int) -> list[float]:
    return t.data[i * t.shape[1] : (i + 1) * t.shape[1]]


def _table(rows: list[list[float]], width: int, dtype: str) -> Tensor:
    return Tensor(dtype, (len(rows), width), [rounded(x, dtype) for row in rows for x in row])


def _bags(indices: Tensor, offsets: Tensor, include_last_offset: bool) -> list[list[int]]:
    """The places of the indices of each bag; the last bag has all that are left."""
    count = offsets.shape[0] - include_last_offset
    ends = [*offsets.data[1:count], indices.shape[0]] if count else []
    return [list(range(offsets.data[b], ends[b])) for b in range(count)]


# Offsets that are rising have bags of none, of one and, last, of many.
_OFFSETS = (
    ("[40]", "rising.int64[11]", False),
    ("[5]", "rising.int64[11]", True),
    ("[40]", "classes1[3]", False),
    ("[7]", "classes1[1]", False),
    ("[0]", "classes1[2]", False),
)


def _forward_cases() -> list[str]:
    found = []
    for t in _LOW:
        for g in ("normal", "special", "zeros"):
            for count, offsets, last in _OFFSETS[: 2 if t or g == "zeros" else None]:
                for mode in (_SUM, _MEAN, _MAX):
                    for pad in (-1, 3):
                        for weights in ("None", f"wide{t}{count}#4")[: 2 if mode == _SUM else 1]:
                            found.append(
                                f"weight={g}{t}[9, 5]#1, indices=classes9{count}#2, offsets={offsets}#1, mode={mode}, "
                                f"per_sample_weights={weights}, include_last_offset={last}, padding_idx={pad}"
                            )
    return [
        *found,
        "weight=normal[9, 5]#1, indices=classes9.int32[40]#2, offsets=rising.int32[11]#1, mode=1",
        *(
            f"weight=normal[99, 40]#1, indices=classes99[5000]#2, offsets=rising.int64[301]#1, mode={mode}{more}"
            for mode, more in ((_SUM, ", per_sample_weights=normal[5000]#3"), (_MEAN, ", padding_idx=7"), (_MAX, ""))
        ),
    ]


@reference("_embedding_bag", cases=_forward_cases())
@reference("_embedding_bag_forward_only", cases=_forward_cases()[::5])
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> list[Tensor]:
    width = weight.shape[1]
    found, best_rows, bag_of, sizes = [], [], [], []
    for b, places in enumerate(_bags(indices, offsets, include_last_offset)):
        bag_of += [b] * len(places)
        places = [k for k in places if indices.data[k] != padding_idx]
        sizes.append(len(places))
        total, best = [0.0] * width, [0] * width
        for first, k in enumerate(places):
            row = _row(weight, indices.data[k])
            for j, x in enumerate(row):
                if mode == _MAX:
                    if first == 0 or x > total[j]:
                        total[j], best[j] = x, indices.data[k]
                    continue
                if per_sample_weights is not None:
                    x = mul(x, per_sample_weights.data[k])
                total[j] = add(total[j], x)
        found.append([div(x, float(max(len(places), 1))) for x in total] if mode == _MEAN else total)
        best_rows += best
    shape = (len(found), width) if mode == _MAX else (len(found),)
    last = best_rows if mode == _MAX else [0] * len(found)
    return [
        _table(found, width, weight.dtype),
        Tensor(offsets.dtype, indices.shape, bag_of),
        Tensor(offsets.dtype, (len(found),), sizes),
        Tensor(offsets.dtype, shape, last),
    ]


def _backward_cases() -> list[str]:
    found = []
    for t in _LOW:
        for g in ("normal", "special"):
            for mode in (_SUM, _MEAN, _MAX):
                for pad, by_count in ((-1, False), (3, False), (-1, True), (3, True))[: 4 if mode != _MAX else 1]:
                    for weights in ("None", f"wide{t}[40]#4")[: 2 if mode == _SUM else 1]:
                        found.append(
                            f"grad={g}{t}[7, 5]#1, indices=classes9[40]#2, offsets=rising.int64[7]#1, "
                            f"offset2bag=classes7[40]#6, bag_size=classes5[7]#7, maximum_indices=classes9[7, 5]#8, "
                            f"num_weights=11, scale_grad_by_freq={by_count}, mode={mode}, sparse=False, "
                            f"per_sample_weights={weights}, padding_idx={pad}"
                        )
    return [
        *found,
        "grad=normal[99, 40]#1, indices=classes99[5000]#2, offsets=rising.int64[99]#1, offset2bag=classes99[5000]#6, "
        "bag_size=classes99[99]#7, maximum_indices=classes1[99]#8, num_weights=99, scale_grad_by_freq=False, mode=1, "
        "sparse=False, per_sample_weights=None",
    ]


@reference("_embedding_bag_backward", cases=_backward_cases())
def embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
    **others: Any,
) -> Tensor:
    width = grad.shape[1]
    total = [[0.0] * width for _ in range(num_weights)]
    if mode == _MAX:
        for (b, j), i, g in zip(grad.indices(), maximum_indices.data, grad.data, strict=True):
            if bag_size.data[b]:
                total[i][j] = add(total[i][j], g)
        return _table(total, width, grad.dtype)
    for k, (i, b) in enumerate(zip(indices.data, offset2bag.data, strict=True)):
        if i == padding_idx:
            continue
        for j, g in enumerate(_row(grad, b)):
            if mode == _MEAN:
                g = div(g, float(max(bag_size.data[b], 1)))
            if per_sample_weights is not None:
                g = mul(g, per_sample_weights.data[k])
            if scale_grad_by_freq:
                g = div(g, float(indices.data.count(i)))
            total[i][j] = add(total[i][j], g)
    return _table(total, width, grad.dtype)


@reference(
    "_embedding_bag_per_sample_weights_backward",
    cases=[
        f"grad={g}{t}[7, {width}]#1, weight={g}{t}[9, {width}]#2, indices=classes9[40]#3, offsets=rising.int64[7]#1, "
        f"offset2bag=classes7[40]#4, mode=0, padding_idx={pad}"
        for t in _LOW
        for g in ("normal", "special", "zeros")
        for width, pad in ((5, -1), (131, 3))
    ],
)
def by_per_sample_weights(
    grad: Tensor, weight: Tensor, indices: Tensor, offset2bag: Tensor, padding_idx: int, **others: Any
) -> Tensor:
    found = []
    for i, b in zip(indices.data, offset2bag.data, strict=True):
        product = product_of(_row(grad, b), _row(weight, i))
        found.append(0.0 if i == padding_idx else rounded(product, grad.dtype))
    return Tensor(grad.dtype, indices.shape, found)


def held(row: list[float], p: float, largest: float, dtype: str) -> list[float]:
    norm = norm_of(row, p)
    if not norm > float32(largest):
        return row
    scale = div(float32(largest), add(norm, float32(1e-7)))
    return [rounded(mul(x, scale), dtype) for x in row]


_NORMS = ((2, 1.7), (1, 3.3), (math.inf, 0.7), (0, 3), (0.5, 9.1), (3, 1.3))


@reference(
    "embedding_renorm_",
    cases=[
        f"self={g}{t}[9, 7]#1, indices={indices}, max_norm={largest}, norm_type={float(p)}"
        for t in _LOW
        for g in ("normal", "special")
        for p, largest in _NORMS
        for indices in ("classes9[5]#2", "classes4[40]#3")[: 2 if p == 2 else 1]
    ]
    + [
        "self=normal[9, 301]#1, indices=classes5.int32[3, 4]#2, max_norm=0.3, norm_type=2.0",
        "self=zeros[9, 7]#1, indices=classes9[9]#2, max_norm=1.0, norm_type=inf",  # the norm is just that
    ],
)
def embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    rows = [
        held(_row(self, i), norm_type, max_norm, self.dtype) if i in indices.data else _row(self, i)
        for i in range(self.shape[0])
    ]
    return _table(rows, self.shape[1], self.dtype)


@reference(
    "renorm",
    cases=[
        f"self={g}{t}[5, 7, 3]#1, p={p}, dim={dim}, maxnorm={largest}"
        for t in _LOW
        for g in ("normal", "special")
        for (p, largest), dim in zip(_NORMS, (0, 1, 2, -1, 0, 1), strict=True)
        if p > 0  # torch refuses others
    ]
    + [
        "self=normal[5, 5003]#1, p=2, dim=0, maxnorm=3.1",
        "self=normal[301, 5]#1, p=2, dim=1, maxnorm=3.1",
        "self=zeros[9, 7]#1, p=inf, dim=0, maxnorm=1",
    ],
)
def renorm(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each slice along a dimension, as one row."""
    dim %= len(self.shape)
    count = self.shape[dim]
    moved = [x for line in lines(self, dim) for x in line]  # a line has one number of each slice
    slices = [held(moved[i::count], p, maxnorm, self.dtype) for i in range(count)]
    return from_lines([list(line) for line in zip(*slices, strict=True)], self.shape, dim, self.dtype)
