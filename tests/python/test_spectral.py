# SPDX-License-Identifier: MIT
"""Singular values, eigenvalues and what is solved by them under `repdl.enable()`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import ops
from support import same_bits

L = torch.linalg
DTYPES = [torch.float32, torch.float64]


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def low_rank(rows: int, columns: int, rank: int) -> torch.Tensor:
    return normal(rows, rank, seed=2) @ normal(rank, columns, seed=3)


def hilbert(n: int) -> torch.Tensor:
    places = torch.arange(1.0, n + 1, dtype=torch.float64)
    return 1 / (places[:, None] + places - 1)


MATRICES: dict[str, torch.Tensor] = {
    "one": normal(1, 1),
    "tall": normal(9, 4),
    "flat": normal(4, 9),
    "column": normal(6, 1),
    "row": normal(1, 6),
    "square": normal(20, 20),
    "many": normal(2, 3, 5, 4),
    "low rank": low_rank(12, 10, 3),
    "hilbert": hilbert(10),
    "zeros": torch.zeros(4, 3, dtype=torch.float64),
    "one number": torch.diag(torch.tensor([0.0, 0, -2, 0], dtype=torch.float64), -1),
    "equal": torch.ones(5, 4, dtype=torch.float64),
    "identity": -torch.eye(6, dtype=torch.float64),
    "orthogonal": L.qr(normal(8, 8))[0],
    "graded": normal(8, 8) * 10.0 ** torch.arange(0, -16, -2, dtype=torch.float64),
    "large": normal(4, 4) * 1e30,
    "small": normal(4, 4) * 1e-30,
    "scaled apart": normal(6, 6) * 10.0 ** torch.arange(30, -30, -10, dtype=torch.float64),
    "upper corner": torch.diag(torch.tensor([1.0, 2, 3, 4, 5], dtype=torch.float64), 1),
    "nothing": torch.zeros(0, 3, dtype=torch.float64),
    "none": torch.zeros(2, 0, 0, dtype=torch.float64),
}  # fmt: skip


def room(dtype: torch.dtype, size: int) -> float:
    return (4 if dtype == torch.float32 else 16) * max(size, 4) ** 0.5 * torch.finfo(dtype).eps


def assert_orthonormal(columns: torch.Tensor, room: float) -> None:
    gram = columns.double().mT @ columns.double()
    assert torch.allclose(gram, torch.eye(gram.shape[-1], dtype=gram.dtype), rtol=0, atol=room)


def assert_signed(columns: torch.Tensor) -> None:
    """The largest number of each is positive; of those that are equal but for rounding one may be."""
    largest = columns.abs().amax(-2, True)
    assert (columns.amax(-2, True) >= largest * (1 - 1e-6)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", MATRICES)
def test_singular_values(name: str, full: bool, dtype: torch.dtype) -> None:
    a = MATRICES[name].to(dtype)
    stock, off = L.svd(a, full), room(dtype, max(a.shape[-2:]))
    with repdl.reproducible():
        u, s, vh = ours = L.svd(a, full)
        assert same_bits(L.svdvals(a), s)
        old = torch.svd(a, some=not full)
        assert same_bits(old.U, u) and same_bits(old.S, s) and same_bits(old.V, vh.mT)
    for mine, theirs in zip(ours, stock, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        assert mine.stride() == theirs.stride() or mine.numel() == 0
    if a.numel() == 0:
        return
    k = s.shape[-1]
    largest = float(a.double().abs().max()) * k
    exact = torch.from_numpy(np.linalg.svd(a.double().numpy(), compute_uv=False))
    assert float((s - exact).abs().max()) <= off * max(float(exact.max()), 1e-300)
    assert (s.diff(dim=-1) <= 0).all() and (s >= 0).all()
    made = (u[..., :k].double() * s.double()[..., None, :]) @ vh[..., :k, :].double()
    assert float((made - a).abs().max()) <= off * largest
    assert_orthonormal(u, off)
    assert_orthonormal(vh.mT, off)
    if name not in ("equal", "identity", "low rank"):
        assert_signed(u[..., :k])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [n for n, a in MATRICES.items() if a.shape[-1] == a.shape[-2]])
def test_eigenvalues(name: str, dtype: torch.dtype) -> None:
    a = MATRICES[name]
    a = ((a + a.mT) / 2).to(dtype)
    stock, off = L.eigh(a), 2 * room(dtype, a.shape[-1])
    with repdl.reproducible():
        values, vectors = ours = L.eigh(a)
        assert same_bits(L.eigvalsh(a), values)
        assert same_bits(L.eigvalsh(a.tril()), values) and same_bits(L.eigh(a.triu(), UPLO="U").eigenvectors, vectors)
    for mine, theirs in zip(ours, stock, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        assert mine.stride() == theirs.stride() or mine.numel() == 0
    if a.numel() == 0:
        return
    exact = torch.from_numpy(np.linalg.eigvalsh(a.double().numpy()))
    size = max(float(exact.abs().max()), 1e-300)
    assert float((values - exact).abs().max()) <= off * size
    assert (values.diff(dim=-1) >= 0).all()
    assert (
        float((a.double() @ vectors.double() - vectors.double() * values.double()[..., None, :]).abs().max())
        <= off * size
    )
    assert_orthonormal(vectors, off)
    assert_signed(vectors)


GENERAL: dict[str, torch.Tensor] = {
    **{name: a for name, a in MATRICES.items() if a.shape[-1] == a.shape[-2]},
    "rotation": torch.tensor([[0.0, -1], [1, 0]], dtype=torch.float64),
    "Jordan block": torch.eye(8, dtype=torch.float64) * 2 + torch.diag(torch.ones(7, dtype=torch.float64), 1),
    "turned Jordan block": torch.eye(8, dtype=torch.float64) + torch.diag(torch.ones(7, dtype=torch.float64), -1),
    "no values but zero": torch.triu(normal(9, 9), 1),
    "cyclic": torch.eye(7, dtype=torch.float64).roll(1, 0),
    "skew": normal(11, 11) - normal(11, 11).mT,
    "small ones": (normal(12, 12) > 0.8).double(),
    "blocks": torch.kron(torch.eye(4, dtype=torch.float64), torch.tensor([[0.0, 1], [-1, 0]], dtype=torch.float64))
    + torch.triu(normal(8, 8), 2),
    "large size": normal(90, 90),
    "subnormal": torch.round(normal(7, 7) * 9) * 5e-324,
    "huge": normal(7, 7).clamp(-1, 1) * 1.7e308,
}  # fmt: skip


REPRESENTABLE = [(name, dtype) for name, a in GENERAL.items() for dtype in DTYPES if a.to(dtype).isfinite().all()]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_eigenvalues_alone_are_nan_where_the_matrix_is_not_finite(number: float) -> None:
    a = torch.eye(3).repeat(2, 1, 1)
    a[1, 0, 2] = number
    for given in (a, a.to(torch.complex64)):
        with repdl.reproducible():
            values = L.eigvals(given)
        assert torch.view_as_real(values[1]).isnan().all()
        assert torch.equal(values[0], torch.ones(3, dtype=torch.complex64))


@pytest.mark.parametrize(("name", "dtype"), REPRESENTABLE)
def test_eigenvalues_of_general_matrices(name: str, dtype: torch.dtype) -> None:
    a = GENERAL[name].to(dtype)
    stock = L.eig(a)
    with repdl.reproducible():
        values, vectors = ours = L.eig(a)
        assert same_bits(L.eigvals(a), values)
    for mine, theirs in zip(ours, stock, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        assert mine.stride() == theirs.stride() or mine.numel() == 0
    if a.numel() == 0:
        return
    exponent = int(torch.frexp(a.double().abs().max()).exponent)
    half = torch.tensor(exponent // 2)
    scaled = torch.ldexp(torch.ldexp(a.double(), -half), half - exponent)
    with repdl.reproducible():
        w, x = L.eig(scaled.to(dtype))
    w, x, of = w.to(torch.complex128), x.to(torch.complex128), scaled.to(torch.complex128)
    assert float((of @ x - x * w).abs().max()) <= room(dtype, len(a)) * len(a)
    length = vectors.to(torch.complex128).abs().square().sum(-2).sqrt()
    assert torch.allclose(length, torch.ones_like(length), rtol=0, atol=room(dtype, 4))
    assert ((vectors.real >= vectors.abs().amax(-2) * (1 - 1e-6)) & (vectors.imag == 0)).any(-2).all()
    pairs = values.imag > 0
    assert torch.equal(values[pairs.nonzero()[:, 0] + 1], values[pairs].conj())
    assert torch.equal(vectors[:, pairs.nonzero()[:, 0] + 1], vectors[:, pairs].conj())


def with_phases(a: torch.Tensor) -> torch.Tensor:
    """Complex numbers of these sizes."""
    angles = normal(*a.shape, seed=7)
    return torch.complex(a * angles.cos(), a * angles.sin())


@pytest.mark.parametrize(("name", "dtype"), REPRESENTABLE)
def test_eigenvalues_of_complex_matrices(name: str, dtype: torch.dtype) -> None:
    a = with_phases(GENERAL[name]).to(dtype.to_complex())
    stock = L.eig(a)
    with repdl.reproducible():
        values, vectors = ours = L.eig(a)
        assert same_bits(L.eigvals(a), values)
        conjugates = L.eig(a.conj())
        assert all(same_bits(x, y) for x, y in zip(conjugates, L.eig(a.conj().resolve_conj()), strict=True))
    for mine, theirs in zip(ours, stock, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        assert mine.stride() == theirs.stride() or mine.numel() == 0
    if a.numel() == 0:
        return
    parts = torch.view_as_real(a.to(torch.complex128))
    exponent = int(torch.frexp(parts.abs().max()).exponent)
    half = torch.tensor(exponent // 2)
    of = torch.view_as_complex(torch.ldexp(torch.ldexp(parts, -half), half - exponent))
    with repdl.reproducible():
        w, x = (t.to(torch.complex128) for t in L.eig(of.to(a.dtype)))
    assert float((of @ x - x * w).abs().max()) <= room(dtype, len(a)) * len(a)
    length = vectors.to(torch.complex128).abs().square().sum(-2).sqrt()
    assert torch.allclose(length, torch.ones_like(length), rtol=0, atol=room(dtype, 4))
    assert ((vectors.real >= vectors.abs().amax(-2) * (1 - 1e-6)) & (vectors.imag == 0)).any(-2).all()


@pytest.mark.parametrize("n", [12, 40])
def test_eigenvalues_are_as_near_as_stock_torch_s(n: int) -> None:
    """Of products of known numbers: X diag(w) / X with well-conditioned X, in float64."""
    ours, theirs = [], []
    for seed in range(9):
        w = normal(n, seed=seed).sort().values
        x = torch.eye(n, dtype=torch.float64) + normal(n, n, seed=seed + 50) / (3 * n**0.5)
        a = x @ torch.diag(w) @ L.inv(x)
        theirs.append(float((L.eigvals(a).real.sort().values - w).abs().max()))
        with repdl.reproducible():
            ours.append(float((L.eigvals(a).real.sort().values - w).abs().max()))
    assert np.median(ours) <= np.median(theirs) * 1.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_has_its_bits_in_every_batch_and_layout(dtype: torch.dtype) -> None:
    """Among matrices that take fewer sweeps, and more."""
    batch = torch.stack(
        [torch.eye(7, dtype=torch.float64), normal(7, 7), hilbert(7), low_rank(7, 7, 2), normal(7, 7) * -0.0]
    )
    batch = batch.to(dtype)
    spread = batch.new_zeros(5, 7, 14)[..., ::2].copy_(batch)
    calls: list[Callable[[torch.Tensor], Any]] = [
        L.svd, L.svdvals, lambda a: L.eigh(a), lambda a: L.eig(a), L.eigvals, L.pinv,
        lambda a: L.lstsq(a, a.sum(-1, True)).solution, lambda a: L.lstsq(a, a.sum(-1, True), driver="gelsd"),
        L.matrix_exp,
    ]  # fmt: skip
    assert_alike_in_every_batch(calls, batch, spread)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_complex_matrix_has_its_bits_in_every_batch_and_layout(dtype: torch.dtype) -> None:
    batch = with_phases(torch.stack([torch.eye(7, dtype=torch.float64), normal(7, 7), hilbert(7), normal(7, 7) * -0.0]))
    batch = batch.to(dtype.to_complex())
    spread = batch.new_zeros(4, 7, 14)[..., ::2].copy_(batch)
    assert_alike_in_every_batch([lambda a: L.eig(a), L.eigvals], batch, spread)


def assert_alike_in_every_batch(
    calls: list[Callable[[torch.Tensor], Any]], batch: torch.Tensor, spread: torch.Tensor
) -> None:
    with repdl.reproducible():
        for call in calls:
            whole = parts(call(batch))
            for i in range(len(batch)):
                for alone, one in zip(parts(call(batch[i])), whole, strict=True):
                    assert one.numel() == 0 or same_bits(alone, one[i])
            for view in (batch.mT.contiguous().mT, spread):
                assert all(same_bits(a, b) for a, b in zip(parts(call(view)), whole, strict=True))


def parts(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)


def test_no_zero_is_negative() -> None:
    with repdl.reproducible():
        for a in (torch.diag(torch.tensor([1.0, -3.0, 2.0])), -torch.eye(3), torch.zeros(3, 3)):
            of_eig = (torch.view_as_real(t) for t in L.eig(a))
            for t in (*L.svd(a), *L.eigh(a), *of_eig):
                assert not (t.signbit() & (t == 0)).any()


HOSTILE: dict[str, torch.Tensor] = {
    "subnormal": torch.round(normal(7, 5) * 9) * 5e-324,
    "huge": normal(7, 5).clamp(-1, 1) * 1.7e308,
    "columns far apart": normal(6, 6) * 10.0 ** torch.arange(0, -300, -50, dtype=torch.float64),
    "rows far apart": normal(6, 6) * 10.0 ** torch.arange(-300, 0, 50, dtype=torch.float64)[:, None],
    "a small tail": torch.diag(torch.tensor([1.0, 1e-170, 1e-200, 3e-170], dtype=torch.float64))
    + 1e-165 * normal(4, 4),
    "a chain": torch.diag(torch.ones(39, dtype=torch.float64), 1),
    "alternating": torch.diag(torch.tensor([1.0, -1.0] * 20, dtype=torch.float64)),
    "glued": torch.block_diag(*[torch.ones(10, 10, dtype=torch.float64)] * 4) + 1e-14 * normal(40, 40),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_vectors_are_orthonormal_of_any_numbers(name: str) -> None:
    a = HOSTILE[name]
    exponent = int(torch.frexp(a.abs().max()).exponent)
    half = exponent // 2
    near = torch.ldexp(torch.ldexp(a, torch.tensor(-half)), torch.tensor(half - exponent))
    with repdl.reproducible():
        for x, scaled in ((a, near), (a.mT, near.mT)):
            u, s, vh = L.svd(x)
            assert_orthonormal(u, 1e-14)
            assert_orthonormal(vh.mT, 1e-14)
            k = s.shape[0]
            found = (u[:, :k] * L.svdvals(scaled)) @ vh[:k]
            assert float((found - scaled).abs().max()) <= 1e-14 * k
            assert bool((s[:-1] >= s[1:]).all())
        square = a[: a.shape[1]].tril() + a[: a.shape[1]].tril(-1).mT
        near = near[: a.shape[1]].tril() + near[: a.shape[1]].tril(-1).mT
        vectors = L.eigh(square).eigenvectors
        assert_orthonormal(vectors, 1e-14)
        assert float((near @ vectors - vectors * L.eigvalsh(near)).abs().max()) <= 1e-14 * len(square)


def test_a_number_that_is_not_finite_spoils_its_own_matrix() -> None:
    """The ops say so, and give the other matrices of the batch; torch's functions raise."""
    batch = np.random.default_rng(2).standard_normal((3, 4, 4))
    batch[1, 2, 1] = np.inf
    for op in (ops.svd, ops.svdvals, ops.eigh, ops.eigvalsh, ops.eig, ops.eigvals):
        *results, info = op(batch)
        assert info.tolist() == [0, -1, 0]
        for whole, first, last in zip(results, op(batch[0]), op(batch[2]), strict=False):
            assert np.isnan(whole[1]).all() and np.array_equal(whole[0], first) and np.array_equal(whole[2], last)
    batch[1, 2, 1], batch[1, 1, 2] = 0, np.nan
    assert ops.eigh(batch)[2].tolist() == [0, 0, 0] and ops.eigh(batch, True)[2].tolist() == [0, -1, 0]
    exponentials = ops.matrix_exp(batch)
    assert np.isnan(exponentials[1]).all() and np.array_equal(exponentials[0], ops.matrix_exp(batch[0]))


