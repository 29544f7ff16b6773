# SPDX-License-Identifier: MIT
"""The sums of batch normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from repdl.reveal.setup import Adapter, Options, Setup, ones, takes
from repdl.reveal.tree import Array

BALANCE = 8
"""So many samples balance the others, so that the mean is 0: of few, the squares would be too great."""

Statistics = Callable[[Callable[..., Any], Array], tuple[Array, Array]]
"""From the op and its input: mean and biased variance of each channel."""


def _ours(call: Callable[..., Any], x: Array) -> tuple[Array, Array]:
    _, mean, var = call(x)
    return mean, var


def _statistics(call: Callable[..., Any], x: Array) -> tuple[Array, Array]:
    mean, var = call(x)
    return mean, var


def _torchs(call: Callable[..., Any], x: Array) -> tuple[Array, Array]:
    """From the running statistics, which forget the old ones at once."""
    mean, var = np.zeros((2, x.shape[1]), np.float32)
    call(x, mean, var, training=True, momentum=1.0)
    number = x.size // x.shape[1]
    return mean, var.astype(np.float64) * (number - 1) / number


def _of_channel(options: Options, default: tuple[int, ...]) -> tuple[Array, int]:
    shape = options.shape or default
    if len(shape) < 2 or min(shape) < 1:
        raise ValueError(f"[reveal] shape must be N,C or N,C,…, each at least 1; got {shape}")
    return ones(*shape), options.element_of(shape[1:2])[0]


def _mean(statistics: Statistics) -> Adapter:
    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        x, channel = _of_channel(options, (options.terms, 4))
        slot = x[:, channel]
        run = lambda: np.float64(statistics(call, x)[0][channel]) * slot.size  # noqa: E731
        return Setup(f"{name} of {x.shape}, the mean of channel {channel}", slot, run, exact=False)

    return adapter


def signed_roots(terms: Array) -> Array:
    """Numbers with these squares, the signs by turns, so that their sum is small; and so short that it is exact."""
    roots = np.rint(np.sqrt(terms) * 2.0**15).ravel() / 2.0**15
    roots[np.argsort(-roots, kind="stable")[1::2]] *= -1
    return np.asarray(roots.reshape(terms.shape))


def _variance(statistics: Statistics, exact: bool) -> Adapter:
    """Squares are not negative, and are taken of what is left beside the mean: so the last samples make that 0."""

    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        x, channel = _of_channel(options, (1 << (options.terms + BALANCE - 1).bit_length(), 4))
        squares = x[:, channel]
        if squares.size & (squares.size - 1) or len(x) <= BALANCE:  # else the mean square would be rounded
            raise ValueError(
                f"[reveal] the variance is read of a shape N,C,… with N above {BALANCE} and a power of two of values "
                f"in each channel, got {x.shape}: give another shape, or n"
            )
        squares[...] = 0
        slot = squares[: options.terms if options.shape is None else -BALANCE]
        balance = x.reshape(*x.shape[:2], -1)[-BALANCE:, channel, 0]

        def run() -> float:
            balance[...] = -slot.sum(dtype=np.float64) / BALANCE
            sum_of_all = np.float64(statistics(call, x)[1][channel]) * squares.size
            return float(sum_of_all - np.square(balance, dtype=np.float64).sum())

        what = f"{name} of {x.shape}, the variance of channel {channel}, its first {slot.size} terms"
        return Setup(what, slot, run, put=signed_roots, exact=exact, positive=True)

    return adapter


def _gradient(parameter: str, place: int) -> Adapter:
    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        grad, channel = _of_channel(options, (options.terms, 4))
        x, var = np.ones_like(grad), ones(grad.shape[1])
        mean = np.zeros_like(var)
        what = f"{name} of {grad.shape}, the gradient of the {parameter} of channel {channel}"
        factors = x[:, channel] if parameter == "weight" else None
        return Setup(what, grad[:, channel], lambda: call(grad, x, mean, var, eps=0.0)[place][channel], factors)

    return adapter


batch_norm = {"mean": _mean(_ours), "variance": _variance(_ours, exact=True)}
batch_norm_stats = {"mean": _mean(_statistics), "variance": _variance(_statistics, exact=True)}
torch_batch_norm = {"mean": _mean(_torchs), "variance": _variance(_torchs, exact=False)}
batch_norm_grad = {"bias": _gradient("bias", 2), "weight": _gradient("weight", 1)}
