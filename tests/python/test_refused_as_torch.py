# SPDX-License-Identifier: MIT
"""Calls that torch refuses for their arguments are refused with an exception of the same type."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import repdl

X = torch.arange(16.0).reshape(4, 4)
IMAGE = X[None, None]
PIVOTS = torch.tensor([1, 2, 3, 4], dtype=torch.int32)


def _grown(function: Callable[..., torch.Tensor]) -> torch.Tensor:
    x = X.clone()[0]
    return function(x[1:2], torch.ones(3), out=x[1:2])


def _bilinear_under_autocast(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return F.bilinear(x, y, X.expand(3, 4, 4))


def _attention_by(backend: SDPBackend, **settings: Any) -> torch.Tensor:
    with sdpa_kernel(backend), warnings.catch_warnings(action="ignore"):  # torch says why not, once for each reason
        return F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, **settings)


CALLS: dict[str, Callable[[], Any]] = {
    "histc of no bins": lambda: torch.histc(X, bins=0),
    "histc of fewer": lambda: torch.histc(X, bins=-3),
    "histogram of no bins": lambda: torch.histogram(X, 0),
    "group_norm of more samples": lambda: torch.native_group_norm(IMAGE, None, None, 2, 1, 16, 1, 1e-5),
    "group_norm of fewer places": lambda: torch.native_group_norm(IMAGE, None, None, 1, 1, 15, 1, 1e-5),
    "its gradient of fewer places": lambda: torch.ops.aten.native_group_norm_backward(
        IMAGE, IMAGE, X[:1, :1], X[:1, :1], None, 1, 1, 15, 1, [True, False, False]
    ),
    "lerp to a number of another type": lambda: torch.lerp(X, torch.tensor(1.0, dtype=torch.float64), 0.3),
    "amax of none of no columns": lambda: torch.ones(0, 0).amax(0),
    "median of none of no columns": lambda: torch.ones(0, 0).median(0),
    "index_copy of fewer rows": lambda: X.index_copy(0, torch.tensor([1, 2]), X[:1]),
    "index_copy of a vector": lambda: X.index_copy(0, torch.tensor([1]), X[0]),
    "index_copy of rows of other sizes": lambda: X.index_copy(0, torch.tensor([1]), X[:1, :3]),
    "index_copy of another type": lambda: X.index_copy(0, torch.tensor([1]), X[:1].double()),
    "index_copy by a matrix": lambda: X.index_copy(0, torch.tensor([[1]]), X[:1]),
    "index_copy by int32": lambda: X.clone().index_copy_(0, torch.tensor([1], dtype=torch.int32), X[:1]),
    "index_copy by a mask": lambda: X.index_copy(0, torch.ones(4, dtype=torch.bool), X),
    "index_copy along what is not there": lambda: X.index_copy(2, torch.tensor([1]), X[:1]),
    "index_copy by an index that is not there": lambda: X.index_copy(0, torch.tensor([4]), X[:1]),
    "index_copy of a number to rows": lambda: X.index_copy(0, torch.tensor([1]), X[0, 0]),
    "index_copy to a number": lambda: X[0, 0].index_copy(0, torch.tensor([0, 0]), X[0, :1]),
    "put_ of fewer numbers": lambda: X.clone().put_(torch.tensor([0, 1]), X[0, :1]),
    "put_ of more": lambda: X.clone().put_(torch.tensor([0, 1]), X[0]),
    "put_ of a number to none": lambda: X.clone().put_(torch.tensor([], dtype=torch.int64), X[0, :1]),
    "put_ of more, to be added": lambda: X.clone().put_(torch.tensor([0, 1]), X[0], True),
    "put_ by int32": lambda: X.clone().put_(torch.tensor([0, 1], dtype=torch.int32), X[0, :2]),
    "put_ by a mask": lambda: X.clone().put_(torch.tensor([True, False]), X[0, :2]),
    "put_ of another type": lambda: X.clone().put_(torch.tensor([0, 1]), X[0, :2].double()),
    "put_ by an index that is not there": lambda: X.clone().put_(torch.tensor([0, 16]), X[0, :2]),
    "put_ to nothing": lambda: X[:0].put_(torch.tensor([0]), X[0, :1]),
    "polar of two types": lambda: torch.polar(X, X.double()),
    "polar of float64 and a number of float32": lambda: torch.polar(X.double(), X[0, 0]),
    "addmv of integers and floats": lambda: torch.addmv(X[0].long(), X, X[0]),
    "addmv of float64 and float32": lambda: torch.addmv(X[0].double(), X, X[0]),
    "addbmm of integers and floats": lambda: torch.addbmm(X.long(), X[None], X[None]),
    "vector_norm in a narrower type": lambda: torch.linalg.vector_norm(X, dtype=torch.bfloat16),
    "vector_norm of float64 in float32": lambda: torch.norm(X.double(), 1, dtype=torch.float32),
    "vector_norm of float16 in bfloat16": lambda: torch.linalg.vector_norm(X.half(), dtype=torch.bfloat16),
    "vector_norm of complex numbers in a real type": lambda: torch.linalg.vector_norm(X + 1j, dtype=torch.float32),
    "vector_norm of real numbers in a complex type": lambda: torch.norm(X, dtype=torch.complex64),
    "layer_norm with a weight and a bias of two types": lambda: F.layer_norm(X.bfloat16(), (4,), X[0].bfloat16(), X[0]),
    "group_norm with these": lambda: F.group_norm(X.half(), 2, X[0], X[0].half()),
    "batch_norm with these": lambda: F.batch_norm(X.bfloat16(), None, None, X[0], X[0].bfloat16(), training=True),
    "renorm by p = -1": lambda: torch.renorm(X, -1, 0, 1.0),
    "renorm by p = 0": lambda: torch.renorm(X, 0, 0, 1.0),
    "renorm to less than 0": lambda: torch.renorm(X, 2, 0, -1.0),
    "renorm of a vector": lambda: torch.renorm(X[0], 2, 0, 1.0),
    "renorm along what is not there": lambda: torch.renorm(X, 2, 3, 1.0),
    "attention with a mask that does not fit": lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, X[:3, :3]),
    "attention with a negative dropout": lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, dropout_p=-0.5),
    "attention without a backend for CPUs": lambda: _attention_by(SDPBackend.EFFICIENT_ATTENTION),
    "attention with dropout without the steps": lambda: _attention_by(SDPBackend.FLASH_ATTENTION, dropout_p=0.5),
    "attention of matrices with two masks": lambda: F.scaled_dot_product_attention(X, X, X, X, 0.0, True),
    "linear of a matrix by a vector, with a bias": lambda: F.linear(X, X[0], X[0, 0]),
    "linear by a vector with a bias of other sizes": lambda: F.linear(IMAGE, X[0], torch.ones(16)),
    "normal into fewer places": lambda: torch.normal(X, 1.0, out=torch.ones(3)),
    "multinomial into float32": lambda: torch.multinomial(X[1], 2, out=torch.ones(2)),
    "max pool of no channels": lambda: F.max_pool2d(IMAGE[:, :0], 2),
    "max pool of no rows, all padded": lambda: F.max_pool2d(IMAGE[:, :, :0], 2, padding=1),
    "max pool of a volume of no channels": lambda: F.max_pool3d(IMAGE[None, :, :0], 1),
    "average pool of no channels": lambda: F.avg_pool2d(IMAGE[:, :0], 2),
    "adaptive max pool of no channels": lambda: F.adaptive_max_pool3d(IMAGE[None, :, :0], 1),
    "normal with a negative deviation": lambda: torch.normal(X, -X),
    "inverse by a factor with a zero": lambda: torch.cholesky_inverse(torch.zeros(3, 3)),
    "inverse by such a factor of a batch": lambda: torch.cholesky_inverse(torch.stack([X, 0 * X])),
    "cross entropy of NaN": lambda: F.binary_cross_entropy(X * torch.nan, X),
    "max pool without steps": lambda: F.max_pool2d(IMAGE, 2, stride=0),
    "a sum that is larger than the operand it goes to": lambda: _grown(torch.add),
    "such a power": lambda: _grown(torch.pow),
    "such a product by a power of two": lambda: _grown(torch.ldexp),
    "the same in place": lambda: torch.ones(4, 1).ldexp_(X),
    "outer product of a matrix": lambda: torch.addr(X, X[:, :1], X[0]),
    "outer product with a matrix": lambda: torch.addr(X, X[0], X[:, :1]),
    "addmm that grows": lambda: torch.addmm(X[None], X, X),
    "addmm of more rows than the product has": lambda: torch.addmm(X, X[:1], X),
    "addmm that grows, times 0": lambda: torch.addmm(X[None], X, X, beta=0),
    "addmv that grows": lambda: torch.addmv(X[:1], X, X[0]),
    "addbmm that grows": lambda: torch.addbmm(IMAGE[0], IMAGE[0], IMAGE[0]),
    "baddbmm that grows": lambda: torch.baddbmm(IMAGE, IMAGE[0], IMAGE[0]),
    "outer product that grows": lambda: torch.addr(X[None], X[0], X[0]),
    "linear with a bias that grows": lambda: F.linear(X, X, IMAGE),
    "bilinear with a bias that grows": lambda: F.bilinear(X, X, X.expand(4, 4, 4), IMAGE),
    "cross product along what is not there": lambda: torch.linalg.cross(X[:, :3], X[:, :3], dim=2),
    "gamma function of no dimension": lambda: torch.mvlgamma(X + 9, 0),
    "reflections of two types": lambda: torch.linalg.householder_product(X, X[0].double()),
    "what these turn": lambda: torch.ormqr(X, X[0], X.double()),
    "triangular matrix of another type": lambda: torch.triangular_solve(X.double(), X),
    "factors of another type": lambda: torch.linalg.lu_solve(X, PIVOTS, X.double()),
    "pivots as floats": lambda: torch.linalg.lu_solve(X, PIVOTS.float(), X),
    "pivots of one matrix for several": lambda: torch.linalg.lu_solve(X.expand(2, 4, 4), PIVOTS, X),
    "fewer pivots than rows": lambda: torch.linalg.lu_solve(X, PIVOTS[1:], X),
    "pivots below 0": lambda: torch.linalg.lu_solve(X, -PIVOTS, X),
    "symmetric factors of another type": lambda: torch.linalg.ldl_solve(X, PIVOTS, X.double()),
    "their pivots as floats": lambda: torch.linalg.ldl_solve(X, PIVOTS.float(), X),
    "their pivots of one matrix for several": lambda: torch.linalg.ldl_solve(X.expand(2, 4, 4), PIVOTS, X),
    "their pivots of 0": lambda: torch.linalg.ldl_solve(X, 0 * PIVOTS, X),
    "sum with a complex factor": lambda: torch.add(X, X, alpha=1j),
    "sum with a number and a complex factor": lambda: torch.sub(X, 1, alpha=1j),
    "sums of lists with a complex factor": lambda: torch._foreach_add([X], [X], alpha=1j),
    "products with a complex factor": lambda: torch.addcmul(X, X, X, value=1j),
    "quotients with a complex factor": lambda: torch.addcdiv(X, X, X, value=1j),
    "matrices with a complex factor": lambda: torch.addmm(X, X, X, alpha=1j),
    "matrices beside a complex factor": lambda: torch.addmm(X, X, X, beta=1j),
    "outer product with a complex factor": lambda: torch.addr(X, X[0], X[0], alpha=1j),
    "bilinear of two types under autocast": lambda: _bilinear_under_autocast(X[:2].bfloat16(), X[:2]),
    "gelu by an approximation that is none": lambda: F.gelu(X, approximate="Tanh"),
    "its gradient": lambda: torch.ops.aten.gelu_backward(X, X, approximate=""),
    "trace of matrices": lambda: torch.trace(torch.ones(2, 2, 2)),
    "trace of a vector": lambda: torch.trace(X[0]),
    "a negative norm of nothing": lambda: torch.linalg.vector_norm(X[:0], -1),
    "the largest of nothing": lambda: torch.linalg.vector_norm(X[:, :0], torch.inf, dim=1),
    "a norm of nothing along a dimension": lambda: torch.linalg.vector_norm(X[:, :0], -0.5, dim=(0, -1)),
    "such norms, of which there are none": lambda: torch.norm(X[:0, :0], -1, dim=0),
    "whole numbers in place of fractions": lambda: torch._foreach_maximum_([X.long()], 0.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_type_of_the_exception(name: str) -> None:
    with pytest.raises(Exception) as stock:  # noqa: PT011 (its type is what is asked for)
        CALLS[name]()
    with repdl.reproducible(), pytest.raises(stock.type) as ours:
        CALLS[name]()
    assert str(ours.value)


def test_group_norm_by_the_sizes_that_are_given() -> None:
    x, weight = X.expand(2, 4, 4).contiguous() * torch.tensor([1.0, 2.0])[:, None, None], torch.arange(2.0)
    with repdl.reproducible():
        found = torch.native_group_norm(x, weight, weight, 16, 2, 1, 2, 1e-5)
        expected = torch.native_group_norm(x.view(16, 2, 1), weight, weight, 16, 2, 1, 2, 1e-5)
        assert torch.equal(found[0].view(16, 2, 1), expected[0])
        assert found[0].shape == x.shape and found[1].shape == (16, 2)


def test_renorm_along_each_dimension() -> None:
    for dim in (-2, -1, 0, 1):
        stock = torch.renorm(X, 2, dim, 5.0)
        with repdl.reproducible():
            torch.testing.assert_close(torch.renorm(X, 2, dim, 5.0), stock)
