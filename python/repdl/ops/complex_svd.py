# SPDX-License-Identifier: MIT
"""Singular values of matrices of complex numbers: pairs of a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.complex_factors import pair_matrices_of


@op(outputs=("u", "s", "vh", "info"))
def complex_svd(input: Tensor, full: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Singular values and vectors of complex matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n, 2): pairs of a real and an imaginary part.
        full: complete U and V to square matrices.

    Returns:
        The type of input, (…, k, m, 2), k = min(m, n), or if full (…, m, m, 2): row j is column j of U. The type of
        input, (…, k): the singular values, real, the largest first. The type of input, (…, n, k, 2), or if full (…, n,
        n, 2): row j is column j of Vᴴ. int64, (…): 0; or 1 where the search was given up; or -1 where a number is not
        finite, and all results are NaN.
    """


@op(outputs=("s", "info"))
def complex_svdvals(input: Tensor) -> tuple[Tensor, Tensor]:
    """Singular values of complex matrices, the bits of `complex_svd`; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n, 2): pairs of a real and an imaginary part.

    Returns:
        The type of input, (…, min(m, n)): the singular values, the largest first; and int64, (…): the info of
        `complex_svd`.
    """


complex_svd.rows(pair_matrices_of("input"))
complex_svdvals.rows(pair_matrices_of("input"))


@complex_svd.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (1, 4), (4, 4), (9, 4), (4, 9), (33, 33), (40, 20), (20, 40)):
        yield sample(input=f"normal[{m}, {n}, 2]#1", full=m < 9)
    yield sample(input="normal[2, 3, 9, 7, 2]#2", full=True)
    yield sample(input="normal[200, 4, 5, 2]#2")
    for kind in ("zeros", "special", "infinite", "tiny", "wide", "few"):
        yield sample(input=f"{kind}[5, 8, 9, 2]#3")
        yield sample(input=f"{kind}[5, 9, 4, 2]#3", full=True)


@complex_svdvals.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (4, 4), (33, 20), (20, 33)):
        yield sample(input=f"normal[{m}, {n}, 2]#1")
    yield sample(input="normal[120, 120, 2]#1")  # worth a fork
    yield sample(input="normal[200, 4, 5, 2]#2")
    for kind in ("zeros", "special", "tiny", "wide", "few"):
        yield sample(input=f"{kind}[5, 9, 9, 2]#3")
