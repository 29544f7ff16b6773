# SPDX-License-Identifier: MIT
"""What holds of every op, from its declaration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import _core, ops
from repdl.testing import suites
from repdl.testing.suites import (
    test_gradients_agree_with_differences_of_the_oracle as test_gradients_agree_with_differences_of_the_oracle,
    test_registration_passes_opcheck as test_registration_passes_opcheck,
    test_results_are_accurate as test_results_are_accurate,
    test_shapes_are_known_without_data as test_shapes_are_known_without_data,
    test_transforms_of_torch_func as test_transforms_of_torch_func,
)
from support import run_python, same_bits

suites.CONSTANT |= {
    "attention": {"attn_mask", "dropout_mask"}, "cross_entropy": {"weight"},
    "fake_quantize": {"scale", "zero_point"}, "hardsigmoid_grad": {"input"}, "hardtanh_grad": {"input"},
    "lu_solve": {"factors"}, "multi_margin": {"weight"}, "nll_loss": {"weight"}, "roi_align": {"boxes"},
    "roi_align_grad": {"boxes"}, "roi_pool": {"boxes"}, "shrink_grad": {"input"}, "zeta": {"input"},
}  # fmt: skip
suites.AWAY_FROM_ZERO |= {"cbrt", "div", "hypot", "atan2", "pow", "reciprocal", "xlogy"}
suites.DOMAIN |= {
    "acos": (-0.9, 0.9),
    "acosh": (1.1, 9.0),
    "asin": (-0.9, 0.9),
    "atanh": (-0.9, 0.9),
    "entr": (0.01, 9.0),
    "erfinv": (-0.9, 0.9),
    "log": (0.01, 9.0),
    "log10": (0.01, 9.0),
    "log1p": (-0.9, 9.0),
    "log2": (0.01, 9.0),
    "logit": (0.01, 0.99),
    "ndtri": (0.01, 0.99),
    "rsqrt": (0.01, 9.0),
    "sqrt": (0.01, 9.0),
    "tan": (-1.4, 1.4),
    "zeta": (1.1, 9.0),
}


def has_a_class(arguments: dict[str, Any]) -> bool:
    """Probabilities, or a class that is not ignored."""
    classes = arguments["target"]
    return classes.dtype != np.int64 or bool((classes != arguments["ignore_index"]).any())


suites.HAS_NUMBERS |= dict.fromkeys(("cross_entropy", "cross_entropy_grad", "nll_loss", "nll_loss_grad"), has_a_class)


@pytest.mark.parametrize("target", _core.supported_targets())
def test_each_row_alone_gives_the_bits_of_the_batch(target: str) -> None:
    _core.set_target(target)
    x, w, b = torch.randn(13, 300), torch.randn(40, 300), torch.randn(40)
    image, kernel = torch.randn(5, 3, 9, 8), torch.randn(4, 3, 3, 3)
    for order in ("blocked", "sequential"):
        with repdl.order(order):
            for f, whole in (
                (lambda t: ops.linear(t, w, b), x),
                (lambda t: ops.mm(t, w, False, True), x),
                (ops.softmax, x),
                (lambda t: ops.sum(t, (1,)), x),
                (lambda t: ops.conv2d(t, kernel, padding=1), image),
            ):
                batch = f(whole)
                for i in range(len(whole)):
                    assert same_bits(f(whole[i : i + 1]), batch[i : i + 1])


def test_a_gradient_that_does_not_exist_is_an_error() -> None:
    x, weight = torch.randn(4, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    loss = ops.cross_entropy(x, torch.tensor([0, 1, 2, 0]), weight)
    with pytest.raises(NotImplementedError, match=r"\[cross_entropy\] has no gradient by weight; detach it"):
        loss.backward()


def test_gradients_have_gradients() -> None:
    x = torch.randn(2, 3, 6, 6, requires_grad=True)
    w = torch.randn(4, 3, 3, 3, requires_grad=True)
    (grad,) = torch.autograd.grad(ops.conv2d(x, w, padding=1).square().sum(), x, create_graph=True)
    (ours,) = torch.autograd.grad(grad.square().sum(), w)
    (grad,) = torch.autograd.grad(torch.conv2d(x, w, padding=1).square().sum(), x, create_graph=True)
    (theirs,) = torch.autograd.grad(grad.square().sum(), w)
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-2)


def test_a_broadcast_batch_has_the_right_gradients() -> None:
    for a_shape, b_shape, ta, tb in (
        ((4, 5, 6), (6, 7), False, False),
        ((4, 5, 6), (7, 6), False, True),
        ((6, 5), (4, 6, 7), True, False),
        ((5, 6), (4, 7, 6), False, True),
        ((2, 3, 6, 5), (6, 7), True, False),
        ((2, 3, 6, 5), (7, 6), True, True),
    ):
        a, b = torch.randn(a_shape, requires_grad=True), torch.randn(b_shape, requires_grad=True)
        ours = torch.autograd.grad(ops.mm(a, b, ta, tb).square().sum(), (a, b))
        theirs = torch.autograd.grad(((a.mT if ta else a) @ (b.mT if tb else b)).square().sum(), (a, b))
        for x, y in zip(ours, theirs, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-3)


def test_the_backward_pass_keeps_the_order_of_the_forward_pass() -> None:
    x, w = torch.randn(3, 3000, requires_grad=True), torch.randn(2, 3000)
    big = torch.randn(3000, 3, requires_grad=True)
    with repdl.order("sequential"):
        sequential = ops.mm(big, torch.randn(3, 2, generator=torch.Generator().manual_seed(1), requires_grad=True))
        loss = ops.linear(x, w)
    assert loss.grad_fn is not None
    del sequential
    # The gradient by mat2 sums over 3000 rows.
    grads = {}
    for order in ("sequential", "blocked"):
        m = torch.randn(3, 2, generator=torch.Generator().manual_seed(1)).requires_grad_()
        with repdl.order(order):
            y = ops.mm(big.detach(), m)
        with repdl.order("blocked"):  # where backward() is called does not matter
            (grads[order],) = torch.autograd.grad(y, m, torch.ones_like(y))
        with repdl.order(order):
            assert same_bits(grads[order], ops.mm(big.detach(), torch.ones_like(y), True))
    assert not same_bits(grads["sequential"], grads["blocked"])


def test_targets_and_threads_agree_on_large_operands() -> None:
    a, b = torch.randn(130, 700), torch.randn(700, 90)
    image, kernel = torch.randn(6, 8, 20, 20), torch.randn(12, 8, 3, 3)
    grad = torch.randn(6, 12, 20, 20)
    for order in ("blocked", "sequential"):
        with repdl.order(order):
            seen = None
            for target in _core.supported_targets():
                _core.set_target(target)
                for threads in (1, 2, 3):
                    repdl.set_num_threads(threads)
                    results = [
                        ops.mm(a, b),
                        ops.conv2d(image, kernel, padding=1),
                        ops.conv2d_grad_input(image.shape, kernel, grad, padding=1),
                        ops.conv2d_grad_kernel(image, kernel.shape, grad, padding=1),
                        ops.sum(image),
                        ops.sum(image, (0, 2, 3)),
                    ]
                    seen = seen or results
                    assert all(same_bits(x, y) for x, y in zip(seen, results, strict=True)), (target, threads)


def test_tensors_of_more_than_2_31_elements_work() -> None:
    """A view of one number, so that the memory stays small."""
    x = torch.tensor([1.0]).expand(2**31 + 64)
    assert ops.sum(x[: 2**24 + 1000]).item() == 2**24 + 1000
    rows = torch.tensor([[0.5]]).expand(2**31 + 2, 1)
    assert ops.sum(rows[-3:]).item() == 1.5
    assert ops.mm(rows.T[:, :5], rows[-5:]).item() == 1.25


def test_the_core_does_not_import_torch() -> None:
    code = "import sys, repdl, repdl._core; repdl.ops.exp; print('torch' in sys.modules)"
    assert run_python(code).strip() == "False"


def test_numpy_needs_no_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import numpy as np, repdl
x = np.ones((2, 3), np.float32)
print(repdl.ops.mm(x, x, transB=True).tolist(), repdl.ops.div(x, 2)[0, 0], repdl.get_num_threads() >= 1)
"""
    assert run_python(code).strip() == "[[3.0, 3.0], [3.0, 3.0]] 0.5 True"
