# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, matrices_of, op, sample


@op(outputs=("values", "vectors", "info"))
def eig(input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices, as pairs of real and imaginary parts; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n).

    Returns:
        The type of input, (…, n, 2): the eigenvalues, those that are not real in pairs of conjugates, the one with the
        positive imaginary part first. The type of input, (…, n, n, 2): each row is the eigenvector of a value, of
        length 1, its largest number positive. int64, (…): 0; or 1 where the search was given up, or -1 where a number
        is not finite, and all results are NaN.
    """


@op(outputs=("values", "info"))
def eigvals(input: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues of square matrices, the bits of `eig`; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n).

    Returns:
        The type of input, (…, n, 2): the eigenvalues; and int64, (…): the info of `eig`.
    """


eig.rows(matrices_of("input"))
eigvals.rows(matrices_of("input"))


@eig.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 4, 9, 33, 70):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="dominant[2, 3, 17, 17]#2")
    yield sample(input="normal[300, 5, 5]#2")
    yield sample(input="nonnegative[40, 6, 6]#4")  # some numbers are 0, the others far apart
    for n in (2, 3, 4, 7, 20):
        yield sample(input=f"few[60, {n}, {n}]#{n}")
    for kind in ("zeros", "special", "infinite", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")


@eigvals.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 4, 33):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[300, 5, 5]#2")  # worth a fork
    yield sample(input="few[60, 7, 7]#7")
    for kind in ("zeros", "special", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")
