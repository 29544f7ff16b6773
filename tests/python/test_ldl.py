# SPDX-License-Identifier: MIT
"""L D Lᵀ of symmetric matrices and L D Lᴴ of Hermitian ones, by Bunch and Kaufman's pivoting, beside LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import repdl

L = torch.linalg
DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def indefinite(dtype: torch.dtype, hermitian: bool, *shape: int) -> torch.Tensor:
    """Matrices with small numbers and zeros on the diagonal, which make blocks of two."""
    draw = np.random.default_rng(shape[-1] + 10 * hermitian)
    a = torch.from_numpy(draw.standard_normal(shape) + 1j * draw.standard_normal(shape))
    a = a if dtype.is_complex else a.real
    a = a + (a.mH if hermitian else a.mT)
    if shape[-1] > 3:
        a[..., 0, 0] = 0
        a[..., 1, 1] *= 1e-3
        a[..., 3, 3] *= 1e-3
    return a.to(dtype)


def product(factors: torch.Tensor, pivots: torch.Tensor, hermitian: bool) -> torch.Tensor:
    """The matrix of factors laid out as LAPACK has them, in complex128."""
    n = factors.shape[-1]
    a, k = factors.to(torch.complex128).clone(), n - 1
    turned = torch.conj if hermitian else lambda x: x
    result = torch.zeros(n, n, dtype=a.dtype)
    while k >= 0:
        two = int(pivots[k]) < 0
        first, p = (k - 1 if two else k), abs(int(pivots[k])) - 1
        block = a[first : k + 1, first : k + 1].tril()
        block = block + turned(block.tril(-1)).mT
        below = a[k + 1 :, first : k + 1]
        result[first : k + 1, first : k + 1] = block
        result[k + 1 :, first : k + 1] = below @ block
        result[first : k + 1, k + 1 :] = turned(below @ block).mT
        result[k + 1 :, k + 1 :] += below @ block @ turned(below).mT
        order = torch.arange(n)
        order[[k, p]] = order[[p, k]]
        result = result[order][:, order]
        k = first - 1
    return result


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_are_those_of_lapack(dtype: torch.dtype, hermitian: bool) -> None:
    close = 1e-4 if dtype in (torch.float32, torch.complex64) else 1e-11
    for n in (0, 1, 2, 3, 7, 40, 150):
        a = indefinite(dtype, hermitian, n, n)
        stock = L.ldl_factor_ex(a, hermitian=hermitian)
        with repdl.reproducible():
            ours = L.ldl_factor_ex(a, hermitian=hermitian)
            turned = L.ldl_factor_ex(a.mT.contiguous().mT, hermitian=hermitian)
        assert n < 4 or (stock.pivots < 0).any()
        for mine, theirs, other in zip(ours, stock, turned, strict=True):
            assert (mine.shape, mine.dtype, mine.stride()) == (theirs.shape, theirs.dtype, theirs.stride())
            assert torch.equal(mine, other)
        assert torch.equal(ours.pivots, stock.pivots) and torch.equal(ours.info, stock.info)
        found = product(ours.LD, ours.pivots, hermitian)
        assert torch.allclose(found, a.to(found.dtype), rtol=close, atol=close)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions(dtype: torch.dtype, hermitian: bool) -> None:
    """With the factors of either; of a batch that the right sides broadcast; of a matrix alone as in the batch."""
    a, b = indefinite(dtype, hermitian, 3, 1, 20, 20), indefinite(dtype, False, 2, 20, 20)[..., :5]
    stock = L.ldl_factor(a, hermitian=hermitian)
    expected = L.solve(a.to(torch.complex128), b.to(torch.complex128))
    whole = stock.LD.expand(3, 2, 20, 20).clone(), stock.pivots.expand(3, 2, 20).clone()  # stock torch crashes without
    wrong = (L.ldl_solve(*whole, b.expand(3, 2, 20, 5), hermitian=hermitian) - expected).abs().max()
    close = 200 * torch.finfo(dtype).eps * float(expected.abs().max())
    with repdl.reproducible():
        ours = L.ldl_factor(a, hermitian=hermitian)
        found = L.ldl_solve(*ours, b, hermitian=hermitian)
        assert found.shape == (3, 2, 20, 5)
        assert (found - expected).abs().max() <= max(float(wrong), close)
        assert (L.ldl_solve(*stock, b, hermitian=hermitian) - expected).abs().max() <= 2 * max(float(wrong), close)
        alone = L.ldl_factor(a[1, 0], hermitian=hermitian)
        assert torch.equal(alone.LD, ours.LD[1, 0])
        assert torch.equal(L.ldl_solve(*alone, b[0], hermitian=hermitian), found[1, 0])
        into = torch.empty(0, dtype=dtype)
        assert L.ldl_solve(*alone, b[0], hermitian=hermitian, out=into) is into
        assert torch.equal(into, found[1, 0])
        out = torch.empty(0, dtype=dtype), torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
        L.ldl_factor_ex(a[1, 0], hermitian=hermitian, out=out)
        assert torch.equal(out[0], alone.LD) and torch.equal(out[1], alone.pivots)


def test_what_is_singular_or_wrong() -> None:
    zero = torch.diag(torch.tensor([2.0, 0.0, 3.0]))
    with repdl.reproducible():
        assert L.ldl_factor_ex(zero).info == 2
        assert L.ldl_factor_ex(torch.full((2, 2), float("nan"))).info == 1
        with pytest.raises(RuntimeError, match="square"):
            L.ldl_factor(torch.ones(2, 3))
        with pytest.raises(RuntimeError, match="at least 2 dimensions"):
            L.ldl_factor(torch.ones(3))
        with pytest.raises(RuntimeError, match="Incompatible shapes"):
            L.ldl_solve(*L.ldl_factor(torch.eye(3)), torch.ones(2, 2))
        with pytest.raises(RuntimeError, match="pivots must name the rows 1 to 3"):
            L.ldl_solve(torch.eye(3), torch.tensor([7, 2, 3], dtype=torch.int32), torch.ones(3, 1))
