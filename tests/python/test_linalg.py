# SPDX-License-Identifier: MIT
"""Linear algebra: what the ops say of bad arguments, and what torch's functions make of them under `repdl.enable()`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import ops
from repdl.interception.aten import factorization, solving, spectral
from support import same_bits

L = torch.linalg
F32 = np.float32


def ones(*shape: int) -> Any:
    return np.ones(shape, F32)


MESSAGES: dict[str, tuple[Callable[[], Any], str]] = {
    "vector": (lambda: ops.cholesky(ones(3)), r"\[cholesky\] input must have the shape \(…, n, n\)"),
    "flat": (lambda: ops.inv(ones(2, 3)), r"\[inv\] input must hold square matrices \(…, n, n\), got \(2, 3\)"),
    "rows": (
        lambda: ops.solve(ones(3, 3), ones(2, 4)),
        r"\[solve\] rows of shape \(2, 4\) must hold rows of 3 numbers",
    ),
    "batch": (
        lambda: ops.solve_triangular(ones(2, 3, 3), ones(1, 2, 3)),
        r"\[solve_triangular\] rows of shape \(1, 2, 3\) must have the batch dimensions of input, .*; use expand\(\)",
    ),
    "pivots": (
        lambda: ops.lu_solve(ones(2, 2), np.array([1, 3]), ones(1, 2)),
        r"\[lu_solve\] pivots holds 3, which is neither one of the rows 1 to 2 nor 0; give what lu returned",
    ),
    "reflections": (
        lambda: ops.householder(ones(2, 3), ones(3), ones(1, 3)),
        r"\[householder\] tau of shape \(3\) has more numbers than factors",
    ),
    "flat eigenvalues": (lambda: ops.eigh(ones(2, 3)), r"\[eigh\] input must hold square matrices"),
    "flat exponential": (lambda: ops.matrix_exp(ones(2, 3)), r"\[matrix_exp\] input must hold square matrices"),
    "singular vector": (lambda: ops.svd(ones(3)), r"\[svd\] input must have the shape \(…, m, n\)"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_says_what_is_wrong(name: str) -> None:
    call, message = MESSAGES[name]
    with pytest.raises(ValueError, match=message.replace(r"\(3\)", r"\(3,?\)")):
        call()


CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "cholesky": lambda a, b: L.cholesky(a @ a.mT + 3 * torch.eye(a.shape[-1], dtype=a.dtype)),
    "solve_triangular": lambda a, b: L.solve_triangular(a, b, upper=True),
    "solve_triangular of one": lambda a, b: L.solve_triangular(a, b[..., :1], upper=False),
    "solve": L.solve,
    "solve of one": lambda a, b: L.solve(a, b[..., :1]),
    "solve from the right": lambda a, b: L.solve(a, b.mT, left=False),
    "inv": lambda a, b: L.inv(a),
    "det": lambda a, b: L.det(a),
    "lu": lambda a, b: L.lu_factor(a)[0],
    "qr": lambda a, b: L.qr(a)[0],
    "lstsq": lambda a, b: L.lstsq(a, b).solution,
}  # fmt: skip


def projections(a: torch.Tensor) -> torch.Tensor:
    """On each eigenvector of a Hermitian matrix, whose phase is free."""
    vectors = L.eigh(a + a.mH)[1]
    return vectors.mT[..., None] * vectors.mH[..., None, :]


def tall_factors(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Without the last column, one number, which stock torch does not make real in large matrices."""
    factors: tuple[torch.Tensor, torch.Tensor] = torch.geqrf(a[..., :-1])
    return factors


