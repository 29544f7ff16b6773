# SPDX-License-Identifier: MIT
"""Sums of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from repdl.reveal.setup import Ints, Options, Setup, ones, takes
from repdl.reveal.tree import Array


@takes("shape", "element")
def mm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    m, k, n = options.shape_or((32, options.terms, 32), "M,K,N")
    a, b, at = ones(m, k), ones(k, n), options.element_of((m, n))
    return Setup(
        f"{name} of ({m}, {k}) and ({k}, {n}), element {at}, over k", a[at[0]], lambda: call(a, b)[at], b[:, at[1]]
    )


@takes("shape", "element")
def mv(call: Callable[..., Any], options: Options, name: str) -> Setup:
    m, k = options.shape_or((32, options.terms), "M,K")
    a, b, (row,) = ones(m, k), ones(k), options.element_of((m,))
    return Setup(f"{name} of ({m}, {k}) and ({k},), element {row}, over k", a[row], lambda: call(a, b)[row], b)


@takes()
def dot(call: Callable[..., Any], options: Options, name: str) -> Setup:
    a, b = ones(options.terms), ones(options.terms)
    return Setup(f"{name} of ({len(a)},) and ({len(b)},)", a, lambda: call(a, b), b)


@takes("shape", "element")
def addmm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """Plus a row of 0."""
    return mm.make(lambda a, b: call(np.zeros(b.shape[1], np.float32), a, b), options, name)


@takes("shape", "element")
def complex_mm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """Of real numbers, whose imaginary parts are 0."""

    def real(a: Array, b: Array) -> Array:
        pairs = [np.stack([x, np.zeros_like(x)], -1) for x in (a, b)]
        return np.asarray(call(*pairs)[..., 0])

    return mm.make(real, options, name)


@takes("shape", "element")
def sampled_mm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """All elements, in the order of rows."""

    def whole(a: Array, b: Array) -> Array:
        shape = len(a), b.shape[1]
        return np.asarray(call(a, b, *(i.reshape(-1) for i in np.indices(shape)))).reshape(shape)

    return mm.make(whole, options, name)


@takes("shape", "element")
def linear(call: Callable[..., Any], options: Options, name: str) -> Setup:
    rows, k, outputs = options.shape_or((32, options.terms, 32), "ROWS,K,OUTPUTS")
    x, w, at = ones(rows, k), ones(outputs, k), options.element_of((rows, outputs))
    what = f"{name} of input ({rows}, {k}) and weight ({outputs}, {k}), element {at}, over k"
    return Setup(what, x[at[0]], lambda: call(x, w)[at], w[at[1]])


def _kernel_of(n: int) -> tuple[int, int]:
    """Channels, and height and width of a kernel with so many terms."""
    return (n // 9, 3) if n % 9 == 0 else (n, 1)


CONVOLUTION = "N,C,H,W,O,KH,KW"


def _convolution(default: Ints, options: Options) -> tuple[Array, Array, Array]:
    """Input, weight and output of a convolution without stride and padding."""
    n, c, h, w, o, kh, kw = options.shape_or(default, CONVOLUTION)
    if kh > h or kw > w:
        raise ValueError(f"[reveal] a kernel of {kh} × {kw} is larger than an image of {h} × {w}")
    return ones(n, c, h, w), ones(o, c, kh, kw), ones(n, o, h - kh + 1, w - kw + 1)


@takes("shape", "element")
def conv2d(call: Callable[..., Any], options: Options, name: str) -> Setup:
    channels, size = _kernel_of(options.terms)
    x, w, y = _convolution((1, channels, 8, 8, 8, size, size), options)
    at = options.element_of(y.shape)
    what = f"{name} of input {x.shape} and weight {w.shape}, element {at}, over channel, row, column"
    seen = x[at[0], :, at[2] : at[2] + w.shape[2], at[3] : at[3] + w.shape[3]]
    return Setup(what, w[at[1]], lambda: call(x, w)[at], seen)


@takes("shape", "element")
def conv2d_grad_input(call: Callable[..., Any], options: Options, name: str) -> Setup:
    channels, size = _kernel_of(options.terms)
    x, w, y = _convolution((1, 8, 8, 8, channels, size, size), options)
    (height, width), (kh, kw) = x.shape[2:], w.shape[2:]
    at = options.element_of(x.shape, (0, 0, kh - 1, kw - 1))
    if not (kh <= at[2] + 1 <= height - kh + 1 and kw <= at[3] + 1 <= width - kw + 1):
        raise ValueError(
            f"[reveal] element {at} of an input {x.shape} does not lie below a whole kernel of {kh} × {kw} on all "
            f"sides: give another shape {CONVOLUTION} or element"
        )
    what = f"{name} of input {x.shape} and weight {w.shape}, element {at}, over channel, row, column"
    seen = y[at[0], :, at[2] - kh + 1 : at[2] + 1, at[3] - kw + 1 : at[3] + 1][:, ::-1, ::-1]
    return Setup(what, w[:, at[1]], lambda: call(x.shape, w, y)[at], seen)


@takes("shape", "element")
def conv2d_grad_kernel(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x, w, y = _convolution((1, 4, 3, options.terms + 2, 4, 3, 3), options)
    at = options.element_of(w.shape)
    what = f"{name} of input {x.shape} and output {y.shape}, element {at}, over sample, row, column"
    seen = x[:, at[1], at[2] : at[2] + y.shape[2], at[3] : at[3] + y.shape[3]]
    return Setup(what, y[:, at[0]], lambda: call(x, w.shape, y)[at], seen)
