# SPDX-License-Identifier: MIT
"""The sums of cross entropy and of its gradient.

Scores of 0 for one class and -128 for all others make exp(-128) = +0, so that the loss of a class is 128, a power of
two, and that of the one is 0. That class is the last, and adds nothing to the sum over the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from repdl.reveal.setup import Options, Setup, logarithms, ones, takes
from repdl.reveal.tree import Array

LOSS = 128.0
SMALL, LARGE = 2.0**-100, 2.0**100


def _scores(samples: int, classes: int) -> Array:
    x = ones(samples, classes)
    x[...] = -LOSS
    x[:, -1] = 0
    return x


def _of_classes(options: Options, name: str) -> tuple[str, Array, int]:
    """Words, scores and the sample that is read."""
    samples, classes = options.shape_or((1, options.terms + 1), "N,C")
    if classes < 2:
        raise ValueError(f"[reveal] shape must be N,C with C at least 2, got {(samples, classes)}")
    (at,) = options.element_of((samples,))
    return f"{name} of {(samples, classes)}, sample {at}", _scores(samples, classes), at


def _by_loss(terms: Array) -> Array:
    return terms / np.float32(LOSS)


@takes("shape", "element", "sum")
def denominator(call: Callable[..., Any], options: Options, name: str) -> Setup:
    samples, classes = options.shape_or((1, options.terms), "N,C")
    (at,) = options.element_of((samples,))
    x, target = ones(samples, classes), np.zeros(samples, np.int64)

    def run() -> float:
        target[at] = x[at].argmax()  # its term is exp(0) = 1
        return float(np.exp(np.float64(call(x, target, reduction="none")[at])))

    what = f"{name} of {(samples, classes)}, sample {at}, the denominator"
    return Setup(what, x[at], run, put=logarithms, exact=False, positive=True)


@takes("shape", "element", "sum")
def classes(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, at = _of_classes(options, name)
    target = np.zeros_like(x)
    return Setup(
        f"{what}, over all classes but the last", target[at, :-1],
        lambda: call(x, target, reduction="none")[at], put=_by_loss,
    )  # fmt: skip


@takes("shape", "element", "sum")
def smoothing(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, at = _of_classes(options, name)
    target, weight = np.full(len(x), x.shape[1] - 1), ones(x.shape[1])

    def run() -> float:
        loss = call(x, target, weight, reduction="none", label_smoothing=1.0)[at]
        return float(np.float64(loss) * x.shape[1])

    return Setup(f"{what}, smoothed over all classes but the last", weight[:-1], run, put=_by_loss, exact=False)


@takes("sum")
def samples(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x = _scores(options.terms, 2)
    target = np.zeros_like(x)
    what = f"{name} of {x.shape}, over the samples"
    return Setup(what, target[:, 0], lambda: call(x, target, reduction="sum"), put=_by_loss)


def _weighted(terms: int) -> tuple[Array, Array, Array]:
    """Scores, classes, weights: each sample has a class of its own, and no loss but the last, which weighs little."""
    x = np.where(np.eye(terms + 1), 0, -LOSS).astype(np.float32)
    x[-1] = -LARGE
    x[-1, 0] = 0
    weight = ones(terms + 1)
    weight[-1] = SMALL
    return x, np.arange(terms + 1), weight


@takes("sum")
def weights(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x, target, weight = _weighted(options.terms)
    what = f"{name} of {x.shape}, the weights of all samples but the last"
    run = lambda: 1 / np.float64(call(x, target, weight, reduction="mean"))  # noqa: E731
    return Setup(what, weight[:-1], run, exact=False)


@takes("sum")
def nll_losses(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x, target = ones(options.terms, 2), np.zeros(options.terms, np.int64)
    what = f"{name} of {x.shape}, over the samples"
    return Setup(what, x[:, 0], lambda: call(x, target, reduction="sum")[0], put=np.negative)


@takes("sum")
def nll_weights(call: Callable[..., Any], options: Options, name: str) -> Setup:
    target, weight = np.arange(options.terms), ones(options.terms)
    x = ones(options.terms, options.terms)
    return Setup(f"{name} of {x.shape}, the weights", weight, lambda: call(x, target, weight, reduction="sum")[1])


# Of the gradient.


@takes("shape", "element", "sum")
def grad_denominator(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, at = _of_classes(options, name)
    grad, target = ones(len(x)), np.full(len(x), x.shape[1] - 1)
    x[at] = logarithms(np.zeros(1, np.float32))

    def run() -> float:
        i = int(x[at].argmax())  # its term is exp(0) = 1
        return float(1 / np.float64(call(grad, x, target, reduction="none")[at, i]))

    return Setup(f"{what}, the denominator", x[at, :-1], run, put=logarithms, exact=False, positive=True)


@takes("shape", "element", "sum")
def grad_classes(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, at = _of_classes(options, name)
    grad, target = ones(len(x)), np.zeros_like(x)
    run = lambda: call(grad, x, target, reduction="none")[at, -1]  # noqa: E731
    return Setup(f"{what}, over all classes but the last", target[at, :-1], run)


@takes("shape", "element", "sum")
def grad_smoothing(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, at = _of_classes(options, name)
    grad, target, weight = ones(len(x)), np.full(len(x), x.shape[1] - 1), ones(x.shape[1])
    weight[-1] = 0

    def run() -> float:
        result = call(grad, x, target, weight, reduction="none", label_smoothing=1.0)[at, -1]
        return float(np.float64(result) * x.shape[1])

    return Setup(f"{what}, smoothed over all classes but the last", weight[:-1], run, exact=False)


@takes("sum")
def grad_weights(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x, target, weight = _weighted(options.terms)
    grad = np.asarray(LARGE, np.float32)
    what = f"{name} of {x.shape}, the weights of all samples but the last"
    run = lambda: -1 / np.float64(call(grad, x, target, weight, reduction="mean")[-1, -1])  # noqa: E731
    return Setup(what, weight[:-1], run, exact=False)


cross_entropy = {
    "denominator": denominator,
    "classes": classes,
    "smoothing": smoothing,
    "samples": samples,
    "weights": weights,
}
nll_loss = {"samples": nll_losses, "weights": nll_weights}
cross_entropy_grad = {
    "denominator": grad_denominator,
    "classes": grad_classes,
    "smoothing": grad_smoothing,
    "weights": grad_weights,
}
