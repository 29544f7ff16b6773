# SPDX-License-Identifier: MIT
"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, rows_of, sample


@op(outputs=("loss", "log_alpha"))
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0
) -> tuple[Tensor, Tensor]:
    """Minus the logarithm of the probability of each sequence of labels, over all its alignments with the steps.

    Args:
        log_probs: float32 or float64, (t, n, c): the logarithms of the probabilities of the classes at each step.
        targets: int64, (n, s): the labels, of which those behind the length of a sequence are not read.
        input_lengths: int64, (n), in [0, t]: the steps of each sequence.
        target_lengths: int64, (n), in [0, s]: the labels of each sequence.
        blank: the class that stands for no label.

    Returns:
        The loss of each sequence, (n), inf where its labels have no alignment; and the sums that its gradient reads,
        (n, t, 2s + 1): the logarithm of the probability of reaching each place at each step.

    Raises:
        ValueError: for a length or a label that is out of range, among others.
    """


@op(outputs=("grad_log_probs",))
def ctc_loss_grad(
    grad_output: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    loss: Tensor,
    log_alpha: Tensor,
    blank: int = 0,
    zero_infinity: bool = False,
    by_scores: bool = False,
) -> Tensor:
    """The gradient of ctc_loss by log_probs, of the loss and the sums that it gave.

    Args:
        zero_infinity: whether a sequence of infinite loss has a gradient of zeros.
        by_scores: gives the gradient by scores whose log-softmax log_probs are, as torch does. A log-softmax passes it
            on as it is.
    """


@ctc_loss.backward(
    saves=("log_probs", "targets", "input_lengths", "target_lengths", "loss", "log_alpha"),
    non_differentiable=("log_alpha",),
)
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "log_probs": lambda: ctc_loss_grad(
            grad, saved.log_probs, saved.targets, saved.input_lengths, saved.target_lengths, saved.loss,
            saved.log_alpha, saved.blank,
        )
    }  # fmt: skip


def _rows(arguments: Any, rows: slice) -> Any:
    others = rows_of("targets", "input_lengths", "target_lengths")(arguments, rows)
    return others | {"log_probs": arguments["log_probs"][:, rows]}


ctc_loss.rows(_rows)
ctc_loss_grad.rows(no_rows)  # the sequences are the second dimension of its result


def _calls() -> Iterator[tuple[tuple[int, int, int, int], dict[str, Any]]]:
    """Sizes (t, n, c, s), options, and which lengths: those that give a finite loss, where it is differentiated."""
    yield (11, 3, 6, 2), {}
    yield (23, 4, 5, 9), {"blank": 4, "number": 18}  # labels that repeat, and that are the blank
    yield (7, 5, 3, 4), {"blank": 1, "log_probs": "wide"}  # too few steps for some
    yield (40, 14, 33, 12), {"number": 10}  # worth a fork
    yield (5, 2, 1, 3), {"number": 6}
    yield (6, 3, 4, 0), {}
    yield (0, 2, 4, 3), {}
    yield (4, 0, 3, 2), {}
    for kind in ("wide", "special", "infinite", "zeros", "tiny"):
        yield (8, 13, 7, 3), {"log_probs": kind}


def _arguments(sizes: tuple[int, int, int, int], others: dict[str, Any]) -> dict[str, Any]:
    t, n, c, s = sizes
    return {
        "log_probs": f"{others.get('log_probs', 'normal')}[{t}, {n}, {c}]#1",
        "targets": f"classes{c}[{n}, {s}]#2",
        "input_lengths": f"classes{t + 1}[{n}]#{others.get('number', 3)}",
        "target_lengths": f"classes{s + 1}[{n}]#4",
        "blank": others.get("blank", 0),
    }


@ctc_loss.samples
def _() -> Iterator[Sample]:
    for sizes, others in _calls():
        yield sample(**_arguments(sizes, others))


@ctc_loss_grad.samples
def _() -> Iterator[Sample]:
    for number, (sizes, others) in enumerate(_calls()):
        t, n, _, s = sizes
        kind = others.get("log_probs", "normal")
        yield sample(
            grad_output=f"normal[{n}]#5",
            **_arguments(sizes, others),
            loss=f"{kind}[{n}]#6",
            log_alpha=f"{kind}[{n}, {t}, {2 * s + 1}]#7",
            zero_infinity=number % 2 == 0,
            by_scores=number % 3 > 0,
        )


@ctc_loss.oracle
def _(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0) -> Any:
    steps, batch, _ = log_probs.shape
    losses = np.zeros(batch)
    log_alpha = np.full((batch, steps, 2 * targets.shape[1] + 1), -np.inf)
    for b in range(batch):
        places = np.full(2 * target_lengths[b] + 1, blank)
        places[1::2] = targets[b, : target_lengths[b]]
        alpha = log_alpha[b, :, : len(places)]
        for t in range(input_lengths[b]):
            if t == 0:
                alpha[0, :2] = log_probs[0, b, places[:2]]
                continue
            before = np.pad(alpha[t - 1], (2, 0), constant_values=-np.inf)
            skips = np.pad(places[2:] != places[:-2], (2, 0))[: len(places)]
            reached = np.logaddexp(before[2:], before[1:-1])
            alpha[t] = log_probs[t, b, places] + np.logaddexp(reached, np.where(skips, before[:-2], -np.inf))
        if input_lengths[b] > 0:
            losses[b] = -np.logaddexp.reduce(alpha[input_lengths[b] - 1, -2:])
        else:
            losses[b] = 0.0 if len(places) == 1 else np.inf
    return losses, log_alpha
