# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample
from repdl.ops.softmax import log_softmax


@op()
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    order: str | None = None,
) -> Tensor:
    """Cross entropy between class scores and target classes or probabilities, as in torch.nn.functional.

    Args:
        input: float32 or float64 scores, (n, c), (n, c, …) or (c).
        target: classes, int64 in [0, c), of the shape of input without c; or probabilities of its shape and type.
        weight: float32 or float64, (c): a factor for each class, or None.
        ignore_index: a target class that counts for nothing.
        reduction: "mean", "sum" or "none".
        label_smoothing: in [0, 1]; how much of the target is spread evenly over the classes.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32 or float64, a number, or with reduction="none" a loss a sample.

    Raises:
        ValueError: for a target class that is out of range, among others.
    """


@op(outputs=("grad_input",))
def cross_entropy_grad(
    grad_output: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    order: str | None = None,
) -> Tensor:
    """The gradient of cross_entropy by its scores; grad_output has the shape of the loss."""


@op(outputs=("loss", "total_weight"))
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    order: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The negative of the score of each target class, as torch.nn.functional.nll_loss; arguments as for cross_entropy.

    Returns:
        The loss: float32 or float64, a number, or with reduction="none" one a sample; and the sum of the weights that
        counted.
    """


@op(outputs=("grad_input",))
def nll_loss_grad(
    grad_output: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The gradient of nll_loss by its scores; grad_output has the shape of the loss."""


