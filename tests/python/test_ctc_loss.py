# SPDX-License-Identifier: MIT
"""ctc_loss beyond its samples: rows of its gradient, numbers that are not read, torch's forms of targets."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

import repdl
from repdl import _core, ops
from support import TARGETS, same_bits

STEPS, BATCH, CLASSES, LABELS = 50, 5, 9, 8
INPUT_LENGTHS, TARGET_LENGTHS = torch.tensor([50, 31, 20, 1, 40]), torch.tensor([8, 0, 5, 1, 7])


def scores(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(STEPS, BATCH, CLASSES, generator=torch.Generator().manual_seed(1), dtype=dtype)


def labels() -> torch.Tensor:
    return torch.randint(1, CLASSES, (BATCH, LABELS), generator=torch.Generator().manual_seed(2))


def loss_and_gradient(x: torch.Tensor, rows: slice = slice(None)) -> tuple[torch.Tensor, torch.Tensor]:
    log_probs = x[:, rows].log_softmax(2)
    lengths = INPUT_LENGTHS[rows], TARGET_LENGTHS[rows]
    loss, alpha = ops.ctc_loss(log_probs, labels()[rows], *lengths)
    weights = torch.linspace(-1, 2, BATCH, dtype=x.dtype)[rows]
    grad = ops.ctc_loss_grad(weights, log_probs, labels()[rows], *lengths, loss, alpha, by_scores=True)
    return loss, grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_of_a_sequence_alone_is_that_of_the_batch(dtype: torch.dtype) -> None:
    for number, target in enumerate(TARGETS):
        _core.set_target(target)
        repdl.set_num_threads((1, 3, 2, 7)[number % 4])
        loss, grad = loss_and_gradient(scores(dtype))
        for b in range(BATCH):
            alone, grad_alone = loss_and_gradient(scores(dtype), slice(b, b + 1))
            assert same_bits(alone, loss[b : b + 1])
            assert same_bits(grad_alone, grad[:, b : b + 1])


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
def test_steps_and_labels_behind_the_lengths_are_not_read(junk: float) -> None:
    x = scores().log_softmax(2)
    hostile, wrong = x.clone(), labels()
    for b in range(BATCH):
        hostile[INPUT_LENGTHS[b] :, b] = junk
        wrong[b, TARGET_LENGTHS[b] :] = -(2**60)
    found = []
    for log_probs, targets in ((x, labels()), (hostile, wrong)):
        given = log_probs, targets, INPUT_LENGTHS, TARGET_LENGTHS
        loss, alpha = ops.ctc_loss(*given)
        grad = ops.ctc_loss_grad(torch.ones(BATCH), *given, loss, alpha)
        assert all((grad[INPUT_LENGTHS[b] :, b] == 0).all() for b in range(BATCH))
        found.append((loss, alpha, grad))
    assert all(same_bits(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("blank", [0, 3])
def test_both_gradients_are_the_derivative_by_scores(blank: int) -> None:
    """As torch's in float64; also of labels that repeat, and that are the blank."""
    x, given = scores(torch.float64).requires_grad_(), (labels(), INPUT_LENGTHS, TARGET_LENGTHS.clamp_max(6), blank)
    loss = F.ctc_loss(x.log_softmax(2), *given, "none")
    (expected,) = torch.autograd.grad(loss.sum(), x)
    ours, _ = ops.ctc_loss(x.log_softmax(2), *given)
    (grad,) = torch.autograd.grad(ours.sum(), x)
    torch.testing.assert_close(ours, loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(grad, expected, rtol=0, atol=1e-12)
    with repdl.reproducible():
        (by_scores,) = torch.autograd.grad(F.ctc_loss(x.log_softmax(2), *given, "sum"), x)
    torch.testing.assert_close(by_scores, expected, rtol=0, atol=1e-12)


def test_a_masked_class_has_no_gradient() -> None:
    """Where torch gives NaN."""
    x = scores()
    x[..., CLASSES - 1] = -math.inf
    x = x[:, :1].log_softmax(2).requires_grad_()
    with repdl.reproducible():
        F.ctc_loss(x, torch.tensor([[1, 2, 2]]), (STEPS,), (3,)).backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert (x.grad[..., -1] == 0).all()
    assert x.grad.isfinite().all()


def test_the_forms_of_targets_have_the_same_bits() -> None:
    x, padded = scores().log_softmax(2), labels()
    given = tuple(INPUT_LENGTHS.tolist()), tuple(TARGET_LENGTHS.tolist())
    packed = torch.cat([row[:n] for row, n in zip(padded, given[1], strict=True)])
    with repdl.reproducible():
        expected = F.ctc_loss(x, padded, *given, reduction="none")
        assert same_bits(F.ctc_loss(x, packed, *given, reduction="none"), expected)
        assert same_bits(F.ctc_loss(x, packed.int(), INPUT_LENGTHS, TARGET_LENGTHS, reduction="none"), expected)
        assert same_bits(F.ctc_loss(x.transpose(0, 1).contiguous().transpose(0, 1), packed, *given, reduction="none"),
                         expected)  # fmt: skip
        same = (3,) * BATCH
        of_one_length = F.ctc_loss(x, padded[:, :3].reshape(-1), given[0], same, reduction="none")
        assert same_bits(of_one_length, F.ctc_loss(x, padded, given[0], same, reduction="none"))
        for wrong in ((8, 0, 5, 1, 8), (8, 0, 5, 1), (9, -1, 5, 1, 7)):
            with pytest.raises(RuntimeError, match="target_lengths"):
                F.ctc_loss(x, packed, given[0], wrong)
        with pytest.raises(RuntimeError, match="not in"):
            F.ctc_loss(x, packed + 8, *given)