def test_exponentials_are_as_near_as_stock_torch_s() -> None:
    """In float64, against long double, which has more digits on some CPUs, and else is skipped."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double has no more digits than double")
    draw = np.random.default_rng(5)
    for scale in (0.1, 1.0, 5.0):
        ours, theirs = [], []
        for _ in range(9):
            a = draw.standard_normal((12, 12)) * scale / 12**0.5
            b = a.astype(np.longdouble) / 2**12
            term, exact = b, b
            for k in range(2, 14):
                term = (term @ b) / k
                exact = exact + term
            for _ in range(12):
                exact = 2 * exact + exact @ exact
            exact = exact + np.eye(12)
            theirs.append(float(np.abs(L.matrix_exp(torch.from_numpy(a)).numpy() - exact).max()))
            ours.append(float(np.abs(ops.matrix_exp(a) - exact).max()))
        assert np.median(ours) <= np.median(theirs) * 1.1


def test_out() -> None:
    a = normal(4, 3)
    with repdl.reproducible():
        outs = tuple(torch.empty(0, dtype=torch.float64) for _ in range(3))
        for given, result in zip(L.svd(a, out=outs), L.svd(a), strict=True):
            assert same_bits(given, result)
        s = torch.empty(3, dtype=torch.float64)
        assert same_bits(L.svdvals(a, out=s), L.svdvals(a))
        values, vectors = torch.empty(3, dtype=torch.float64), torch.empty(3, 3, dtype=torch.float64)
        L.eigh(a[:3], out=(values, vectors))
        assert same_bits(values, L.eigvalsh(a[:3])) and same_bits(vectors, L.eigh(a[:3]).eigenvectors)
        values, vectors = (torch.empty(n, dtype=torch.complex128) for n in ((3,), (3, 3)))
        L.eig(a[:3], out=(values, vectors))
        assert same_bits(values, L.eigvals(a[:3])) and same_bits(vectors, L.eig(a[:3]).eigenvectors)
        assert same_bits(L.eigvals(a[:3], out=torch.empty(3, dtype=torch.complex128)), values)
        assert same_bits(L.pinv(a, out=torch.empty(0, dtype=torch.float64)), L.pinv(a))


REFUSED: dict[str, Callable[[], Any]] = {
    "svd of NaN": lambda: L.svd(torch.full((2, 2), np.nan)),
    "svd of several with NaN": lambda: L.svd(torch.full((2, 3, 3), np.inf)),
    "eigh of several with NaN": lambda: L.eigh(torch.full((2, 3, 3), np.nan)),
    "svd of a vector": lambda: L.svd(torch.ones(3)),
    "eigh of a vector": lambda: L.eigh(torch.ones(3)),
    "eigh of a flat matrix": lambda: L.eigh(torch.ones(2, 3)),
    "eigh of no triangle": lambda: L.eigh(torch.ones(2, 2), UPLO="X"),
    "svd with a driver": lambda: L.svd(torch.ones(2, 2), driver="gesvd"),
    "svd of integers": lambda: L.svd(torch.ones(2, 2, dtype=torch.int64)),
    "lstsq with a driver": lambda: L.lstsq(torch.ones(2, 2), torch.ones(2, 2), driver="x"),
    "lstsq of sizes": lambda: L.lstsq(torch.ones(3, 2), torch.ones(2, 2)),
    "lstsq of types": lambda: L.lstsq(torch.ones(3, 2), torch.ones(3, 2).double()),
    "pinv of a vector": lambda: L.pinv(torch.ones(3)),
    "eig of NaN": lambda: L.eig(torch.full((2, 2), np.nan)),
    "eig of complex numbers with NaN": lambda: L.eig(torch.full((2, 2), np.nan, dtype=torch.complex64)),
    "eig of a vector": lambda: L.eig(torch.ones(3)),
    "eig of a flat matrix": lambda: L.eig(torch.ones(2, 3)),
    "eigvals of a flat matrix": lambda: L.eigvals(torch.ones(2, 3)),
    "eig of integers": lambda: L.eig(torch.ones(2, 2, dtype=torch.int64)),
    "ormqr of sizes": lambda: torch.ormqr(torch.ones(3, 2), torch.ones(2), torch.ones(4, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_torch_refuses(name: str) -> None:
    with pytest.raises(RuntimeError) as stock:
        REFUSED[name]()
    with repdl.reproducible(), pytest.raises(RuntimeError) as ours:
        REFUSED[name]()
    assert not isinstance(ours.value, repdl.NotReproducibleError)
    assert isinstance(ours.value, L.LinAlgError) == isinstance(stock.value, L.LinAlgError)


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "svd": (lambda a: L.svd(a, False), (normal(5, 3),)),
    "svd of a flat matrix": (lambda a: L.svd(a, False), (normal(2, 3, 4),)),
    "svdvals": (L.svdvals, (normal(3, 4),)),
    "eigh": (lambda a: L.eigh(a + a.mT), (normal(4, 4),)),
    "eigvals": (L.eigvals, (normal(2, 4, 4),)),
    # A vector's factor of size 1 is not fixed by torch's formula: what is asked does not depend on it.
    "eig": (lambda a: (L.eig(a)[0], L.eig(a)[1].abs()), (normal(4, 4),)),
    "eigvals of complex numbers": (L.eigvals, (with_phases(normal(4, 4)),)),
    "eig of complex numbers": (lambda a: (L.eig(a)[0], L.eig(a)[1].abs()), (with_phases(normal(4, 4)),)),
    "eigvalsh": (lambda a: L.eigvalsh(a + a.mT), (normal(2, 3, 3),)),
    "pinv": (L.pinv, (normal(4, 3),)),
    "nuclear norm": (lambda a: L.matrix_norm(a, "nuc"), (normal(4, 3),)),
    "norm": (lambda a: L.matrix_norm(a, 2), (normal(4, 3),)),
    "cond": (L.cond, (normal(3, 3),)),
    "lstsq": (lambda a, b: L.lstsq(a, b).solution, (normal(5, 3), normal(5, 2, seed=2))),
    "ormqr": (torch.ormqr, (normal(4, 3), normal(3).abs(), normal(4, 2, seed=2))),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    function, operands = GRADIENTS[name]
    with repdl.reproducible():
        assert torch.autograd.gradcheck(function, tuple(x.clone().requires_grad_() for x in operands))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 4), (2, 6, 4), (4, 1), (1, 4)])
def test_least_squares(shape: tuple[int, ...], driver: str, dtype: torch.dtype) -> None:
    a, room = normal(*shape).to(dtype), 2e-5 if dtype == torch.float32 else 1e-12
    for b in (normal(*shape[:-1], 3, seed=2).to(dtype), normal(*shape[:-1], seed=2).to(dtype)):
        stock = L.lstsq(a, b, driver=driver)
        with repdl.reproducible():
            ours = L.lstsq(a, b, driver=driver)
        for mine, theirs in zip(ours, stock, strict=True):
            assert mine.shape == theirs.shape and mine.stride() == theirs.stride() and mine.dtype == theirs.dtype
            assert torch.allclose(mine, theirs, rtol=room, atol=room)


@pytest.mark.parametrize("driver", ["gelsy", "gelsd"])
def test_least_squares_of_lower_ranks(driver: str) -> None:
    a = torch.stack([low_rank(6, 4, 2), normal(6, 4), torch.zeros(6, 4).double(), low_rank(6, 4, 1)])
    b = normal(4, 6, 2, seed=5)
    for matrices, right in ((a, b), (a.mT, b[:, :4])):
        with repdl.reproducible():
            result = L.lstsq(matrices, right, driver=driver)
        assert result.rank.tolist() == [2, 4, 0, 1] and result.residuals.numel() == 0
        assert torch.allclose(result.solution, L.pinv(matrices, rtol=1e-10) @ right, atol=1e-12)


def test_least_squares_of_nothing() -> None:
    with repdl.reproducible():
        for rows, columns in ((0, 3), (3, 0)):
            assert L.lstsq(torch.ones(rows, columns), torch.ones(rows, 2)).solution.tolist() == [[0.0, 0.0]] * columns


@pytest.mark.parametrize("hermitian", [False, True])
def test_pseudo_inverses(hermitian: bool) -> None:
    a = torch.stack([low_rank(5, 5, 2), normal(5, 5)])
    a = a @ a.mT if hermitian else a
    for options in ({}, {"rtol": 0.2}, {"atol": 0.5}, {"rtol": torch.tensor([0.1, 0.9], dtype=torch.float64)}):
        stock = L.pinv(a, hermitian=hermitian, **options)
        with repdl.reproducible():
            assert torch.allclose(L.pinv(a, hermitian=hermitian, **options), stock, rtol=1e-10)
            assert L.matrix_rank(a, hermitian=hermitian).tolist() == [2, 5]
    stock = torch.pinverse(a[0].float(), 0.1)
    with repdl.reproducible():
        assert torch.allclose(torch.pinverse(a[0].float(), 0.1), stock, rtol=1e-4, atol=1e-5)


def digest() -> str:
    sha = hashlib.sha256()
    with repdl.reproducible():
        for dtype in DTYPES:
            a = torch.stack([normal(24, 17), low_rank(24, 17, 5)]).to(dtype)
            b, square = a[:, :, :3], a[:, :17] + a[:, :17].mT
            x = a[:1].clone().requires_grad_()
            (L.svd(x, False).Vh.abs().sum() + L.eigvalsh(x.mT @ x).square().sum() + L.pinv(x).sum()).backward()
            results = (
                L.svd(a), L.svdvals(a.mT), L.eigh(square), L.eig(a[:, :17]), L.pinv(a), L.cond(square),
                L.matrix_norm(a, "nuc"), (x.grad,),
                *(L.lstsq(a[:1], b[:1], driver=d) for d in ("gels", "gelsy", "gelsd")), L.lstsq(a, b),
            )  # fmt: skip
            for result in results:
                for t in parts(result):
                    sha.update(t.detach().contiguous().numpy().tobytes())
    return sha.hexdigest()
