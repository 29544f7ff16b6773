# SPDX-License-Identifier: MIT
"""The op passes what every op of RepDL must pass, and gives the bits of the ops that it fuses."""

from __future__ import annotations

import pytest
import torch

import own_op
import repdl
from repdl.testing.suites import *  # noqa: F403


@pytest.mark.parametrize("order", ["blocked", "sequential"])
def test_fused_and_separate_ops_have_the_same_bits(order: str) -> None:
    input, residual = (torch.randn(9, 5000, requires_grad=True) for _ in range(2))
    weight = torch.randn(5000, requires_grad=True)
    with repdl.order(order):
        output, total, _ = own_op.add_rms_norm(input, residual, weight)
        expected_total = repdl.ops.add(input, residual)
        expected, _ = repdl.ops.rms_norm(expected_total, (5000,), weight, 1e-06)
    assert torch.equal(output, expected) and torch.equal(total, expected_total)
    cotangents = torch.randn(9, 5000), torch.randn(9, 5000)
    grads = torch.autograd.grad((output, total), (input, residual, weight), cotangents)
    expected_grads = torch.autograd.grad((expected, expected_total), (input, residual, weight), cotangents)
    assert all(map(torch.equal, grads, expected_grads))


def test_strict_mode_takes_the_op() -> None:
    x = torch.randn(3, 70)
    with repdl.reproducible():
        assert torch.equal(own_op.add_rms_norm(x, x, x[0])[1], x + x)


def test_errors_name_op_and_argument() -> None:
    x = torch.randn(3, 70)
    with pytest.raises(ValueError, match=r"\[add_rms_norm\] weight must have the shape \(70,\), got \(69,\)"):
        own_op.add_rms_norm(x, x, x[0, 1:])
    with pytest.raises(TypeError, match=r"\[add_rms_norm\] residual must be float32, got float64"):
        own_op.add_rms_norm(x, x.double(), x[0])
