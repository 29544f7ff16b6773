# SPDX-License-Identifier: MIT
"""Products of sparse matrices under `repdl.enable()`: torch's values and gradients, in an order that is written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*(Sparse|sparse)")
_generator = torch.Generator().manual_seed(5)


def matrix(rows: int, columns: int, kept: float = 1.0) -> torch.Tensor:
    chosen = torch.rand(rows, columns, generator=_generator) < kept
    return torch.randn(rows, columns, generator=_generator) * chosen


A, B, X = matrix(40, 30, 0.2), matrix(30, 20, 0.2), matrix(30, 7)

CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "coo @ dense": lambda a, b, x: a.to_sparse() @ x,
    "dense @ coo": lambda a, b, x: x.t() @ b.to_sparse(),
    "coo @ coo": lambda a, b, x: (a.to_sparse() @ b.to_sparse()).to_dense(),
    "coo @ vector": lambda a, b, x: a.to_sparse() @ x[:, 0],
    "sparse.mm": lambda a, b, x: torch.sparse.mm(a.to_sparse(), x),
    "spmm": lambda a, b, x: torch.spmm(a.to_sparse(), x),
    "sparse.addmm": lambda a, b, x: torch.sparse.addmm(x[:1], a.to_sparse(), x, beta=0.5, alpha=2),
    "addmm": lambda a, b, x: torch.addmm(x[0], a.to_sparse(), x),
    "csr @ dense": lambda a, b, x: a.to_sparse_csr() @ x,
    "csr @ csr": lambda a, b, x: (a.to_sparse_csr() @ b.to_sparse_csr()).to_dense(),
    "csc @ csc": lambda a, b, x: (a.detach().to_sparse_csc() @ b.detach().to_sparse_csc()).to_dense() + 0 * x.sum(),
    "csr @ vector": lambda a, b, x: a.to_sparse_csr() @ x[:, 0],
    "addmv": lambda a, b, x: torch.addmv(a[:, 1], a.detach().to_sparse_csr(), x[:, 0], beta=0.5, alpha=2),
    **{
        f"csr reduced by {reduce}": lambda a, b, x, reduce=reduce: torch.sparse.mm(a.to_sparse_csr(), x, reduce)
        for reduce in ("sum", "mean", "amax", "amin")
    },
    "sampled_addmm": lambda a, b, x: torch.sparse.sampled_addmm(
        b.to_sparse_csr(), a.t(), a[:, :20], beta=0.5, alpha=2
    ).to_dense(),
    "csr * a number": lambda a, b, x: (a.detach().to_sparse_csr() * 0.3).to_dense() + 0 * x.sum(),
    "an empty one": lambda a, b, x: torch.sparse_coo_tensor(size=(3, 30), dtype=x.dtype) @ x,
}


def gradients(call: Callable[..., torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor | None]:
    leaves = [t.to(dtype, copy=True).requires_grad_() for t in (A, B, X)]
    result = call(*leaves)
    result.backward(torch.ones_like(result).cumsum(0))
    return [result.detach(), *(t.grad for t in leaves)]


@pytest.mark.parametrize("name", CALLS)
def test_like_torch(name: str) -> None:
    """Values, gradients and which of the operands have one."""
    exact = gradients(CALLS[name], torch.float64)
    with repdl.reproducible():
        ours = gradients(CALLS[name], torch.float32)
    for a, b in zip(ours, exact, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert torch.allclose(a.double(), b, rtol=1e-5, atol=1e-5)


def test_the_order_is_that_of_the_index() -> None:
    with repdl.reproducible():
        got = A.to_sparse() @ X
        for i in range(len(A)):
            row = torch.zeros(7)
            for k in range(len(X)):
                row = row + A[i, k] * X[k] if A[i, k] else row
            assert same_bits(got[i], row)
        for low in (torch.bfloat16, torch.float16):
            a, x = A.to(low), X.to(low)
            assert same_bits(a.to_sparse() @ x, (a.float().to_sparse() @ x.float()).to(low))


def test_many_terms_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    with repdl.reproducible():
        whole = A.to_sparse() @ X
        monkeypatch.setattr("repdl.interception.aten.sparse_products.TERMS", 20)
        assert same_bits(A.to_sparse() @ X, whole)


ZEROS_AND_NAN = torch.tensor(
    [[1.0, -1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [np.nan, 2.0, 2.0, 0.0], [-1.0, 1.0, 0.0, 0.0]]
)


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_the_first_of_equal_terms_is_chosen(reduce: str) -> None:
    """Which gets the gradient; so do zeros of either sign. A row without elements has +0 and gives none."""
    x = torch.tensor([[0.0, 1.0], [-0.0, 1.0], [1.0, 3.0], [-0.0, 0.5]])
    with repdl.reproducible():
        values, chosen = torch.ops.aten._sparse_mm_reduce_impl(ZEROS_AND_NAN.to_sparse_csr(), x, reduce)
    # Terms of the first row: 0, 0, -0 and 1, -1, 1; of the third one NaN, -0, 2 and NaN, 2, 6; of the last one -0, -0
    # and -1, 1.
    assert chosen.tolist() == [[0, 0 if reduce == "amax" else 1], [8, 8], [3, 3], [6, 7 if reduce == "amax" else 6]]
    expected = [
        [0.0, 1.0 if reduce == "amax" else -1.0],
        [0.0, 0.0],
        [np.nan] * 2,
        [-0.0, 1.0 if reduce == "amax" else -1.0],
    ]
    assert same_bits(values, torch.tensor(expected))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reductions_in_parts_and_low_precision(reduce: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def results(dtype: torch.dtype) -> list[torch.Tensor]:
        a, x = (t.to(dtype).requires_grad_() for t in (A, X))
        result = torch.sparse.mm(a.to_sparse_csr(), x, reduce)
        result.backward(torch.ones_like(result).cumsum(0))
        return [result.detach(), *(t.grad for t in (a, x) if t.grad is not None)]

    with repdl.reproducible():
        whole, low = results(torch.float32), torch.sparse.mm(A.bfloat16().to_sparse_csr(), X.bfloat16(), reduce)
        monkeypatch.setattr("repdl.interception.aten.sparse_products.TERMS", 20)
        assert all(map(same_bits, results(torch.float32), whole))
        wide = torch.sparse.mm(A.bfloat16().float().to_sparse_csr(), X.bfloat16().float(), reduce)
        assert same_bits(low, wide.bfloat16())


def test_sampled_products_are_those_of_mm() -> None:
    x, y = matrix(30, 300), matrix(300, 20)
    with repdl.reproducible():
        whole, pattern = x @ y, (B != 0).float().to_sparse_csr()
        sampled = torch.sparse.sampled_addmm(pattern, x, y, beta=0.0)
        assert same_bits(sampled.to_dense(), torch.where(B != 0, whole, 0.0))
        for out in (pattern.clone(), torch.zeros(30, 20).to_sparse_csr(), torch.ones(30, 20).to_sparse_csr()):
            assert torch.sparse.sampled_addmm(pattern, x, y, beta=0.0, out=out) is out
            assert same_bits(out.to_dense(), sampled.to_dense())
        with repdl.order("sequential"):
            in_sequence = torch.sparse.sampled_addmm(pattern, x, y, beta=0.0)
            assert same_bits(in_sequence.to_dense(), torch.where(B != 0, x @ y, 0.0))
            assert not same_bits(in_sequence.to_dense(), sampled.to_dense())


def test_matrices_of_diagonals() -> None:
    diagonals, offsets = torch.arange(12.0).reshape(2, 6), torch.tensor([2, -1])
    expected = torch.sparse.spdiags(diagonals, offsets, (6, 5))
    with repdl.reproducible():
        found = torch.sparse.spdiags(diagonals, offsets, (6, 5))
    assert same_bits(found.to_dense(), expected.to_dense())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a, x: a @ x[:5], RuntimeError),
        (lambda a, x: torch.sparse.mm(a, x.double()), RuntimeError),
        (lambda a, x: torch.mm(a, a.t().to_sparse_csr()), repdl.NotReproducibleError),
        (lambda a, x: torch.sparse.mm(a.to_sparse_csr(), x, "prod"), RuntimeError),
        (lambda a, x: torch.sparse.mm(a.to_sparse_csr(), x.double(), "amax"), RuntimeError),
        (lambda a, x: torch.sparse.mm(a.int().to_sparse_csr(), x.int(), "mean"), NotImplementedError),
        (lambda a, x: torch.sparse.sampled_addmm(a.to_sparse_csr(), x, x), RuntimeError),
        (lambda a, x: a.to_sparse_csr() * x.t().to_sparse_csr(), repdl.NotReproducibleError),
    ],
)
def test_what_is_refused(call: Callable[..., torch.Tensor], error: type[Exception]) -> None:
    with repdl.reproducible(), pytest.raises(error) as raised:
        call(A.to_sparse(), X)
    assert type(raised.value) is error
