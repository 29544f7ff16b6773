# SPDX-License-Identifier: MIT
"""Eigenvalues of Hermitian matrices of complex numbers: pairs of a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.complex_factors import pair_matrices_of


@op(outputs=("values", "vectors", "info"))
def complex_eigh(input: Tensor, upper: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and eigenvectors of Hermitian matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part, of which the lower triangles are
            read.
        upper: read the upper triangles.

    Returns:
        The type of input, (…, n): the eigenvalues, which are real, the smallest first. The type of input, (…, n, n, 2):
        each row is the eigenvector of a value. int64, (…): 0; or 1 where the search was given up; or -1 where a number
        is not finite, and all results are NaN.
    """


@op(outputs=("values", "info"))
def complex_eigvalsh(input: Tensor, upper: bool = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues of Hermitian matrices, the bits of `complex_eigh`; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part, of which the lower triangles are
            read.
        upper: read the upper triangles.

    Returns:
        The type of input, (…, n): the eigenvalues, the smallest first; and int64, (…): the info of `complex_eigh`.
    """


complex_eigh.rows(pair_matrices_of("input"))
complex_eigvalsh.rows(pair_matrices_of("input"))


@complex_eigh.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 4, 9, 33, 50):
        yield sample(input=f"normal[{n}, {n}, 2]#1")
    yield sample(input="normal[30, 30, 2]#1", upper=True)
    yield sample(input="dominant_pairs[2, 3, 11, 11, 2]#2", upper=True)
    yield sample(input="normal[200, 5, 5, 2]#2")
    for kind in ("zeros", "special", "infinite", "tiny", "wide", "few"):
        yield sample(input=f"{kind}[5, 9, 9, 2]#3")


@complex_eigvalsh.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 4, 33):
        yield sample(input=f"normal[{n}, {n}, 2]#1")
    yield sample(input="normal[120, 120, 2]#1")  # worth a fork
    yield sample(input="normal[200, 5, 5, 2]#2", upper=True)
    for kind in ("zeros", "special", "tiny", "wide", "few"):
        yield sample(input=f"{kind}[5, 9, 9, 2]#3")
