# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.cholesky import matrices_of


@op(outputs=("values", "vectors", "info"))
def eigh(input: Tensor, upper: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.
        upper: read the upper triangles.

    Returns:
        The type of input, (…, n): the eigenvalues, the smallest first. The type of input, (…, n, n): each row is the
        eigenvector of a value. int64, (…): 0; or 1 where the search was given up; or -1 where a number is not finite,
        and all results are NaN.
    """


@op(outputs=("values", "info"))
def eigvalsh(input: Tensor, upper: bool = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues of symmetric matrices, the bits of `eigh`; it has no gradient.

    Args:
        input: float32 or float64, (…, n, n), of which the lower triangles are read.
        upper: read the upper triangles.

    Returns:
        The type of input, (…, n): the eigenvalues, the smallest first; and int64, (…): the info of `eigh`.
    """


eigh.rows(matrices_of("input"))
eigvalsh.rows(matrices_of("input"))


@eigh.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 4, 9, 33, 70):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[40, 40]#1", upper=True)
    yield sample(input="dominant[2, 3, 17, 17]#2", upper=True)
    yield sample(input="normal[300, 5, 5]#2")
    for kind in ("zeros", "special", "infinite", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")


@eigvalsh.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 4, 33):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="normal[226, 226]#1")  # worth a fork
    yield sample(input="normal[300, 5, 5]#2", upper=True)
    for kind in ("zeros", "special", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 9, 9]#3")
