# SPDX-License-Identifier: MIT
"""Sparse tensors in compressed layouts (CSR, CSC, BSR, BSC) and several: the bits of what they stand for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*(Sparse|sparse)")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.complex64)
Sparse = Callable[[torch.Tensor], torch.Tensor]
LAYOUTS: dict[str, Sparse] = {
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((2, 2)),
}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def _matrix(rows: int, columns: int, dtype: torch.dtype, kept: float = 0.5) -> torch.Tensor:
    """With a row that has no element, numbers that cancel, and subnormal ones."""
    generator = torch.Generator().manual_seed(rows * columns)
    chosen = torch.rand(rows, columns, generator=generator) < kept
    chosen[rows // 2] = False
    x = (
        torch.randn(rows, columns, generator=generator)
        * torch.tensor([1e4, 1.0, 1e-3, 1e-40])[torch.arange(columns) % 4]
    )
    x = torch.where(chosen, x, 0.0).to(dtype) + 0  # no -0, which is no element
    return x * (1 - 0.5j) if dtype.is_complex else x


def _in_order(sparse: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    """The product, one element after the other."""
    a = sparse.to_sparse().coalesce()
    wide = torch.float32 if dense.dtype == torch.bfloat16 else dense.dtype
    result = torch.zeros(sparse.shape[0], dense.shape[1], dtype=wide)
    for (i, k), value in zip(a.indices().t().tolist(), a.values().to(wide), strict=True):
        result[i] = result[i] + value * dense[k].to(wide)
    return result


@each_dtype
@each_layout
def test_products_add_in_the_order_of_the_index(layout: str, dtype: torch.dtype) -> None:
    make = LAYOUTS[layout]
    x, y = _matrix(4, 6, dtype, 1.0), _matrix(8, 6, dtype, 1.0)
    x[1, 2], x[2, 3] = float("inf"), float("nan")
    with repdl.reproducible():
        a = make(_matrix(6, 4, dtype))
        expected = _in_order(a, x)
        assert same_bits(a @ x, expected.to(dtype))
        assert same_bits(a @ x.t().contiguous().t(), expected.to(dtype))
        assert same_bits(a @ x[:, 1:2], expected[:, 1:2].to(dtype))  # a column alone
        assert same_bits(a @ x[:, 1], expected[:, 1].to(dtype))
        of_rows = _in_order(a.to_sparse().t(), y.t()).t()
        assert same_bits(y @ a, of_rows.to(dtype))
        wide = expected.dtype
        sums = torch.addmm(y[0].expand(6, 6), a, x, beta=0.5, alpha=2)
        assert same_bits(sums, (expected * 2 + y[0].to(wide) * 0.5).to(dtype))
        sums = torch.addmm(x[0, :4], y, a)
        assert same_bits(sums, (of_rows + x[0, :4].to(wide)).to(dtype))
        if layout != "coo":
            assert same_bits(torch.addmv(y[0], a, x[:, 0]), (expected[:, 0] + y[0].to(wide)).to(dtype))


@each_dtype
@each_layout
def test_arithmetic_is_that_of_the_elements(layout: str, dtype: torch.dtype) -> None:
    make = LAYOUTS[layout]
    x, y = _matrix(6, 4, dtype), _matrix(6, 4, dtype, 0.8)  # -0 is added to +0 where these become dense
    with repdl.reproducible():
        a = make(x)
        assert (a * 0.3).layout == a.layout and same_bits((a * 0.3).to_dense(), x * 0.3 + 0)
        assert same_bits((0.3 * a).to_dense(), x * 0.3 + 0)
        changed = make(x)
        assert changed.mul_(0.3) is changed and same_bits(changed.to_dense(), x * 0.3 + 0)
        if layout != "coo":
            assert same_bits(a.sum(), a.values().sum())
        if layout in ("coo", "csr", "csc"):
            b = make(y)
            for alpha in (1, 0.3):
                assert same_bits(torch.add(a, b, alpha=alpha).to_dense(), torch.add(x, y, alpha=alpha))
                assert torch.add(a, b, alpha=alpha).layout == a.layout
                assert same_bits(torch.add(y, a, alpha=alpha), torch.add(y, x, alpha=alpha))
            if layout != "coo":
                assert same_bits(a + y, y + x)
                assert same_bits(torch.add(a, y, alpha=0.3), torch.add(x, y, alpha=0.3))
        if layout in ("coo", "csr"):
            met = a * b
            assert met.layout == a.layout and same_bits(met.to_dense(), torch.where((x != 0) & (y != 0), x * y, 0) + 0)
            assert same_bits((a * y).to_dense(), torch.where(x != 0, x * y, 0) + 0)


def test_two_that_have_elements_in_common() -> None:
    """An index that comes twice is added first; what one of them lacks is no element, whatever the other has there."""
    nan, inf = float("nan"), float("inf")
    a = torch.sparse_coo_tensor([[0, 0, 1, 0, 2], [1, 1, 2, 1, 2]], [1e8, 1.0, nan, -1e8, -0.0], (3, 3))
    b = torch.sparse_coo_tensor([[2, 0, 0], [2, 1, 0]], [3.0, inf, nan], (3, 3))
    none = torch.sparse_coo_tensor(size=(3, 3))
    with repdl.reproducible():
        product = a * b
        assert product.indices().tolist() == [[0, 2], [1, 2]]
        assert same_bits(product.values(), torch.tensor([nan, -0.0]))  # (1e8 + 1 - 1e8) is 0
        changed = a.clone()
        assert same_bits(changed.mul_(b).coalesce().values(), product.values()) and changed._nnz() == 2
        for empty in (a * none, none * a, none * none):
            assert empty._nnz() == 0 and empty.shape == (3, 3)
        rows = torch.sparse_coo_tensor([[0, 2]], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
        assert same_bits((rows * rows).to_dense(), rows.to_dense() ** 2)


@each_dtype
def test_a_batch_is_that_of_each(dtype: torch.dtype) -> None:
    x, y = _matrix(12, 6, dtype).reshape(3, 4, 6), _matrix(18, 5, dtype, 1.0).reshape(3, 6, 5)
    with repdl.reproducible():
        a = x.to_sparse()
        product = torch.bmm(a, y)
        assert same_bits(product, torch.stack([_in_order(x[i].to_sparse(), y[i]).to(dtype) for i in range(3)]))
        assert same_bits(torch.bmm(x[:0].to_sparse(), y[:0]), torch.zeros(0, 4, 5, dtype=dtype))
        with pytest.raises(RuntimeError):
            torch.bmm(a, y[:, :5])


def test_gradients_of_sums_and_products() -> None:
    given = [_matrix(6, 4, torch.float32, kept).clamp(-2, 2) for kept in (0.5, 0.8)]

    def gradients(dtype: torch.dtype) -> list[torch.Tensor]:
        x, y = (t.to(dtype, copy=True).requires_grad_() for t in given)
        a, b = x.to_sparse(), y.to_sparse()
        row, column = torch.sparse.sum(a * b, 0).to_dense(), torch.sparse.sum(a, 1).to_dense()
        weight = F.linear(torch.arange(8.0, dtype=dtype).reshape(2, 4), x.to_sparse_csr(), y[:, 0])
        loss = (row.arctan() * row).sum() + column.arctan().sum() + weight.arctan().sum()
        return list(torch.autograd.grad(loss, (x, y)))

    exact = gradients(torch.float64)
    with repdl.reproducible():
        ours = gradients(torch.float32)
    for a, b in zip(ours, exact, strict=True):
        assert torch.allclose(a.double(), b, rtol=1e-4, atol=1e-6)


def _digest() -> str:
    """Of enough elements that work is shared among threads."""
    x, y = _matrix(400, 300, torch.float32), _matrix(300, 64, torch.float32, 1.0)
    found: list[Any] = []
    for make in LAYOUTS.values():
        a = make(x)
        found += [a @ y, y.t()[:, :300] @ make(_matrix(300, 300, torch.float32)), (a * 0.3).to_dense()]
    a, b = x.to_sparse(), _matrix(400, 300, torch.float32, 0.8).to_sparse()
    found += [(a * b).to_dense(), (a.to_sparse_csr() + b.to_sparse_csr()).to_dense(), x.to_sparse_csr().sum()]
    found.append(torch.bmm(x.reshape(4, 100, 300).to_sparse(), y.expand(4, 300, 64)))
    return sha256(b"".join(t.contiguous().numpy().tobytes() for t in found)).hexdigest()


def test_threads_and_instruction_sets() -> None:
    digests = set()
    for threads in (1, 2, 3, 7):
        torch.set_num_threads(threads)
        with repdl.reproducible():
            digests.add(_digest())
    torch.set_num_threads(1)
    code = "import repdl, test_sparse_compressed as t\nwith repdl.reproducible(): print(t._digest())"
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    here = {"REPDL_TARGET": "scalar", "ATEN_CPU_CAPABILITY": "default", "PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, env={**os.environ, **here}, capture_output=True, text=True, check=True)
    digests.add(run.stdout.strip())
    assert len(digests) == 1


@each_dtype
def test_sums_of_csr_add_in_the_order_of_the_index(dtype: torch.dtype) -> None:
    dense = _matrix(9, 31, dtype)
    sparse, wide = dense.to_sparse_csr(), torch.float32 if dtype == torch.bfloat16 else dtype
    with repdl.reproducible():
        for dims, size in (((1,), (9, 1)), ((0,), (1, 31)), ((-2, 1), (1, 1)), ((), (1, 1))):
            expected: dict[tuple[int, int], torch.Tensor] = {}
            for row, column in dense.nonzero().tolist():
                place = row if size[0] > 1 else 0, column if size[1] > 1 else 0
                value = dense[row, column].to(wide)
                expected[place] = expected[place] + value if place in expected else value
            result = torch.sum(sparse, dims, keepdim=True)
            found = result.to_sparse().coalesce()
            assert result.shape == size and list(map(tuple, found.indices().t().tolist())) == sorted(expected)
            assert same_bits(found.values(), torch.stack([expected[place] for place in sorted(expected)]).to(dtype))
        doubled = torch.complex128 if dtype.is_complex else torch.float64
        sums = torch.sum(sparse, 1, keepdim=True, dtype=doubled).to_dense()
        assert same_bits(sums, torch.sum(sparse.to(doubled), 1, keepdim=True).to_dense())


def test_sums_of_csr_that_torch_refuses() -> None:
    sparse = torch.eye(3).to_sparse_csr()
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: torch.sum(sparse, 1),
        lambda: torch.sum(sparse, 2, keepdim=True),
        lambda: torch.sum(sparse.to(torch.bool), 1, keepdim=True),
        lambda: torch.sum(sparse.to_sparse_csc(), 1, keepdim=True),
    ]
    for call in calls:
        with pytest.raises((RuntimeError, IndexError)) as stock:
            call()
        with repdl.reproducible(), pytest.raises(type(stock.value)) as raised:
            call()
        assert str(raised.value) == str(stock.value)
    with repdl.reproducible():
        assert torch.sum(sparse.to(torch.uint8), 1, keepdim=True).dtype == torch.int64
