# SPDX-License-Identifier: MIT
"""Connectionist temporal classification: sums over alignments as logarithms, and their gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..functions import exp, log1p
from ..numbers import add, mul, sub
from ..registry import reference
from ..tensors import Tensor, rounded

_LOW = ("", ".bfloat16", ".float16")
_NEVER = -math.inf


def _lengths(value: Any) -> list[int]:
    return list(value.data if isinstance(value, Tensor) else value)


def _part(x: float) -> float:
    return 0.0 if x < -87 else exp(x)


def _log_sum(*logs: float) -> float:
    """LogSum of ctc_loss in docs/arithmetic.md, of three numbers."""
    if any(x != x for x in logs):
        return math.nan
    low, middle, m = sorted(logs)
    if math.isinf(m):
        return m
    return add(m, log1p(add(_part(sub(low, m)), _part(sub(middle, m)))))


class _Sequence:
    """One of the batch: its steps, and its labels with blanks between them."""

    def __init__(self, log_probs: Tensor, n: int, labels: Sequence[int], steps: int, blank: int) -> None:
        classes = log_probs.shape[2]
        self.log_probs = [[log_probs[t, n, c] for c in range(classes)] for t in range(log_probs.shape[0])]
        self.steps = steps
        self.places = [blank]
        for label in labels:
            self.places += [label, blank]
        self.skips = [s > 1 and place != self.places[s - 2] for s, place in enumerate(self.places)]

    def at(self, t: int, s: int) -> float:
        return self.log_probs[t][self.places[s]]

    def alpha(self, width: int) -> list[list[float]]:
        found: list[list[float]] = []
        for t in range(len(self.log_probs)):
            row = [_NEVER] * width
            for s in range(len(self.places) if t < self.steps else 0):
                if t == 0:
                    row[s] = self.at(t, s) if s < 2 else _NEVER
                    continue
                last = found[-1]
                earlier = last[s], last[s - 1] if s else _NEVER, last[s - 2] if self.skips[s] else _NEVER
                row[s] = add(self.at(t, s), _log_sum(*earlier))
            found.append(row)
        return found

    def loss(self, alpha: list[list[float]]) -> float:
        count = len(self.places)
        if self.steps == 0:
            return 0.0 if count == 1 else math.inf
        last = alpha[self.steps - 1]
        return -_log_sum(last[count - 1], last[count - 2] if count > 1 else _NEVER, _NEVER)

    def shares(self, alpha: Sequence[Sequence[float]], loss: float) -> list[list[float]]:
        count = len(self.places)
        found = [[_part(add(_NEVER, loss))] * len(self.log_probs[0]) for _ in self.log_probs]
        beta = [_NEVER] * (count + 2)
        for t in reversed(range(self.steps)):
            now = [_NEVER] * (count + 2)
            for s, place in enumerate(self.places):
                if t == self.steps - 1:
                    later = 0.0 if s >= count - 2 else _NEVER
                    now[s] = self.at(t, s) if s >= count - 2 else _NEVER
                else:
                    skipped = beta[s + 2] if s + 2 < count and self.skips[s + 2] else _NEVER
                    later = _log_sum(beta[s], beta[s + 1], skipped)
                    now[s] = add(self.at(t, s), later)
                found[t][place] = add(found[t][place], _part(add(add(alpha[t][s], later), loss)))
            beta = now
        return found


def _sequences(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int
) -> tuple[list[_Sequence], int]:
    """And the places of the longest."""
    lengths, found, start = _lengths(target_lengths), [], 0
    for n, (steps, count) in enumerate(zip(_lengths(input_lengths), lengths, strict=True)):
        if len(targets.shape) == 2:
            start = n * targets.shape[1]
        found.append(_Sequence(log_probs, n, targets.data[start : start + count], steps, blank))
        start += count
    return found, 2 * max(lengths) + 1


# The lengths, in numbers or tensors; then the targets, whose labels come twice, and the longest of them.
_FORMS = (
    ("", "input_lengths=(7, 5, 3, 0, 7), target_lengths=(3, 2, 3, 2, 0)", "classes4[5, 3]#2", 3),
    ("", "input_lengths=(7, 7, 6, 7, 2), target_lengths=(2, 3, 1, 0, 1)", "classes2[7]#2", 3),
    ("", "input_lengths=(0, 0, 1, 1, 7), target_lengths=(0, 1, 0, 1, 4)", "classes4[5, 5]#2", 4),
    (".Tensor", "input_lengths=classes8[5]#3, target_lengths=classes3[5]#6", "classes4.int32[5, 3]#2", 2),
)
_BLANKS = ((4, False), (4, True), (0, False))


def _cases(form: tuple[str, str, str, int], backward: bool) -> list[str]:
    _, lengths, targets, longest = form
    found = []
    for t in _LOW:
        for g in ("normal", "wide", "special"):
            for blank, zero in _BLANKS[: 1 if t else None]:
                places = [5, 7, 2 * longest + 1]
                grad = f"grad=normal{t}[5]#8, " if backward else ""
                more = f"neg_log_likelihood={g}{t}[5]#9, log_alpha=normal{t}{places}#10, " if backward else ""
                found.append(
                    f"{grad}log_probs={g}{t}[7, 5, 5]#1, targets={targets}, {lengths}, {more}blank={blank}, "
                    f"zero_infinity={zero}"
                )
    return found


def _forward(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
) -> list[Tensor]:
    sequences, width = _sequences(log_probs, targets, input_lengths, target_lengths, blank)
    alphas = [sequence.alpha(width) for sequence in sequences]
    losses = [sequence.loss(alpha) for sequence, alpha in zip(sequences, alphas, strict=True)]
    dtype, shape = log_probs.dtype, (len(sequences), log_probs.shape[0], width)
    return [
        Tensor(dtype, shape[:1], [rounded(x, dtype) for x in losses]),
        Tensor(dtype, shape, [rounded(x, dtype) for alpha in alphas for row in alpha for x in row]),
    ]


def _backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    sequences, width = _sequences(log_probs, targets, input_lengths, target_lengths, blank)
    result = Tensor(log_probs.dtype, log_probs.shape, [0.0] * len(log_probs.data))
    for n, (sequence, loss, g) in enumerate(zip(sequences, neg_log_likelihood.data, grad.data, strict=True)):
        if zero_infinity and loss == math.inf:
            continue
        steps = range(log_probs.shape[0])
        alpha = [[log_alpha[n, t, s] for s in range(width)] for t in steps]
        shares = sequence.shares(alpha, loss)
        for t in range(sequence.steps):
            for c, x in enumerate(sequence.log_probs[t]):
                result[t, n, c] = rounded(mul(sub(exp(x), shares[t][c]), g), result.dtype)
    return result


for _form in _FORMS:
    reference(f"_ctc_loss{_form[0]}", cases=_cases(_form, False))(_forward)
    reference(f"_ctc_loss_backward{_form[0]}", cases=_cases(_form, True))(_backward)