@nll_loss.backward(saves=("input", "target", "weight", "total_weight"), non_differentiable=("total_weight",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: nll_loss_grad(
            grad, saved.input, saved.target, saved.weight, saved.reduction, saved.ignore_index, saved.total_weight
        )
    }


@cross_entropy.backward(saves=("input", "target", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        return cross_entropy_grad(
            grad, saved.input, saved.target, saved.weight, saved.ignore_index, saved.reduction, saved.label_smoothing,
            saved.order,
        )  # fmt: skip

    def grad_target() -> Any:
        """By target probabilities: minus the weighted log-probabilities, times what the reduction gives."""
        class_dim = 0 if saved.input.dim() == 1 else 1
        by_class = -log_softmax(saved.input, class_dim, saved.order)
        if saved.weight is not None:
            by_class = by_class * saved.weight.reshape([-1] + [1] * (saved.input.dim() - 1 - class_dim))
        by_class = by_class * (1.0 - saved.label_smoothing)
        if saved.reduction == "mean":
            by_class = by_class * (saved.input_shape[class_dim] / max(by_class.numel(), 1))
        return by_class * (grad.unsqueeze(class_dim) if saved.reduction == "none" else grad)

    return {"input": grad_input, "target": grad_target}


def _calls() -> Iterator[tuple[dict[str, Any], str]]:
    """Arguments of cross_entropy, and the shape of its unreduced loss."""
    yield {"input": "normal[100, 10]#1", "target": "classes10[100]#2"}, "[100]"
    yield {"input": "wide[5, 7]#1", "target": "classes7[5]#2"}, "[5]"
    yield {"input": "normal[3, 5000]#1", "target": "classes5000[3]#2"}, "[3]"
    yield {"input": "normal[9]#1", "target": "classes9[]#2"}, "[]"
    yield {"input": "normal[2, 5, 3, 4]#1", "target": "classes5[2, 3, 4]#2"}, "[2, 3, 4]"
    yield {"input": "normal[20, 6]#1", "target": "classes6[20]#2", "ignore_index": 3}, "[20]"
    yield {"input": "normal[4, 1]#1", "target": "classes1[4]#2", "ignore_index": 0}, "[4]"
    yield {"input": "normal[20, 6]#1", "target": "classes6[20]#2", "weight": "positive[6]#3"}, "[20]"
    yield {"input": "normal[20, 6]#1", "target": "classes6[20]#2", "label_smoothing": 0.1}, "[20]"
    yield {
        "input": "normal[8, 6, 3]#1", "target": "classes6[8, 3]#2", "weight": "positive[6]#3", "ignore_index": 2,
        "label_smoothing": 0.25,
    }, "[8, 3]"  # fmt: skip
    yield {"input": "normal[20, 6]#1", "target": "unit[20, 6]#2"}, "[20]"
    yield (
        {"input": "normal[6, 4, 5]#1", "target": "unit[6, 4, 5]#2", "weight": "positive[4]#3", "label_smoothing": 0.3},
        "[6, 5]",
    )
    yield {"input": "special[10, 6]#1", "target": "classes6[10]#2"}, "[10]"
    yield {
        "input": "normal[2, 70, 37]#1", "target": "classes70[2, 37]#2", "weight": "positive[70]#3", "ignore_index": 2,
        "label_smoothing": 0.25,
    }, "[2, 37]"  # fmt: skip
    yield {"input": "special[2, 6, 19]#1", "target": "classes6[2, 19]#2", "ignore_index": 3}, "[2, 19]"
    yield {"input": "special[2, 6, 19]#1", "target": "unit[2, 6, 19]#2", "label_smoothing": 0.25}, "[2, 19]"


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    if arguments["reduction"] != "none" or arguments["input"].ndim == 1:
        return None
    return rows_of("input", "target", "grad_output")(arguments, rows)


cross_entropy.rows(_rows)
cross_entropy_grad.rows(_rows)
nll_loss.rows(no_rows)
nll_loss_grad.rows(_rows)


@cross_entropy.samples
def _() -> Iterator[Sample]:
    for arguments, _ in _calls():
        for reduction in ("mean", "sum", "none"):
            yield sample(**arguments, reduction=reduction)


@cross_entropy_grad.samples
def _() -> Iterator[Sample]:
    for arguments, shape in _calls():
        for reduction in ("mean", "sum", "none"):
            grad = f"normal{shape if reduction == 'none' else '[]'}#4"
            yield sample(grad_output=grad, **arguments, reduction=reduction)


def _of_classes() -> Iterator[tuple[dict[str, Any], str]]:
    for arguments, shape in _calls():
        if "label_smoothing" not in arguments and "classes" in arguments["target"]:
            yield arguments, shape
    weighted = {"input": "normal[8, 6, 3]#1", "target": "classes6[8, 3]#2", "weight": "positive[6]#3"}
    yield weighted | {"ignore_index": 2}, "[8, 3]"
    yield {"input": "normal[20000, 2]#1", "target": "classes2[20000]#2"}, "[20000]"
    yield {"input": "normal[0, 2]#1", "target": "classes2[0]#2"}, "[0]"


@nll_loss.samples
def _() -> Iterator[Sample]:
    for arguments, _ in _of_classes():
        for reduction in ("mean", "sum", "none"):
            yield sample(**arguments, reduction=reduction)


@nll_loss_grad.samples
def _() -> Iterator[Sample]:
    for arguments, shape in _of_classes():
        for reduction in ("mean", "sum", "none"):
            grad = f"normal{shape if reduction == 'none' else '[]'}#4"
            others = {"weight": None, "ignore_index": -100} | arguments | {"reduction": reduction}
            yield sample(grad_output=grad, total_weight="positive[]#5", **others)


@nll_loss.oracle
def _(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> tuple[Any, Any]:
    x = np.moveaxis(input, 0 if input.ndim == 1 else 1, -1)
    kept = target != ignore_index
    t = np.where(kept, target, 0)
    weights = kept * (np.ones(x.shape[-1]) if weight is None else weight)[t]
    losses = -np.take_along_axis(x, t[..., None], -1)[..., 0] * weights
    if reduction == "none":
        return losses, np.zeros(())
    return losses.sum() / (weights.sum() if reduction == "mean" else 1.0), weights.sum()


@cross_entropy.oracle
def _(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    class_dim = 0 if input.ndim == 1 else 1
    x = np.moveaxis(input, class_dim, -1)
    c = x.shape[-1]
    d = x - x.max(axis=-1, keepdims=True)
    losses = np.log(np.exp(d).sum(axis=-1, keepdims=True)) - d
    w = np.ones(c) if weight is None else weight
    if target.dtype == np.int64:
        kept = target != ignore_index
        t = np.where(kept, target, 0)
        probabilities = np.eye(c)[t] * kept[..., None]
        total = (w[t] * kept).sum()
        spread = kept[..., None] * np.ones(c)
    else:
        probabilities = np.moveaxis(target, class_dim, -1)
        total = float(np.prod(x.shape[:-1]))
        spread = np.ones(x.shape)
    probabilities = (1 - label_smoothing) * probabilities + label_smoothing / c * spread
    loss = (probabilities * w * losses).sum(axis=-1)
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / total
