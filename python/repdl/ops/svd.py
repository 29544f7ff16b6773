# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, matrices_of, op, sample


@op(outputs=("u", "s", "vh", "info"))
def svd(input: Tensor, full: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Singular values and vectors of matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n).
        full: complete U and V to square matrices.

    Returns:
        The type of input, (…, k, m), k = min(m, n), or if full (…, m, m): row j is column j of U. The type of input,
        (…, k): the singular values, the largest first. The type of input, (…, n, k), or if full (…, n, n): row j is
        column j of Vᵀ. int64, (…): 0; or 1 where the search was given up; or -1 where a number is not finite, and all
        results are NaN.
    """


@op(outputs=("s", "info"))
def svdvals(input: Tensor) -> tuple[Tensor, Tensor]:
    """Singular values of matrices, the bits of `svd`; it has no gradient.

    Args:
        input: float32 or float64, (…, m, n).

    Returns:
        The type of input, (…, min(m, n)): the singular values, the largest first; and int64, (…): the info of `svd`.
    """


svd.rows(matrices_of("input"))
svdvals.rows(matrices_of("input"))


@svd.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (3, 0), (1, 4), (4, 4), (9, 4), (4, 9), (33, 33), (70, 20), (20, 70)):
        yield sample(input=f"normal[{m}, {n}]#1", full=m < 9)
    yield sample(input="normal[2, 3, 9, 7]#2", full=True)
    yield sample(input="normal[300, 4, 5]#2")
    for kind in ("zeros", "special", "infinite", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 8, 9]#3")
        yield sample(input=f"{kind}[5, 9, 4]#3", full=True)


@svdvals.samples
def _() -> Iterator[Sample]:
    for m, n in ((1, 1), (0, 3), (4, 4), (33, 20), (20, 33)):
        yield sample(input=f"normal[{m}, {n}]#1")
    yield sample(input="normal[226, 226]#1")  # worth a fork
    yield sample(input="normal[300, 4, 5]#2")
    for kind in ("zeros", "special", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")
