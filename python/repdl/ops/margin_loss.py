# SPDX-License-Identifier: MIT
"""Losses of margins between classes: of each row, before a sum or mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def multi_margin(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """Of each row how far other classes reach into the margin of the target, over the number of classes.

    Args:
        input: float32 or float64 scores, (n, c).
        target: classes, int64 in [0, c), (n).
        p: 1, or 2 for the squares of distances.
        margin: rounded to the type of input.
        weight: a factor for each class as target, (c), or None.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        A loss for each row, (n).
    """


@op(outputs=("grad_input",))
def multi_margin_grad(
    grad_output: Tensor,
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    part: float = 1.0,
    order: str | None = None,
) -> Tensor:
    """The gradient of multi_margin by its scores, times `part`; grad_output is (n)."""


@op(outputs=("output", "is_target"))
def multilabel_margin(input: Tensor, target: Tensor, order: str | None = None) -> tuple[Tensor, Tensor]:
    """Of each row how far other classes reach into the margins of its labels, over the number of classes.

    Args:
        input: float32 or float64 scores, (n, c).
        target: int64, (n, c): the labels of a row, in [0, c), then -1.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        A loss for each row, (n); and 1 for classes that are labels, +0 for others, (n, c).
    """


@op(outputs=("grad_input",))
def multilabel_margin_grad(grad_output: Tensor, input: Tensor, target: Tensor, part: float = 1.0) -> Tensor:
    """The gradient of multilabel_margin by its scores, times `part`; grad_output is (n)."""


@multi_margin.backward(saves=("input", "target", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: multi_margin_grad(
            grad, saved.input, saved.target, saved.p, saved.margin, saved.weight, order=saved.order
        )
    }


@multilabel_margin.backward(saves=("input", "target"))
def _(saved: Any, grad: Any, _: Any) -> dict[str, Any]:
    return {"input": lambda: multilabel_margin_grad(grad, saved.input, saved.target)}


def _of_classes() -> Iterator[dict[str, Any]]:
    for kind in ("normal", "special", "bits"):
        yield {"input": f"{kind}[19, 7]#1", "target": "classes7[19]#2"}
        yield {"input": f"{kind}[19, 7]#1", "target": "classes7[19]#2", "p": 2, "margin": 0.3, "weight": "wide[7]#3"}
    yield {"input": "normal[19, 70]#1", "target": "classes70[19]#2", "weight": "normal[70]#3"}
    yield {"input": "normal[3, 9000]#1", "target": "classes9000[3]#2", "p": 2}
    yield {"input": "normal[900, 33]#1", "target": "classes33[900]#2"}
    yield {"input": "normal[0, 3]#1", "target": "classes3[0]#2"}
    yield {"input": "normal[5, 1]#1", "target": "classes1[5]#2", "p": 2}


def _of_labels() -> Iterator[dict[str, Any]]:
    for kind in ("normal", "special", "bits"):
        yield {"input": f"{kind}[19, 7]#1", "target": "classes3[19, 7]#2"}
        yield {"input": f"{kind}[19, 7]#1", "target": "classes7[19, 7]#2"}
    yield {"input": "normal[3, 99]#1", "target": "classes99[3, 99]#2"}
    yield {"input": "normal[90, 21]#1", "target": "classes21[90, 21]#2"}
    yield {"input": "normal[0, 3]#1", "target": "classes3[0, 3]#2"}
    yield {"input": "normal[5, 1]#1", "target": "classes1[5, 1]#2"}


@multi_margin.samples
def _() -> Iterator[Sample]:
    for arguments in _of_classes():
        yield sample(**arguments)


@multi_margin_grad.samples
def _() -> Iterator[Sample]:
    for i, arguments in enumerate(_of_classes()):
        rows = arguments["target"].partition("[")[2].partition("]")[0]
        yield sample(grad_output=f"normal[{rows}]#4", **arguments, part=(1.0, 0.3)[i % 2])


@multilabel_margin.samples
def _() -> Iterator[Sample]:
    for arguments in _of_labels():
        yield sample(**arguments)


@multilabel_margin_grad.samples
def _() -> Iterator[Sample]:
    for i, arguments in enumerate(_of_labels()):
        rows = arguments["target"].partition("[")[2].partition(",")[0]
        yield sample(grad_output=f"normal[{rows}]#4", **arguments, part=(1.0, 0.3)[i % 2])


multi_margin.rows(rows_of("input", "target"))
multi_margin_grad.rows(rows_of("grad_output", "input", "target"))
multilabel_margin.rows(rows_of("input", "target"))
multilabel_margin_grad.rows(rows_of("grad_output", "input", "target"))


@multi_margin.oracle
def _(input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None) -> Any:
    right = np.take_along_axis(input, target[:, None], 1)
    reach = np.maximum(margin - right + input, 0) ** p
    np.put_along_axis(reach, target[:, None], 0, 1)
    return reach.sum(1) / input.shape[1] * (1 if weight is None else weight[target])
