# SPDX-License-Identifier: MIT
"""Eigenvalues of matrices of complex numbers: pairs of a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.complex_factors import pair_matrices_of


@op(outputs=("values", "vectors", "info"))
def complex_eig(input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and eigenvectors of complex matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.

    Returns:
        The type of input, (…, n, 2): the eigenvalues. The type of input, (…, n, n, 2): each row is the eigenvector of a
        value, of length 1, its largest number positive. int64, (…): 0; or 1 where the search was given up, or -1 where
        a number is not finite, and all results are NaN.
    """


@op(outputs=("values", "info"))
def complex_eigvals(input: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues of complex matrices, the bits of `complex_eig`; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n, 2): pairs of a real and an imaginary part.

    Returns:
        The type of input, (…, n, 2): the eigenvalues; and int64, (…): the info of `complex_eig`.
    """


complex_eig.rows(pair_matrices_of("input"))
complex_eigvals.rows(pair_matrices_of("input"))


@complex_eig.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 4, 9, 33, 50):
        yield sample(input=f"normal[{n}, {n}, 2]#1")
    yield sample(input="dominant_pairs[2, 3, 11, 11, 2]#2")
    yield sample(input="normal[200, 5, 5, 2]#2")
    yield sample(input="nonnegative[40, 6, 6, 2]#4")  # some numbers are 0, the others far apart
    for n in (2, 3, 4, 7, 20):
        yield sample(input=f"few[60, {n}, {n}, 2]#{n}")
    for kind in ("zeros", "special", "infinite", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9, 2]#3")


@complex_eigvals.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 4, 33):
        yield sample(input=f"normal[{n}, {n}, 2]#1")
    yield sample(input="normal[200, 5, 5, 2]#2")  # worth a fork
    yield sample(input="few[60, 7, 7, 2]#7")
    for kind in ("zeros", "special", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9, 2]#3")
