# SPDX-License-Identifier: MIT
"""Factors of complex matrices, and systems of equations: pairs of a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


def pair_matrices_of(*names: str) -> Callable[[Mapping[str, Any], slice], Mapping[str, Any] | None]:
    """For `Op.rows`: the batch is the first dimension of these tensors of matrices of pairs, if they have one."""

    def take(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        return rows_of(*names)(arguments, rows) if arguments[names[0]].ndim > 3 else None

    return take


@op(outputs=("output", "info"))
def complex_cholesky(input: Tensor) -> tuple[Tensor, Tensor]:
    """U of Uᵀ conj(U) = A for Hermitian, positive definite matrices A of complex numbers; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part, of which the lower triangles are
            read.

    Returns:
        The type of input, (…, n, n, 2), upper triangular; and int64, (…): 0, or where A is not positive definite the
        first row of U, from 1, that shows it.
    """


@op()
def complex_cholesky_solve(factor: Tensor, rows: Tensor) -> Tensor:
    """The solutions x of L Lᴴ x = b for lower triangular matrices L of complex numbers; it has no gradient.

    Args:
        factor: float32 or float64, (…, n, n, 2): pairs, of which the lower triangles are read.
        rows: of its type, (…, m, n, 2): each row is a right side b.

    Returns:
        The type of factor, (…, m, n, 2): each row is a solution.
    """


@op(outputs=("output", "sign", "factors", "pivots"))
def complex_det(input: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Determinants of matrices of complex numbers, and what `complex_lu` returns but info; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.

    Returns:
        The type of input, (…, 2): the determinants; (…): 1 or, where an odd number of rows was exchanged, -1. Then the
        factors and pivots of `complex_lu`.
    """


@op(outputs=("output", "info"))
def complex_inv(input: Tensor) -> tuple[Tensor, Tensor]:
    """Inverses of matrices of complex numbers; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.

    Returns:
        The type of input, (…, n, n, 2): row j is column j of the inverse. int64, (…): 0, or the first zero of the
        diagonal of U in the factors, from 1; then there is no inverse.
    """


@op(outputs=("factors", "pivots", "info"))
def complex_lu(input: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """L and U of P A = L U for matrices of complex numbers, by partial pivoting; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n, 2): pairs of a real and an imaginary part.
        pivot: exchange rows, so that the number with the largest sum of the sizes of its parts comes to the diagonal.

    Returns:
        The type of input, (…, n, m, 2): row j is column j of U, and of L below its ones, which are left out. int64,
        (…, min(m, n)): with what row each row was exchanged, from 1. int64, (…): 0, or the first zero of the diagonal
        of U, from 1.
    """


@op()
def complex_lu_solve(factors: Tensor, pivots: Tensor, rows: Tensor, transposed: bool = False) -> Tensor:
    """The solutions x of A x = b from what `complex_lu` returned for square matrices A; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.
        pivots: int64, (…, n); 0 exchanges nothing.
        rows: of the type of factors, (…, m, n, 2): each row is a right side b.
        transposed: solve Aᵀ x = b.

    Returns:
        The type of factors, (…, m, n, 2): each row is a solution.
    """


@op(outputs=("sign", "logabsdet", "factors", "pivots"))
def complex_slogdet(input: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Signs of determinants of matrices of complex numbers, logarithms of their sizes, and the factors; no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.

    Returns:
        The type of input, (…, 2): numbers of size 1, or 0 or NaN; and (…): the logarithms. Then the factors and pivots
        of `complex_lu`.
    """


@op(outputs=("output", "factors", "pivots", "info"))
def complex_solve(input: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The solutions x of A x = b for square matrices A of complex numbers, and their factors; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.
        rows: of its type, (…, m, n, 2): each row is a right side b.

    Returns:
        The type of input, (…, m, n, 2): each row is a solution; then the factors, pivots and info of `complex_lu`.
    """


@op()
def complex_solve_triangular(input: Tensor, rows: Tensor, upper: bool = False, unitriangular: bool = False) -> Tensor:
    """The solutions x of A x = b for triangular matrices A of complex numbers; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part, of which one triangle is read.
        rows: of its type, (…, m, n, 2): each row is a right side b.
        upper: A is upper triangular.
        unitriangular: the diagonal of A counts as ones and is not read.

    Returns:
        The type of input, (…, m, n, 2): each row is a solution.
    """


for _op, _names in (
    (complex_cholesky, ("input",)),
    (complex_cholesky_solve, ("factor", "rows")),
    (complex_det, ("input",)),
    (complex_inv, ("input",)),
    (complex_lu, ("input",)),
    (complex_lu_solve, ("factors", "pivots", "rows")),
    (complex_slogdet, ("input",)),
    (complex_solve, ("input", "rows")),
    (complex_solve_triangular, ("input", "rows")),
):
    _op.rows(pair_matrices_of(*_names))


@complex_cholesky.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 9, 31, 70):
        yield sample(input=f"dominant_pairs[{n}, {n}, 2]#1")
    yield sample(input="dominant_pairs[400, 6, 6, 2]#2")  # worth a fork
    for kind in ("wide", "special", "infinite", "zeros", "few"):
        yield sample(input=f"{kind}[9, 11, 11, 2]#3")


@complex_lu.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (5, 4), (4, 9), (31, 31), (20, 70), (90, 80)):
        yield sample(input=f"normal[{m}, {n}, 2]#1")
    yield sample(input="normal[20, 30, 2]#1", pivot=False)
    yield sample(input="normal[3, 2, 17, 17, 2]#2")
    yield sample(input="normal[400, 6, 6, 2]#2")
    for kind in ("wide", "special", "infinite", "zeros", "tiny", "few"):
        yield sample(input=f"{kind}[7, 9, 11, 2]#3")


