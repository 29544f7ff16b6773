# SPDX-License-Identifier: MIT
"""Formulas in long doubles, which have 64 bits here, and 113 on some machines: at least 11 more than doubles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

Array = np.ndarray
LongDouble = np.longdouble
PI = 4 * np.arctan(LongDouble(1))
DIGITS = 40
"""Of mpmath."""


def total(x: Array, axis: int = -1) -> Array:
    """Sums of numbers that are doubles, exact and then rounded to about 106 bits."""

    def of_row(row: Array) -> Any:
        terms = row.astype(np.float64).tolist()
        high = math.fsum(terms)
        return LongDouble(high) + LongDouble(math.fsum([*terms, -high]))

    return np.apply_along_axis(of_row, axis, x)


def by_mpmath(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of a number, or of several, by mpmath with 40 digits, for each element."""

    def of_number(*numbers: float) -> Any:
        value = function(*map(mpmath.mpf, numbers))
        high = float(value)
        return LongDouble(high) + LongDouble(float(value - high))

    def of_arrays(*arrays: Array) -> Array:
        with mpmath.workdps(DIGITS):
            flat = [of_number(*map(float, numbers)) for numbers in zip(*(a.ravel() for a in arrays))]
        return np.array(flat, dtype=LongDouble).reshape(arrays[0].shape)

    return of_arrays


def logsumexp(x: Array) -> Array:
    top = x.max(-1, keepdims=True)
    return (top + np.log(np.exp(x - top).sum(-1, keepdims=True)))[..., 0]


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def softmax(x: Array) -> Array:
    exps = np.exp(x - x.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def cross_entropy(x: Array, labels: Array) -> Array:
    return -np.take_along_axis(log_softmax(x), labels[:, None], 1)[:, 0]


def standardized(x: Array, axes: tuple[int, ...] = (-1,), eps: float = 1e-5) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + LongDouble(eps))


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def attention(q: Array, k: Array, v: Array, causal: bool = False) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(LongDouble(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


def convolution(x: Array, weight: Array, padding: int = 0, stride: int = 1) -> Array:
    """In two dimensions."""
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.tensordot(windows, weight, ([1, 4, 5], [1, 2, 3])).transpose(0, 3, 1, 2)


def resized(x: Array, size: int, weight: Callable[[Array], Array], reach: int) -> Array:
    """Images of another size, whose weights are a function of the distance; numbers at the edges are repeated."""
    for axis in (-2, -1):
        length = x.shape[axis]
        at = (np.arange(size, dtype=LongDouble) + 0.5) * length / size - 0.5
        if reach == 1:
            at = at.clip(0, None)
        matrix = np.zeros((size, length), dtype=LongDouble)
        for step in range(1 - reach, 1 + reach):
            near = np.floor(at).astype(int) + step
            np.add.at(matrix, (np.arange(size), near.clip(0, length - 1)), weight(np.abs(at - near)))
        x = np.moveaxis(np.tensordot(x, matrix, ([axis], [1])), -1, axis)
    return x


def linear_weight(distance: Array) -> Array:
    return 1 - distance


def cubic_weight(d: Array) -> Array:
    a = LongDouble(-0.75)
    return np.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a)
