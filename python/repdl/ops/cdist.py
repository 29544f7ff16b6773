# SPDX-License-Identifier: MIT
"""Distances between rows: the norm of each difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample


@op()
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, order: str | None = None) -> Tensor:
    """The distance of each row of one matrix from each row of another, for each of a batch.

    Args:
        x1: float32 or float64, (…, m, k).
        x2: of its type, (…, n, k), with the same batch.
        p: the order of the norm, 0 or more; inf for the largest difference.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        (…, m, n).
    """


@op(outputs=("grad_x1",))
def cdist_grad(
    grad_output: Tensor, x1: Tensor, x2: Tensor, distance: Tensor, p: float = 2.0, order: str | None = None
) -> Tensor:
    """The gradient of `cdist` by x1; distance is what it gave. With all exchanged and transposed, that by x2."""


@op()
def pdist(input: Tensor, p: float = 2.0, order: str | None = None) -> Tensor:
    """The distance between each two rows of a matrix (n, k), those of the first row first; p and order as for `cdist`.

    Returns:
        (n * (n - 1) / 2).
    """


@op(outputs=("grad_input",))
def pdist_grad(grad_output: Tensor, input: Tensor, distance: Tensor, p: float = 2.0) -> Tensor:
    """The gradient of `pdist`; distance is what it gave."""


@cdist.backward(saves=("x1", "x2", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x1, x2, distance, p, order = saved.x1, saved.x2, saved.output, saved.p, saved.order
    return {
        "x1": lambda: cdist_grad(grad, x1, x2, distance, p, order),
        "x2": lambda: cdist_grad(grad.mT, x2, x1, distance.mT, p, order),
    }


@pdist.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: pdist_grad(grad, saved.input, saved.output, saved.p)}


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any]:
    """Of a matrix its rows, each of which meets all of x2; else matrices of the batch."""
    batch = () if arguments["x1"].ndim == 2 else ("x2",)
    return rows_of("x1", "grad_output", "distance", *batch)(arguments, rows)


cdist.rows(_rows)
cdist_grad.rows(_rows)
pdist.rows(no_rows)
pdist_grad.rows(no_rows)

_POWERS = (2.0, 1.0, 0.0, math.inf, 0.5, 3.0)


def _calls() -> Iterator[tuple[str, tuple[int, int], tuple[int, int], float]]:
    """Numbers, the shapes of both operands, the order of the norm."""
    for p in _POWERS:
        yield "special", (5, 3), (4, 3), p
        yield "normal", (3, 67), (18, 67), p
    yield "zeros", (2, 5), (17, 5), 2.0
    yield "wide", (1, 4167), (3, 4167), 2.0
    yield "tiny", (19, 3), (2, 3), 1.5
    yield "normal", (20, 5), (33, 5), 2.5
    yield "normal", (3, 0), (2, 0), 3.0


@cdist.samples
def _() -> Iterator[Sample]:
    for kind, x1, x2, p in _calls():
        yield sample(x1=f"{kind}{[*x1]}#1", x2=f"{kind}{[*x2]}#2", p=p)
    yield sample(x1="normal[2, 3, 2, 7]#1", x2="normal[2, 3, 5, 7]#2")


@cdist_grad.samples
def _() -> Iterator[Sample]:
    for i, (kind, x1, x2, p) in enumerate(_calls()):
        # The rows that are summed over are those of x2, so let them be many where the numbers of a row were.
        n, k = (x2[1], x2[0]) if x2[1] > 60 else x2
        distances = [x1[0], n]
        yield sample(
            grad_output=f"{'special' if i % 4 == 0 else 'normal'}{distances}#3", x1=f"{kind}{[x1[0], k]}#1",
            x2=f"{kind}{[n, k]}#2", distance=f"{'zeros' if i % 4 == 2 else 'positive'}{distances}#4", p=p,
        )  # fmt: skip
    yield sample(
        grad_output="normal[2, 2, 5]#3", x1="normal[2, 2, 7]#1", x2="normal[2, 5, 7]#2", distance="positive[2, 2, 5]#4"
    )


def _of_pairs() -> Iterator[tuple[str, tuple[int, int], float]]:
    for p in _POWERS:
        yield "special", (5, 3), p
    yield "normal", (19, 67), 2.0
    yield "zeros", (6, 18), 1.5
    yield "normal", (36, 5), 2.5
    yield "normal", (1, 5), 2.0


@pdist.samples
def _() -> Iterator[Sample]:
    for kind, shape, p in _of_pairs():
        yield sample(input=f"{kind}{[*shape]}#1", p=p)


@pdist_grad.samples
def _() -> Iterator[Sample]:
    for i, (kind, shape, p) in enumerate(_of_pairs()):
        pairs = [shape[0] * (shape[0] - 1) // 2]
        yield sample(
            grad_output=f"{'special' if i == 1 else 'normal'}{pairs}#3", input=f"{kind}{[*shape]}#1",
            distance=f"{'zeros' if i == 4 else 'positive'}{pairs}#4", p=p,
        )  # fmt: skip


def _norm(away: Any, p: float) -> Any:
    size = np.abs(away)
    if p == 0:
        return np.sum(away != 0, axis=-1, dtype=np.float64)
    return np.max(size, axis=-1) if p == math.inf else np.sum(size**p, axis=-1) ** (1 / p)


@cdist.oracle
def _(x1: Any, x2: Any, p: float = 2.0) -> Any:
    return _norm(x1[..., :, None, :] - x2[..., None, :, :], p)


@pdist.oracle
def _(input: Any, p: float = 2.0) -> Any:
    first, second = np.triu_indices(len(input), 1)
    return _norm(input[first] - input[second], p)