COMPLEX: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    **CALLS,
    "qr": lambda a, b: L.qr(a[..., :-1])[0],
    "geqrf": lambda a, b: tall_factors(a)[0],
    "qr of many rows": lambda a, b: L.qr(torch.cat([a, b], -1).mT)[1],
    "householder_product": lambda a, b: L.householder_product(*tall_factors(a)),
    "ormqr": lambda a, b: torch.ormqr(*tall_factors(a), b),
    "ormqr of the adjoint": lambda a, b: torch.ormqr(*tall_factors(a), b, transpose=True),
    "ormqr from the right": lambda a, b: torch.ormqr(*tall_factors(a), b.mT, left=False),
    "ormqr of the adjoint from the right": lambda a, b: torch.ormqr(*tall_factors(a), b.mT, left=False, transpose=True),
    "eigenvalues": lambda a, b: L.eigvalsh(a) + 0j,
    "eigenvalues by the upper half": lambda a, b: L.eigvalsh(a, UPLO="U") + 0j,
    "projections": lambda a, b: projections(a),
    "eigenvectors of general matrices": lambda a, b: (lambda w, v: (v * w[..., None, :]) @ L.inv(v))(*L.eig(a)),
    "gels": lambda a, b: L.lstsq(a[..., : a.shape[-1] // 2], b, driver="gels").solution,
    "lstsq of few rows": lambda a, b: L.lstsq(a[..., : a.shape[-1] // 2, :], b[..., : a.shape[-1] // 2, :]).solution,
    "lstsq of many rows": lambda a, b: L.lstsq(a[..., : a.shape[-1] // 2], b).solution,
    "pinv": lambda a, b: L.pinv(a),
    "pinv of Hermitian matrices": lambda a, b: L.pinv(a + a.mH, hermitian=True),
    "singular values": lambda a, b: L.svdvals(a) + 0j,
    "svd": lambda a, b: (lambda u, s, vh: u @ vh)(*L.svd(a)),
    "lstsq by singular values": lambda a, b: L.lstsq(a[..., : a.shape[-1] // 2], b, driver="gelsd").solution,
    "cholesky": lambda a, b: L.cholesky(a @ a.mH + 3 * torch.eye(a.shape[-1], dtype=a.dtype)),
    "cholesky of the upper half": lambda a, b: L.cholesky(a @ a.mH + 3 * torch.eye(a.shape[-1]), upper=True),
    "cholesky_solve": lambda a, b: torch.cholesky_solve(b, a.tril()),
    "cholesky_solve by the upper half": lambda a, b: torch.cholesky_solve(b, a.triu(), upper=True),
    "cholesky_inverse": lambda a, b: torch.cholesky_inverse(L.cholesky(a @ a.mH)),
    "lu_solve": lambda a, b: L.lu_solve(*L.lu_factor(a), b),
    "lu_solve of the adjoint": lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True),
    "lu_solve from the right": lambda a, b: L.lu_solve(*L.lu_factor(a), b.mT, left=False),
    "lu_solve of the adjoint from the right": lambda a, b: L.lu_solve(*L.lu_factor(a), b.mT, left=False, adjoint=True),
    "solve by a conjugate": lambda a, b: L.solve(a.conj(), b.conj()),
    "slogdet": lambda a, b: L.slogdet(a)[0] * L.slogdet(a)[1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in CALLS for dtype in (torch.float32, torch.float64)]
    + [(name, dtype) for name in COMPLEX for dtype in (torch.complex64, torch.complex128)],
)
def test_many_sides_are_each_alone(name: str, dtype: torch.dtype) -> None:
    """Below and above the sizes where other kernels and threads start, in every layout, and near to stock torch's."""
    call = (COMPLEX if dtype.is_complex else CALLS)[name]
    wide = torch.complex128 if dtype.is_complex else torch.float64

    def normal(*shape: int) -> torch.Tensor:
        parts = draw.standard_normal((2, *shape))
        return torch.from_numpy(parts[0] + 1j * parts[1] if dtype.is_complex else parts[0])

    cases = []
    for count, n, sides in ((3, 5, 2), (2, 33, 9), (1, 130, 7)):
        draw = np.random.default_rng(n)
        a, b = (normal(count, n, n) / n + torch.eye(n)).to(dtype), normal(count, n, sides).to(dtype)
        cases.append((a, b, call(a.to(wide), b.to(wide))))
    with repdl.reproducible():
        for a, b, stock in cases:
            found = call(a, b)
            rtol = 1e-5 if dtype in (torch.float32, torch.complex64) else 1e-12
            assert torch.allclose(found.to(wide), stock, rtol=rtol, atol=1e-5)
            for i in range(len(a)):
                assert same_bits(call(a[i], b[i]), found[i])
            in_columns = a.mT.contiguous().mT, b.mT.contiguous().mT
            if name not in ("det", "slogdet"):
                assert same_bits(call(*in_columns), found)
            spread = torch.zeros(*a.shape[:2], 2 * a.shape[2], dtype=dtype)[..., ::2].copy_(a)
            assert same_bits(call(spread, b), found)
            for threads in (1, 2, 3, 7):
                repdl.set_num_threads(threads)
                assert same_bits(call(a, b), found)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (6, 6), (40, 33), (1, 1)])
def test_qr_of_complex_matrices_has_a_real_diagonal(shape: tuple[int, int], dtype: torch.dtype) -> None:
    a = torch.randn(3, *shape, dtype=dtype, generator=torch.Generator().manual_seed(2))
    with repdl.reproducible():
        for mode in ("reduced", "complete"):
            q, r = L.qr(a, mode)
            close = 1e-5 if dtype == torch.complex64 else 1e-13
            assert torch.allclose(q @ r, a, atol=close)
            assert torch.allclose(q.mH @ q, torch.eye(q.shape[-1], dtype=dtype), atol=close)
            assert (r.diagonal(dim1=1, dim2=2).imag == 0).all() and (r.tril(-1) == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
def test_eigenvectors_of_hermitian_matrices(n: int) -> None:
    """Imaginary parts of the diagonal and the other triangle are not read; the largest number of a vector is real."""
    draw = torch.Generator().manual_seed(n)
    a = torch.randn(4, n, n, dtype=torch.complex128, generator=draw)
    hermitian = a.tril(-1) + a.tril(-1).mH + torch.diag_embed(a.diagonal(dim1=1, dim2=2).real)
    with repdl.reproducible():
        values, vectors = L.eigh(a)
        assert values.dtype == torch.float64
        assert all(map(same_bits, L.eigh(a.mH, UPLO="U"), (values, vectors)))
        assert same_bits(L.eigvalsh(hermitian), values)
        assert torch.allclose(hermitian @ vectors, vectors * values[:, None], atol=1e-12)
        assert torch.allclose(vectors.mH @ vectors, torch.eye(n, dtype=a.dtype), atol=1e-13)
        largest = vectors.gather(1, vectors.abs().argmax(1, keepdim=True))
        assert (largest.imag == 0).all() and (largest.real > 0).all()


GRADIENTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "qr": lambda a: L.qr(a),
    "householder_product": lambda a: L.householder_product(a, a[0]),
    "eigvalsh": lambda a: L.eigvalsh(a[:3] + a[:3].mH),
    "eigh": lambda a: projections(a[:3]),
    "pinv": lambda a: L.pinv(a[:3] + a[:3].mH, hermitian=True),
    "svdvals": L.svdvals,
    "svd": lambda a: (lambda u, s, vh: u * s @ vh)(*L.svd(a, full_matrices=False)),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_factors_of_complex_matrices(name: str) -> None:
    a = torch.randn(5, 3, dtype=torch.complex128, generator=torch.Generator().manual_seed(4)).requires_grad_()
    with repdl.reproducible():
        assert torch.autograd.gradcheck(GRADIENTS[name], a)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (7, 4), (4, 7), (33, 20), (20, 33), (40, 40)])
def test_singular_vectors_of_complex_matrices(shape: tuple[int, int], dtype: torch.dtype) -> None:
    a = torch.randn(3, *shape, dtype=dtype, generator=torch.Generator().manual_seed(5))
    close = 2e-5 if dtype == torch.complex64 else 1e-12
    stock = L.svdvals(a)
    with repdl.reproducible():
        for full in (False, True):
            u, s, vh = L.svd(a, full_matrices=full)
            k = s.shape[-1]
            assert torch.allclose(s, stock, atol=close) and same_bits(s, L.svdvals(a))
            assert torch.allclose(u[..., :k] * s[:, None] @ vh[:, :k], a, atol=close)
            for x in (u, vh.mH):
                assert torch.allclose(x.mH @ x, torch.eye(x.shape[-1], dtype=dtype), atol=close)
            largest = u.gather(1, u.abs().argmax(1, keepdim=True))
            assert (largest.imag.abs() < close).all() and (largest.real > 0).all()
            assert all(map(same_bits, L.svd(a[1], full_matrices=full), (u[1], s[1], vh[1])))


def test_what_is_made_of_singular_values_of_complex_matrices() -> None:
    a = torch.randn(3, 6, 4, dtype=torch.complex128, generator=torch.Generator().manual_seed(6))
    calls: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        L.pinv,
        L.cond,
        lambda a: L.matrix_norm(a, "nuc"),
        lambda a: L.matrix_norm(a, 2),
        lambda a: L.matrix_rank(a @ a.mH),
    )
    for call in calls:
        stock = call(a)
        with repdl.reproducible():
            assert torch.allclose(call(a), stock)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_lstsq_of_complex_matrices_is_like_torchs(driver: str) -> None:
    draw = torch.Generator().manual_seed(3)
    a, b = (torch.randn(2, 7, n, dtype=torch.complex128, generator=draw) for n in (4, 3))
    for rows in (7, 3):
        stock = L.lstsq(a[:, :rows], b[:, :rows], driver=driver)
        with repdl.reproducible():
            found = L.lstsq(a[:, :rows], b[:, :rows], driver=driver)
        for ours, theirs in zip(found, stock, strict=True):
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype and torch.allclose(ours, theirs)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(3, 3, 0), (3, 0, 4), (2, 0, 3, 0), (0, 3, 2), (4, 0)])
def test_lstsq_of_empty_matrices_has_torchs_shapes(driver: str, shape: tuple[int, ...]) -> None:
    a, b = torch.zeros(shape), torch.ones(*shape[:-1], 2)
    stock = L.lstsq(a, b, driver=driver)
    with repdl.reproducible():
        found = L.lstsq(a, b, driver=driver)
    for ours, theirs in zip(found, stock, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape


@pytest.mark.parametrize("driver", ["gels", "gelsy"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_lstsq_of_every_rank_alone_and_in_a_batch(driver: str, dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(3)
    for rows, columns in ((5, 3), (4, 4), (3, 5)):
        a = torch.randint(-1, 2, (60, rows, columns), generator=draw).to(dtype)
        b = torch.randn(60, rows, 2, generator=draw, dtype=dtype)
        a[0], a[1, 0, 0], b[2, 0, 0] = 0, torch.nan, torch.inf
        wide = a[3:].to(torch.promote_types(dtype, torch.float64))
        ranks, solutions = L.matrix_rank(wide), L.pinv(wide) @ b[3:].to(wide.dtype)
        full = ranks == min(rows, columns) if driver == "gels" else ranks >= 0  # gels takes the rank for granted
        for threads in (1, 2, 7):
            repdl.set_num_threads(threads)
            with repdl.reproducible():
                found = L.lstsq(a, b, driver=driver)
                turned = L.lstsq(a.mT.contiguous().mT, b.mT.contiguous().mT, driver=driver)
                assert all(same_bits(x, y) for x, y in zip(found, turned, strict=True))
                for i in range(len(a)):
                    alone = L.lstsq(a[i], b[i], driver=driver)
                    assert same_bits(alone.solution, found.solution[i])
                    assert driver == "gels" or alone.rank == found.rank[i]
            assert driver == "gels" or torch.equal(found.rank[3:], ranks)
            assert torch.allclose(found.solution[3:][full], solutions[full].to(dtype), atol=1e-5)
            assert found.solution.mT.is_contiguous() or rows > columns  # as LAPACK lays them out


def test_a_side_has_its_bits_among_few_and_many() -> None:
    draw = np.random.default_rng(3)
    a = torch.from_numpy(draw.standard_normal((40, 40)))
    b = torch.from_numpy(draw.standard_normal((40, 50)))
    with repdl.reproducible():
        for call in (L.solve, lambda a, b: L.solve_triangular(a, b, upper=True), lambda a, b: L.lstsq(a, b).solution):
            whole = call(a, b)
            for few in (1, 3, 6, 7):
                assert same_bits(call(a, b[:, :few]), whole[:, :few])


def test_results_do_not_depend_on_the_order() -> None:
    a = torch.from_numpy(np.random.default_rng(1).standard_normal((300, 300)))
    with repdl.reproducible():
        blocked = L.solve(a, a[:, :5]), L.qr(a)[1]
        with repdl.order("sequential"):
            assert all(map(same_bits, blocked, (L.solve(a, a[:, :5]), L.qr(a)[1])))


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-700, 2.0**-481, 2.0**481, 2.0**700, 2.0**1018])
def test_qr_of_numbers_whose_squares_overflow_or_vanish(pivot: bool, scale: float) -> None:
    a = torch.randn(5, 7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    of_a, of_scaled = ops.geqrf(a, pivot), ops.geqrf(a * scale, pivot)
    if scale < 2.0**-1022:  # of subnormal numbers with few digits
        assert (of_scaled[1] - of_a[1]).abs().max() < 1e-3
        return
    factors, scaled = of_a[0].mT, of_scaled[0].mT
    assert same_bits((factors * scale).triu(), scaled.triu()) and same_bits(factors.tril(-1), scaled.tril(-1))
    assert same_bits(of_a[1], of_scaled[1]) and same_bits(of_a[2], of_scaled[2])


@pytest.mark.parametrize(
    "name", ["solve", "inv", "det", "slogdet", "cholesky", "qr", "svd", "eigh", "eig", "matrix_exp"]
)
def test_batches_of_empty_matrices_of_any_strides(name: str) -> None:
    """Their strides say nothing, and no copy changes them: to ask for better ones once ended the process."""
    for a in (torch.zeros(2, 2, 0, 0), torch.zeros(2, 0, 2, 0).transpose(1, 2), torch.zeros(4, 2, 0, 0)[::2]):
        rows = (torch.zeros(2, 2, 0, 3),) if name == "solve" else ()
        with repdl.reproducible():
            result = getattr(L, name)(a.double(), *(r.double() for r in rows))
        assert all(x.shape[:2] == (2, 2) for x in (result if isinstance(result, tuple) else (result,)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
@pytest.mark.parametrize("shape", [(2**40, 0), (0, 2**40)])
def test_singular_values_of_matrices_without_numbers(shape: tuple[int, int], dtype: torch.dtype) -> None:
    """A loop over their rows would not end."""
    a = torch.empty(shape, dtype=dtype)
    with repdl.reproducible():
        assert L.svdvals(a).shape == (0,) and L.matrix_norm(a, "nuc") == 0
        assert [x.shape for x in L.svd(a, full_matrices=False)] == [(shape[0], 0), (0,), (0, shape[1])]


A = torch.ops.aten
ORDINARY: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "cholesky": (A.linalg_cholesky_ex, factorization.linalg_cholesky_ex, 1),
    "lu": (A.linalg_lu_factor_ex, factorization.linalg_lu_factor_ex, 1),
    "qr": (A.linalg_qr, factorization.linalg_qr, 1),
    "inv": (A.linalg_inv_ex, solving.linalg_inv_ex, 1),
    "det": (A._linalg_det, solving._linalg_det, 1),
    "slogdet": (A._linalg_slogdet, solving._linalg_slogdet, 1),
    "svd": (A._linalg_svd, spectral._linalg_svd, 1),
    "eigh": (A._linalg_eigh, spectral._linalg_eigh, 1),
    "solve": (A._linalg_solve_ex, solving._linalg_solve_ex, 2),
    "solve_triangular": (A.linalg_solve_triangular, solving.solve_triangular, 2),
}
"""What torch calls, the kernel in Python and the number of operands."""

WITH: dict[str, list[dict[str, Any]]] = {
    "cholesky": [{"upper": True}, {"check_errors": False}],
    "lu": [{"pivot": False}],
    "qr": [{"mode": "complete"}, {"mode": "r"}],
    "svd": [{"full_matrices": True}, {"compute_uv": False}],
    "eigh": [{"UPLO": "U"}, {"compute_v": False}],
    "solve": [{"left": False}],
    "solve_triangular": [{"upper": True, "unitriangular": True}, {"upper": False, "left": False}],
}
"""Arguments that are not the usual ones, for which a call may go through Python."""


def python_frames(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What the call gives, and the kernels in Python that it came through."""
    called: list[str] = []

    def see(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "repdl/interception/aten" in frame.f_code.co_filename.replace("\\", "/"):
            called.append(frame.f_code.co_name)

    sys.setprofile(see)
    try:
        return call(), called
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_calls_have_what_the_kernel_in_python_gives_without_it(name: str, dtype: torch.dtype) -> None:
    with repdl.reproducible():
        compare_ordinary_calls(name, dtype)


def compare_ordinary_calls(name: str, dtype: torch.dtype) -> None:
    call, kernel, count = ORDINARY[name]
    draw = torch.Generator().manual_seed(5)
    usual: dict[str, Any] = {"upper": False} if name == "solve_triangular" else {}
    for shape in ((4, 4), (1, 1), (0, 0), (3, 2, 5, 5), (70, 6, 6), (2, 0, 3, 3), (2, 0, 0), (40, 40)):
        a = torch.randn(shape, generator=draw, dtype=torch.float64)
        a = (a @ a.mT + torch.eye(shape[-1])).to(dtype) if name == "cholesky" else a.to(dtype)
        b = torch.randn(*shape[:-1], 3, generator=draw, dtype=torch.float64).to(dtype)
        singular = a.clone()
        singular[..., :1] = 0
        spread = a.new_zeros(*shape[:-1], 2 * shape[-1])[..., ::2].copy_(a)
        for x in (a, a.mT.contiguous().mT, a.flip(-1), spread, singular):
            for y in (b, b.mT.contiguous().mT, b[..., :1], b[..., 0] if shape[-1] > 1 else b):
                for given in (usual, *WITH.get(name, [])):
                    operands = (x, y)[:count]
                    try:
                        expected = kernel(*operands, **given)
                    except RuntimeError:
                        with pytest.raises(RuntimeError):
                            call(*operands, **given)
                        continue
                    found, through = python_frames(partial(call, *operands, **given))
                    of_vector = count == 2 and y.dim() < x.dim()
                    if given == usual and not of_vector and (name not in ("det", "slogdet") or x.is_contiguous()):
                        assert not through
                    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected))):
                        assert same_bits(one, other) and one.stride() == other.stride() and one.dtype == other.dtype
                if count == 1:
                    break


def test_errors_of_ordinary_calls_are_those_of_the_kernel_in_python() -> None:
    nan = torch.full((3, 3), torch.nan)
    with repdl.reproducible():
        for call in (L.svd, L.eigh):
            with pytest.raises(L.LinAlgError, match=r"failed to converge|non-finite"):
                call(nan)
        with pytest.raises(L.LinAlgError, match="singular"):
            L.inv(torch.zeros(3, 3))
        with pytest.raises(L.LinAlgError, match=r"not positive.definite"):
            L.cholesky(torch.zeros(2, 3, 3))
        for call in (L.inv, L.cholesky, L.det, L.eigh):
            with pytest.raises(RuntimeError, match="square"):
                call(torch.zeros(2, 3))
        for call in (L.inv, L.qr, L.svd):
            with pytest.raises(RuntimeError, match="dimensions"):
                call(torch.zeros(3))


def test_solutions_go_into_what_is_given() -> None:
    """Straight where it has their layout, by way of a copy where not, or where it is an operand."""
    draw = torch.Generator().manual_seed(6)
    a, b = torch.randn(5, 4, 4, generator=draw), torch.randn(5, 4, 3, generator=draw)
    with repdl.reproducible():
        expected = L.solve_triangular(a, b, upper=True)
        for out in (torch.zeros(5, 3, 4).mT, torch.zeros(5, 4, 3), torch.zeros(5, 4, 6)[..., ::2], torch.zeros(0)):
            strides = out.stride()
            assert L.solve_triangular(a, b, upper=True, out=out) is out and same_bits(out, expected)
            assert out.stride() == (strides if len(strides) == 3 else expected.stride())
        for right in (b.clone(), b.mT.contiguous().mT):
            assert same_bits(L.solve_triangular(a, right, upper=True, out=right), expected)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4)])
def test_solutions_by_an_adjoint_lie_in_rows(shape: tuple[int, ...], left: bool) -> None:
    """As torch's, which goes without a copy of the factor there; a program may call `view` on them."""
    draw = np.random.default_rng(4)
    factor = torch.from_numpy(draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).tril()
    side = torch.from_numpy(draw.standard_normal(shape) + 1j * draw.standard_normal(shape))
    for a in (factor.mH, factor.mT, factor.conj(), factor):
        for b in (side, side.mH):
            upper = a.stride(-1) != 1
            stock = torch.linalg.solve_triangular(a, b, upper=upper, left=left)
            with repdl.reproducible():
                ours = torch.linalg.solve_triangular(a, b, upper=upper, left=left)
            assert ours.stride() == stock.stride()
            torch.testing.assert_close(ours, stock)
