# SPDX-License-Identifier: MIT
"""The sums of the norms of rows: layer_norm and rms_norm, and group_norm, whose rows are groups of channels.

An input is an array of rows, and a row one of channels, which have a weight each, and their places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from repdl.reveal.batch_norm import BALANCE, signed_roots
from repdl.reveal.setup import Adapter, Ints, Options, Setup, ones, takes
from repdl.reveal.tree import Array

FAR = 2.0**60
"""A product with it leaves nothing of a sum beside it."""


Statistics: TypeAlias = Callable[[Callable[..., Any], Array], tuple[Array, ...]]
"""From the op and its input, with an eps of 0: what it says of each row, last the reciprocal of the root."""
Gradients: TypeAlias = Callable[[Callable[..., Any], Array, Array, Array], tuple[Array, ...]]
"""From the op, the gradient of the output, the input and the weight, with means of 0 and reciprocals of 1."""


@dataclass(frozen=True)
class Rows:
    """How an input lies in rows."""

    sizes: str
    number: int
    """So many of the sizes count the rows."""

    def shape(self, options: Options, default: Ints) -> Ints:
        shape = default if options.shape is None else options.shape
        short = len(shape) <= self.number or (len(shape) != len(default) and "…" not in self.sizes)
        if short or min(shape) < 1:
            raise ValueError(f"[reveal] shape must be {self.sizes}, each at least 1; got {shape}")
        return shape


def _layer_norm(call: Callable[..., Any], x: Array) -> tuple[Array, ...]:
    """Also rms_norm, which has no mean."""
    _, *statistics = call(x, x.shape[1:], eps=0.0)
    return tuple(of_rows[:, 0] for of_rows in statistics)


def _torch_rms_norm(call: Callable[..., Any], x: Array) -> tuple[Array, ...]:
    """From an output beside an input of 1, or of -1."""
    at = np.arange(len(x)), abs(x).argmax(-1)
    return (call(x, x.shape[1:], eps=0.0)[at] / x[at],)


def _results(results: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """By the input and the parameters, or by the input alone."""
    return results if isinstance(results, tuple) else (results,)


def _layer_norm_grad(call: Callable[..., Any], grad: Array, x: Array, weight: Array) -> tuple[Array, ...]:
    rstd = np.ones_like(x[:, :1])
    return _results(call(grad, x, x.shape[1:], np.zeros_like(rstd), rstd, weight))


def _rms_norm_grad(call: Callable[..., Any], grad: Array, x: Array, weight: Array) -> tuple[Array, ...]:
    return _results(call(grad, x, x.shape[1:], np.ones_like(x[:, :1]), weight))


def _channels(x: Array) -> Array:
    return x.reshape(len(x), -1, *x.shape[3:])


def _group_norm(call: Callable[..., Any], x: Array) -> tuple[Array, ...]:
    _, *statistics = call(_channels(x), x.shape[1], eps=0.0)
    return tuple(statistics)


def _group_norm_grad(call: Callable[..., Any], grad: Array, x: Array, weight: Array) -> tuple[Array, ...]:
    rstd = np.ones(x.shape[:2], np.float32)
    args = (_channels(grad), _channels(x), np.zeros_like(rstd), rstd, weight.ravel())
    grad_x, *of_channels = _results(call(*args))
    return (grad_x.reshape(x.shape), *(of.reshape(weight.shape) for of in of_channels))


LAYERS = Rows("ROWS,N", 1)
GROUPS = Rows("N,G,K or N,G,K,…, with K channels in each of G groups", 2)


def _row(rows: Rows, options: Options, terms: int) -> tuple[Array, Ints]:
    """An input, and the row that is read."""
    shape = rows.shape(options, (*(2,) * rows.number, terms))
    return ones(*shape), options.element_of(shape[: rows.number])


def _mean(rows: Rows, statistics: Statistics) -> Adapter:
    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        x, at = _row(rows, options, options.terms)
        run = lambda: np.float64(statistics(call, x)[0][at]) * x[at].size  # noqa: E731
        return Setup(f"{name} of {x.shape}, the mean of row {at}", x[at], run, exact=False)

    return adapter


def _power_of_four(least: int) -> int:
    return 1 << (least - 1).bit_length() + (least - 1).bit_length() % 2


def _squares(rows: Rows, statistics: Statistics, what: str) -> Adapter:
    """As the variance of batch_norm, but the result is 1 / sqrt(sum / N).

    That shows the last place of a sum of 1 + 1 / BALANCE if it is divided by a power of four.
    """

    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        x, at = _row(rows, options, _power_of_four(options.terms + BALANCE))
        squares = x[at].reshape(-1)
        if squares.size <= BALANCE or squares.size != _power_of_four(squares.size):
            raise ValueError(
                f"[reveal] the {what} of {name} is read of a shape {rows.sizes} with a power of four of values in each "
                f"row, above {BALANCE}, got {x.shape}: give another shape, or n"
            )
        squares[...] = 0
        slot = squares[: options.terms if options.shape is None else -BALANCE]
        balance = squares[-BALANCE:]

        def run() -> float:
            balance[...] = -slot.sum(dtype=np.float64) / BALANCE
            sum_of_all = squares.size / np.float64(statistics(call, x)[-1][at]) ** 2
            return float(sum_of_all - np.square(balance, dtype=np.float64).sum())

        words = f"{name} of {x.shape}, the {what} of row {at}, its first {slot.size} terms"
        return Setup(words, slot, run, put=signed_roots, exact=False, positive=True)

    return adapter


def _over_rows(rows: Rows, gradients: Gradients, parameter: str, place: int) -> Adapter:
    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        shape = rows.shape(options, (options.terms, *(2,) * rows.number))
        at = options.element_of(shape[1 : rows.number + 1])
        grad, x, weight = ones(*shape), ones(*shape), ones(*shape[1 : rows.number + 1])
        of_weight: tuple[Any, ...] = (slice(None), *at)
        what = f"{name} of {shape}, the gradient of {parameter} {at}"
        factors = x[of_weight] if parameter == "weight" else None
        return Setup(what, grad[of_weight], lambda: gradients(call, grad, x, weight)[place][at], factors)

    return adapter


def _over_row(rows: Rows, gradients: Gradients, which: str) -> Adapter:
    """a, the sum of the gradients, or b, that of their products with the normalized input.

    The gradient of the last channel is 0, so that of its input is a / N + h b / N with its normalized input h. For a,
    that is 0, and for b, FAR.
    """

    @takes("shape", "element", "sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        grad, at = _row(rows, options, options.terms + 1)
        if len(grad[at]) < 2:
            raise ValueError(f"[reveal] {which} of {name} is read of rows of more than 1 channel, got {grad.shape}")
        grad[at][-1] = 0
        x, weight = ones(*grad.shape), ones(*grad.shape[1 : rows.number + 1])
        x[at] = 1 if which == "b" else 0
        x[at][-1] *= FAR
        scale = -grad[at].size / (FAR if which == "b" else 1)
        factors = weight[at[1:]][:-1].reshape(-1, *(1,) * (grad[at].ndim - 1))
        run = lambda: np.float64(gradients(call, grad, x, weight)[0][at].flat[-1]) * scale  # noqa: E731
        what = f"{name} of {grad.shape}, {which} of row {at}, over all channels but the last"
        return Setup(what, grad[at][:-1], run, factors, exact=False)

    return adapter


def _gradients(rows: Rows, gradients: Gradients) -> dict[str, Adapter]:
    return {
        "bias": _over_rows(rows, gradients, "bias", 2),
        "weight": _over_rows(rows, gradients, "weight", 1),
        **_gradient_by_input(rows, gradients),
    }


def _gradient_by_input(rows: Rows, gradients: Gradients) -> dict[str, Adapter]:
    return {"a": _over_row(rows, gradients, "a"), "b": _over_row(rows, gradients, "b")}


layer_norm = {"mean": _mean(LAYERS, _layer_norm), "variance": _squares(LAYERS, _layer_norm, "variance")}
layer_norm_grad = _gradients(LAYERS, _layer_norm_grad)
layer_norm_grad_input = _gradient_by_input(LAYERS, _layer_norm_grad)
group_norm = {"mean": _mean(GROUPS, _group_norm), "variance": _squares(GROUPS, _group_norm, "variance")}
group_norm_grad = _gradients(GROUPS, _group_norm_grad)
group_norm_grad_input = _gradient_by_input(GROUPS, _group_norm_grad)
rms_norm = _squares(LAYERS, _layer_norm, "mean square")
torch_rms_norm = _squares(LAYERS, _torch_rms_norm, "mean square")
rms_norm_grad = {
    "weight": _over_rows(LAYERS, _rms_norm_grad, "weight", 1),
    "b": _over_row(LAYERS, _rms_norm_grad, "b"),
}
rms_norm_grad_input = {"b": rms_norm_grad["b"]}
