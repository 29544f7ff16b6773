# SPDX-License-Identifier: MIT
"""Connectionist temporal classification: the sums over alignments, step after step, as logarithms.

Sums of exponentials are `logaddexp`, from the left. What is impossible is -inf: places behind the end, steps behind the
length of a sequence, whose numbers are not read.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import override

_NEVER = -math.inf


def _plus(*logs: torch.Tensor) -> torch.Tensor:
    """The logarithm of the sum of exponentials, from the left."""
    total = logs[0]
    for log in logs[1:]:
        total = ops_of(total)["logaddexp"](total, log)
    return total


class _Alignment:
    """The labels of each sequence with blanks between them, and what may follow what."""

    def __init__(self, log_probs: torch.Tensor, targets: torch.Tensor, inputs: Any, lengths: Any, blank: int) -> None:
        self.log_probs = log_probs
        self.inputs, self.lengths = (torch.as_tensor(v).reshape(-1).to(torch.int64) for v in (inputs, lengths))
        self.steps, self.batch, _ = log_probs.shape
        if len(self.inputs) != self.batch or len(self.lengths) != self.batch:
            raise RuntimeError("[ctc_loss] input_lengths and target_lengths must have a length for each of the batch")
        if bool((self.inputs > self.steps).any()):
            raise RuntimeError(f"[ctc_loss] input_lengths must not exceed the {self.steps} steps of log_probs")
        longest = int(self.lengths.max()) if self.batch else 0
        padded = targets
        if targets.dim() == 1:
            starts = self.lengths.cumsum(0) - self.lengths
            index = starts[:, None] + torch.arange(longest)
            padded = targets[index.clamp_max(max(targets.numel() - 1, 0))] if targets.numel() else index[:, :0]
        labels = padded[:, :longest].to(torch.int64)
        labels = torch.where(torch.arange(labels.shape[1]) < self.lengths[:, None], labels, blank)
        self.places = torch.full((self.batch, 2 * labels.shape[1] + 1), blank)
        self.places[:, 1::2] = labels
        self.ends = 2 * self.lengths
        # From two places before, over a blank, unless the label is the same; one that is the blank itself is as others.
        skips = torch.zeros_like(self.places, dtype=torch.bool)
        skips[:, 2:] = self.places[:, 2:] != self.places[:, :-2]
        self.skips = skips
        self.present = torch.arange(self.places.shape[1]) <= self.ends[:, None]

    def at(self, t: int) -> torch.Tensor:
        return self.log_probs[t].gather(1, self.places)

    def running(self, t: int) -> torch.Tensor:
        """The places that a step has."""
        return (self.inputs > t)[:, None] & self.present

    def forward(self) -> torch.Tensor:
        """alpha[batch, step, place]: log_probs + the sum of the place itself, the one before, and the one before that.

        The first step has log_probs at the first two places.
        """
        first = torch.arange(self.places.shape[1]) < 2
        alpha = torch.where(first & self.running(0), self.at(0), _NEVER)
        alphas = [alpha]
        for t in range(1, self.steps):
            skipped = torch.where(self.skips, _moved(alpha, 2), _NEVER)
            now = self.at(t) + _plus(alpha, _moved(alpha, 1), skipped)
            alpha = torch.where(self.running(t), now, _NEVER)
            alphas.append(alpha)
        return torch.stack(alphas, 1)

    def loss(self, alpha: torch.Tensor) -> torch.Tensor:
        """Minus the sum of the last two places of the last step."""
        last = alpha[torch.arange(self.batch), (self.inputs - 1).clamp_min(0)]
        end = last.gather(1, self.ends[:, None])[:, 0]
        before = last.gather(1, (self.ends - 1).clamp_min(0)[:, None])[:, 0]
        before = torch.where(self.lengths > 0, before, _NEVER)
        total = _plus(end, before).neg()
        return torch.where(self.inputs > 0, total, torch.where(self.lengths > 0, math.inf, 0.0))

    def backward(self, alpha: torch.Tensor) -> torch.Tensor:
        """The logarithm of the sum over alignments through each class at each step: [step, batch, class].

        beta is as alpha from the end, the last two places of the last step having log_probs; the places of a class are
        summed in order, from -inf, each with alpha + beta.
        """
        place = torch.arange(self.places.shape[1])
        finish = (place == self.ends[:, None]) | (place == self.ends[:, None] - 1)
        beta = self.log_probs.new_full(self.places.shape, _NEVER)
        allowed = torch.cat((self.skips[:, 2:], torch.zeros_like(self.skips[:, :2])), 1)
        through = [beta] * self.steps
        for t in reversed(range(self.steps)):
            skipped = torch.where(allowed, _moved(beta, -2), _NEVER)
            later = _plus(beta, _moved(beta, -1), skipped)
            start = torch.eq(self.inputs - 1, t)[:, None] & finish
            beta = torch.where(self.running(t), self.at(t) + torch.where(start, 0.0, later), _NEVER)
            through[t] = alpha[:, t] + beta
        found = torch.full_like(self.log_probs, _NEVER).permute(1, 0, 2).contiguous()
        paths = torch.stack(through, 1)
        for s in range(self.places.shape[1]):
            index = self.places[:, None, s : s + 1].expand(-1, self.steps, 1)
            found = found.scatter(2, index, _plus(found.gather(2, index), paths[:, :, s : s + 1]))
        return found.permute(1, 0, 2)


def _moved(x: torch.Tensor, by: int) -> torch.Tensor:
    """Shifted along the places; what comes in is impossible."""
    return torch.nn.functional.pad(x, (by, 0) if by > 0 else (0, -by), value=_NEVER)[
        :, slice(0, x.shape[1]) if by > 0 else slice(-by, None)
    ]


@override("_ctc_loss", "_ctc_loss.Tensor", wide="float64")
def _ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    alignment = _Alignment(log_probs, targets, input_lengths, target_lengths, blank)
    alpha = alignment.forward()
    return alignment.loss(alpha), alpha


@override("_ctc_loss_backward", "_ctc_loss_backward.Tensor", wide="float64")
def _ctc_loss_backward(
    grad: torch.Tensor,
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: torch.Tensor,
    log_alpha: torch.Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> torch.Tensor:
    """(exp(log_probs) - exp((through + loss) - log_probs)) * grad, as torch: for log_probs that a log-softmax gave."""
    alignment = _Alignment(log_probs, targets, input_lengths, target_lengths, blank)
    through = alignment.backward(log_alpha)
    exp = ops_of(log_probs)["exp"]
    share = exp(through + neg_log_likelihood[:, None] - log_probs)
    result = (exp(log_probs) - share) * grad[:, None]
    running = torch.arange(alignment.steps)[:, None, None] < alignment.inputs[:, None]
    if zero_infinity:
        running = running & (neg_log_likelihood != math.inf)[:, None]
    return torch.where(running, result, torch.zeros_like(result))
