# SPDX-License-Identifier: MIT
"""The sums of losses of margins.

With a margin as large as the score of the last class, which is the target, scores that are not negative are the
distances. That class adds nothing to the sum over the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from repdl.reveal.setup import Options, Setup, ones, takes
from repdl.reveal.tree import Array


def _of_others(options: Options, name: str) -> tuple[str, Array, int]:
    """Words, scores and their number."""
    x = ones(1, options.terms + 1)
    return f"{name} of {x.shape}, over all classes but the last", x, options.terms + 1


@takes()
def multi_margin(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, classes = _of_others(options, name)
    target = np.full(1, classes - 1)

    def run() -> float:
        return float(np.float64(call(x, target)[0]) * classes)

    return Setup(what, x[0, :-1], run, exact=False, positive=True)


@takes()
def multi_margin_grad(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """The gradient of the target is minus the sum of the others, each twice a distance over the number of classes."""
    what, x, classes = _of_others(options, name)
    grad, target = ones(1), np.full(1, classes - 1)
    return Setup(
        what, x[0, :-1], lambda: -call(grad, x, target, p=2)[0, -1],
        put=lambda terms: terms * np.float32(classes / 2), positive=True,
    )  # fmt: skip


@takes()
def multilabel_margin(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, classes = _of_others(options, name)
    target = np.full((1, classes), -1)
    target[0, 0] = classes - 1

    def run() -> float:
        return float(np.float64(call(x, target)[0][0]) * classes)

    return Setup(what, x[0, :-1], run, exact=False, positive=True)
