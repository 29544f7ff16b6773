# SPDX-License-Identifier: MIT
"""Sums along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from repdl.reveal.batch_norm import BALANCE, signed_roots
from repdl.reveal.setup import Adapter, Ints, Options, Setup, logarithms, ones, takes
from repdl.reveal.tree import Array


def _along(options: Options, name: str, spare: int = 0) -> tuple[str, Array, Array, Ints, int]:
    """For ops along a dimension: words, the operand, the slot, the element without the dimension, the dimension.

    The last places along it that are spare are 0, and not of the slot.
    """
    shape = options.shape or (options.terms + spare,)
    dim = -1 if options.dim is None else options.dim
    if not -len(shape) <= dim < len(shape) or min(shape) < 1:
        raise ValueError(f"[reveal] dimension {dim} is none of shape {shape}")
    dim %= len(shape)
    if shape[dim] <= spare:
        raise ValueError(f"[reveal] {name} must be of more than {spare} along dimension {dim} to be read, got {shape}")
    others = shape[:dim] + shape[dim + 1 :]
    at = options.element_of(others)
    x = ones(*shape)
    row: Array = np.moveaxis(x, dim, -1)[at]
    row[shape[dim] - spare :] = 0
    where = f", element {at}" if others else ""
    return f"{name} of {shape} along dimension {dim}{where}", x, row[: shape[dim] - spare], at, dim


@takes("shape", "dim", "element")
def plain(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)
    return Setup(what, slot, lambda: call(x, dim=dim)[at])


@takes("shape", "dim", "element")
def mean(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)
    return Setup(what, slot, lambda: np.float64(call(x, dim=dim)[at]) * slot.size, exact=False)


def _squares(power: int, centred: bool) -> Adapter:
    """Of var and of roots: the last places make the mean 0, and a correction of N - 1 the divisor 1.

    These places also keep the sum where a root shows its last place.
    """

    @takes("shape", "dim", "element")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        what, x, slot, at, dim = _along(options, name, BALANCE)
        balance = np.moveaxis(x, dim, -1)[at][-BALANCE:]

        def run() -> float:
            balance[...] = -slot.sum(dtype=np.float64) / BALANCE
            arguments = {"correction": x.shape[dim] - 1} if centred else {}
            sum_of_all = np.float64(call(x, dim=dim, **arguments)[at]) ** power
            return float(sum_of_all - np.square(balance, dtype=np.float64).sum())

        return Setup(what, slot, run, put=signed_roots, exact=power == 1, positive=True)

    return adapter


norm, var, std = _squares(2, centred=False), _squares(1, centred=True), _squares(2, centred=True)


def of_complex(adapter: Adapter, to_real: bool = False) -> Adapter:
    """Of real numbers, whose imaginary parts are 0; `to_real` says that the results are real."""

    @takes("shape", "dim", "element")
    def read(call: Callable[..., Any], options: Options, name: str) -> Setup:
        def real(x: Array, **arguments: Any) -> Array:
            result = np.asarray(call(np.stack([x, np.zeros_like(x)], -1), **arguments))
            return result if to_real else result[..., 0]

        return adapter.make(real, options, name)

    return read


@takes("shape", "dim", "element")
def complex_norm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """Of real and imaginary parts by turns along the dimension; where one is left over, 0 comes beside it."""

    def by_turns(x: Array, dim: int) -> Array:
        parts = np.moveaxis(x, dim, -1)
        if parts.shape[-1] % 2:
            parts = np.concatenate([parts, np.zeros_like(parts[..., :1])], -1)
        return np.asarray(call(parts.reshape(*parts.shape[:-1], -1, 2), dim=x.ndim - 1))

    return norm.make(by_turns, options, name)


def _rows_along(x: Array, dim: int) -> tuple[Array, int]:
    """A matrix for weight_norm whose norms go along a dimension, and the dimension that keeps them."""
    if dim == x.ndim - 1:
        return x.reshape(-1, x.shape[dim]), 0
    return np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1), 1


@takes("shape", "dim", "element")
def weight_norm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    def norms(x: Array, dim: int) -> Array:
        v, kept = _rows_along(x, dim)
        g = np.ones_like(v[:, :1] if kept == 0 else v[:1])
        return np.asarray(call(v, g, kept)[1]).reshape(x.shape[:dim] + x.shape[dim + 1 :])

    return norm.make(norms, options, name)


@takes("shape", "dim", "element")
def weight_norm_grad(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """With norms of 1 the gradient of g is the sum."""
    what, grad, slot, at, dim = _along(options, name)
    x = ones(*grad.shape)

    def run() -> Any:
        (u, kept), (v, _) = _rows_along(grad, dim), _rows_along(x, dim)
        norms = np.ones_like(v[:, :1] if kept == 0 else v[:1])
        sums = np.asarray(call(u, v, norms, norms, kept)[1])
        return sums.reshape(grad.shape[:dim] + grad.shape[dim + 1 :])[at]

    return Setup(what, slot, run, np.moveaxis(x, dim, -1)[at])


@takes("shape", "dim", "element")
def cumsum(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)
    last = (*at[:dim], slot.size - 1, *at[dim:])
    return Setup(f"{what}, the last sum", slot, lambda: call(x, dim=dim)[last])


def _softmax(log: bool) -> Adapter:
    @takes("shape", "dim", "element")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        what, x, slot, at, dim = _along(options, name)

        def run() -> float:
            i = int(slot.argmax())  # its term is exp(0) = 1
            result = np.float64(call(x, dim=dim)[(*at[:dim], i, *at[dim:])])
            return float(np.exp(-result) if log else 1 / result)

        return Setup(f"{what}, the denominator", slot, run, put=logarithms, exact=False, positive=True)

    return adapter


softmax, log_softmax = _softmax(False), _softmax(True)


@takes("shape", "dim", "element")
def logsumexp(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)

    def run() -> float:
        return float(np.exp(np.float64(call(x, dim=dim)[at]) - slot.max()))

    return Setup(what, slot, run, put=logarithms, exact=False, positive=True)


def _softmax_grad(log: bool) -> Adapter:
    @takes("shape", "dim", "element")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        what, grad, slot, at, dim = _along(options, name, spare=1)
        output = np.full_like(grad, 0 if log else 0.5)
        last = (*at[:dim], slot.size, *at[dim:])  # where the gradient is 0, so only the sum is left

        def run() -> float:
            return float(-call(grad, output, dim)[last]) / (1 if log else 0.5)

        factors = None if log else np.moveaxis(output, dim, -1)[at][: slot.size]
        return Setup(f"{what}, over all places but the last", slot, run, factors)

    return adapter


softmax_grad, log_softmax_grad = _softmax_grad(False), _softmax_grad(True)


@takes()
def cdist(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """The distance of order 1 from 0 is the sum of terms that are not negative."""
    x = ones(1, options.terms)
    zeros = np.zeros_like(x)
    return Setup(f"{name} of {x.shape} with p = 1", x[0], lambda: call(x, zeros, p=1.0)[0, 0], positive=True)


@takes()
def cdist_grad(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """With p = 1 the slope at 1 - 0 is 1, so the sum is that of the gradients."""
    grad, x1, x2 = ones(1, options.terms), ones(1, 1), np.zeros((options.terms, 1), np.float32)
    distance = ones(1, options.terms)
    what = f"{name} of {grad.shape} with p = 1"
    return Setup(what, grad[0], lambda: call(grad, x1, x2, distance, p=1.0)[0, 0])


@takes()
def pdist(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x = ones(2, options.terms)
    x[1] = 0
    return Setup(f"{name} of {x.shape} with p = 1", x[0], lambda: call(x, p=1.0)[0], positive=True)


@takes()
def grid_sample_grad_grid(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """Half-way between a 0 and a 1 the slope along x is half of the sum of the gradients over the channels."""
    grad, image, grid = ones(1, options.terms, 1, 1), ones(1, options.terms, 1, 2), ones(1, 1, 1, 2)
    image[..., 0], grid[...] = 0, 0
    slot = grad[0, :, 0, 0]
    return Setup(f"{name}, by x", slot, lambda: 2 * call(grad, image, grid, align_corners=True)[0, 0, 0, 0])


@takes()
def max_pool2d_grad(call: Callable[..., Any], options: Options, name: str) -> Setup:
    grad = ones(1, 1, options.terms)
    chosen = np.zeros(grad.shape, np.int64)
    what = f"{name} of {grad.shape}, of windows that all chose the first place"
    return Setup(what, grad[0, 0], lambda: call(grad, chosen, (1, 1, options.terms))[0, 0, 0])
