# SPDX-License-Identifier: MIT
"""L D Lᵀ of symmetric matrices and of Hermitian ones, and systems of equations by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample
from repdl.ops.complex_factors import complex_of, pair_matrices_of, pairs_of


@op(outputs=("factors", "pivots", "info"))
def ldl(input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L and D of A = L D Lᵀ for symmetric matrices A, by Bunch and Kaufman's pivoting; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.

    Returns:
        The type of input, (…, n, n): row j is column j of D, and of L below its ones, which are left out. int64,
        (…, n): with what row one was exchanged, from 1; for a block of two n more, and then 0. int64, (…): 0, or the
        first block that is 0, from 1.
    """


@op()
def ldl_solve(factors: Tensor, pivots: Tensor, rows: Tensor) -> Tensor:
    """The solutions x of A x = b from what `ldl` returned for symmetric matrices A; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, n).
        pivots: int64, (…, n), from 0 to 2 n; 0 exchanges nothing.
        rows: of the type of factors, (…, m, n): each row is a right side b.

    Returns:
        The type of factors, (…, m, n): each row is a solution.
    """


@op(outputs=("factors", "pivots", "info"))
def complex_ldl(input: Tensor, hermitian: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """`ldl` of symmetric matrices of complex numbers, or L D Lᴴ of Hermitian ones; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.
        hermitian: the matrices are Hermitian.

    Returns:
        The type and shape of input, and what `ldl` returns.
    """


@op()
def complex_ldl_solve(factors: Tensor, pivots: Tensor, rows: Tensor, hermitian: bool = False) -> Tensor:
    """The solutions x of A x = b from what `complex_ldl` returned; it has no gradient.

    Args:
        factors: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.
        pivots: int64, (…, n), as for `ldl_solve`.
        rows: of the type of factors, (…, m, n, 2): each row is a right side b.
        hermitian: the matrices are Hermitian.

    Returns:
        The type of factors, (…, m, n, 2): each row is a solution.
    """


ldl.rows(matrices_of("input"))
ldl_solve.rows(matrices_of("factors", "pivots", "rows"))
complex_ldl.rows(pair_matrices_of("input"))
complex_ldl_solve.rows(pair_matrices_of("factors", "pivots", "rows"))


def _matrices(parts: str) -> Iterator[str]:
    for n in (0, 1, 2, 3, 5, 9, 31, 70):
        yield f"normal[{n}, {n}{parts}]#1"
    yield f"normal[3, 2, 17, 17{parts}]#2"
    yield f"normal[400, 6, 6{parts}]#2"  # worth a fork
    for kind in ("wide", "special", "infinite", "zeros", "tiny", "few"):
        yield f"{kind}[9, 11, 11{parts}]#3"


def _systems(parts: str) -> Iterator[dict[str, str]]:
    def of(kind: str, m: int, n: int, batch: str = "") -> dict[str, str]:
        return {
            "factors": f"{kind}[{batch}{n}, {n}{parts}]#1",
            "pivots": f"classes{2 * n + 1}[{batch}{n}]#2",
            "rows": f"{kind}[{batch}{m}, {n}{parts}]#3",
        }

    for m, n in ((1, 1), (0, 3), (2, 0), (3, 2), (1, 9), (19, 8), (5, 31)):
        yield of("normal", m, n)
    yield of("tiny", 3, 40)
    yield of("normal", 2, 17, "4, 3, ")
    yield of("normal", 3, 6, "400, ")
    for kind in ("special", "infinite", "zeros", "wide", "few"):
        yield of(kind, 3, 9, "7, ")


ldl.samples(lambda: (sample(input=x) for x in _matrices("")))
ldl_solve.samples(lambda: (sample(**system) for system in _systems("")))


@complex_ldl.samples
def _() -> Iterator[Sample]:
    for hermitian in (False, True):
        for x in _matrices(", 2"):
            yield sample(input=x, hermitian=hermitian)


@complex_ldl_solve.samples
def _() -> Iterator[Sample]:
    for hermitian in (False, True):
        for system in _systems(", 2"):
            yield sample(**system, hermitian=hermitian)


def _size(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag)


def _inverse(block: Any) -> Any:
    """Of one number or of two by two, in any precision."""
    if len(block) == 1:
        return 1 / block
    (a, b), (c, d) = block
    return np.array([[d, -b], [-c, a]]) / (a * d - b * c)


def _factored(matrix: Any, hermitian: bool) -> tuple[Any, list[int], int]:
    """The factors, with the whole of the matrix that is left, in long doubles where they have more digits."""
    n, pivots, info, k = len(matrix), [0] * len(matrix), 0, 0
    turned = np.conj if hermitian else np.asarray
    wide = np.clongdouble if np.iscomplexobj(matrix) else np.longdouble
    left = (np.tril(matrix) + turned(np.tril(matrix, -1)).T).astype(wide)
    if hermitian:
        left[np.diag_indices(n)] = left.diagonal().real
    factors, bound = np.zeros_like(left), (1 + np.sqrt(17)) / 8
    while k < n:
        column, size, step, p = _size(left[k + 1 :, k]), _size(left[k, k]), 1, k
        largest = column.max(initial=0)
        if size < bound * largest:
            r = k + 1 + int(column.argmax())
            beside = np.delete(_size(left[r, k:]), r - k).max()
            if size < bound * largest * (largest / beside):
                p, step = r, 1 if _size(left[r, r]) >= bound * beside else 2
        q, end = k + step - 1, k + step
        order = np.arange(n)
        order[[p, q]] = order[[q, p]]
        left[k:, k:] = left[order[k:]][:, order[k:]]
        pivots[k] = p + 1 if step == 1 else n + p + 1
        block = left[k:end, k:end].copy()
        if not block.any():
            info = info or k + 1
        else:
            below = left[end:, k:end] @ _inverse(block)
            left[end:, end:] = left[end:, end:] - below @ turned(left[end:, k:end]).T
            left[end:, k:end] = below
        factors[k:, k:end] = np.tril(left[k:, k:end])
        k = end
    return factors.T.astype(matrix.dtype), pivots, info


def _all_factored(input: Any, hermitian: bool = False) -> Any:
    batch = input.shape[:-2]
    found = [_factored(a, hermitian) for a in input.reshape(-1, *input.shape[-2:])]
    factors = np.array([f for f, _, _ in found]).reshape(input.shape)
    pivots = np.array([p for _, p, _ in found], dtype=np.int64).reshape(input.shape[:-1])
    return factors, pivots, np.array([i for _, _, i in found], dtype=np.int64).reshape(batch)


ldl.oracle(lambda input: _all_factored(input))


@complex_ldl.oracle
def _(input: Any, hermitian: bool = False) -> Any:
    factors, pivots, info = _all_factored(complex_of(input), hermitian)
    return pairs_of(factors), pivots, info