def _sides(first: str, **more: Any) -> Iterator[Sample]:
    def pair(kind: str, m: int, n: int, *batch: int) -> Sample:
        size = ", ".join(map(str, batch)) + ", " * bool(batch)
        shape = {first: f"{kind}[{size}{n}, {n}, 2]#1", "rows": f"{kind}[{size}{m}, {n}, 2]#2"}
        if first == "factors":
            shape["pivots"] = f"classes{n + 1}[{size}{n}]#3"
        return sample(**shape, **more)

    for m, n in ((1, 1), (0, 3), (2, 0), (3, 2), (1, 9), (19, 8), (5, 31), (40, 33)):
        yield pair("normal", m, n)
    yield pair("normal", 2, 17, 4, 3)
    yield pair("normal", 3, 6, 400)
    for kind in ("special", "infinite", "zeros", "wide", "few"):
        yield pair(kind, 3, 9, 7)


@complex_lu_solve.samples
def _() -> Iterator[Sample]:
    for transposed in (False, True):
        yield from _sides("factors", transposed=transposed)


@complex_solve_triangular.samples
def _() -> Iterator[Sample]:
    for upper in (False, True):
        yield from _sides("input", upper=upper)
    yield sample(input="tiny[30, 30, 2]#3", rows="normal[7, 30, 2]#4", unitriangular=True)


complex_solve.samples(lambda: _sides("input"))
complex_cholesky_solve.samples(lambda: _sides("factor"))


def _square() -> Iterator[Sample]:
    for n in (0, 1, 2, 9, 31):
        yield sample(input=f"normal[{n}, {n}, 2]#1")
    yield sample(input="normal[400, 6, 6, 2]#3")
    for kind in ("special", "infinite", "zeros", "wide", "few"):
        yield sample(input=f"{kind}[7, 9, 9, 2]#5")


complex_inv.samples(_square)
complex_det.samples(_square)
complex_slogdet.samples(_square)


def complex_of(pairs: Any) -> Any:
    return pairs[..., 0] + 1j * pairs[..., 1]


def pairs_of(numbers: Any) -> Any:
    return np.stack([numbers.real, numbers.imag], -1)


def _solved(a: Any, rows: Any) -> Any:
    return pairs_of(np.swapaxes(np.linalg.solve(a, np.swapaxes(complex_of(rows), -1, -2)), -1, -2))


def _factored(pairs: Any) -> tuple[Any, Any, Any]:
    a = complex_of(pairs)
    pivots = np.zeros((*a.shape[:-2], min(a.shape[-2:])), dtype=np.int64)
    for place in np.ndindex(a.shape[:-2]):
        one = a[place]
        for k in range(min(one.shape)):
            chosen = k + int(np.argmax(np.abs(one[k:, k].real) + np.abs(one[k:, k].imag)))
            one[[k, chosen]] = one[[chosen, k]]
            one[k + 1 :, k] /= one[k, k]
            one[k + 1 :, k + 1 :] -= np.outer(one[k + 1 :, k], one[k, k + 1 :])
            pivots[*place, k] = chosen + 1
    return pairs_of(np.swapaxes(a, -1, -2)), pivots, np.zeros(a.shape[:-2], dtype=np.int64)


complex_solve.oracle(lambda input, rows: (_solved(complex_of(input), rows), *_factored(input)))


@complex_inv.oracle
def _(input: Any) -> Any:
    inverse = pairs_of(np.swapaxes(np.linalg.inv(complex_of(input)), -1, -2))
    return inverse, np.zeros(input.shape[:-3], dtype=np.int64)


@complex_cholesky.oracle
def _(input: Any) -> Any:
    lower = np.tril(complex_of(input))
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1).real
    full = np.tril(lower, -1) + np.swapaxes(np.tril(lower, -1), -1, -2).conj()
    full = full + np.eye(full.shape[-1]) * diagonal[..., None, :]
    return pairs_of(np.swapaxes(np.linalg.cholesky(full), -1, -2)), np.zeros(input.shape[:-3], dtype=np.int64)
