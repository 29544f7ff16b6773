# SPDX-License-Identifier: MIT
"""Connectionist temporal classification: the ops of the core, for targets and lengths in each form that torch takes."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception import core
from repdl.interception.override import override


def _lengths(lengths: Any) -> torch.Tensor:
    return torch.as_tensor(lengths, dtype=torch.int64).reshape(-1)


def _by_sequence(targets: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """A row of labels for each sequence, as long as the longest."""
    sizes: list[int] = lengths.tolist()
    longest = max(sizes, default=0)
    targets = targets.to(torch.int64)
    if targets.dim() != 1:
        return targets[:, :longest]
    if len(targets) != sum(sizes) or min(sizes, default=0) < 0:
        raise RuntimeError(f"[ctc_loss] target_lengths must be the parts of the {len(targets)} labels of targets")
    if longest * len(sizes) == len(targets):
        return targets.reshape(len(sizes), longest)
    return torch.nn.utils.rnn.pad_sequence(targets.split(sizes), batch_first=True)


def _run(op: str, tensors: Any, targets: torch.Tensor, inputs: Any, lengths: Any, *others: Any) -> Any:
    labels = _lengths(lengths)
    counts = (_by_sequence(targets, labels), _lengths(inputs), labels)
    return core.ops[op](*tensors, *(x.to(tensors[0].device) for x in counts), *others)


@override("_ctc_loss", "_ctc_loss.Tensor", wide="float64")
def _ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    loss, log_alpha = _run("ctc_loss", (log_probs,), targets, input_lengths, target_lengths, blank)
    return loss, log_alpha


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
    found = neg_log_likelihood, log_alpha, blank, zero_infinity
    result: torch.Tensor = _run(
        "ctc_loss_grad", (grad, log_probs), targets, input_lengths, target_lengths, *found, True
    )
    return result
