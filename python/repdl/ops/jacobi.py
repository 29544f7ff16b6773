# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.cholesky import matrices_of


@op(outputs=("output", "sweeps"))
def jacobi(input: Tensor, width: int, tolerance: float) -> tuple[Tensor, Tensor]:
    """Rotates the rows of matrices, two at a time, until they are orthogonal; it has no gradient.

    What stands behind the first `width` numbers of the rows turns with them: the identity becomes the rotations.

    Args:
        input: float32 or float64, (…, n, m), of squares that do not overflow.
        width: the numbers of a row that count.
        tolerance: an inner product of two rows may be as large as this times the sizes of the longer and the longest.

    Returns:
        The type of input, (…, n, m); and int64, (…): the sweeps that it took, or 0 after 60, where it is not done.
    """


jacobi.rows(matrices_of("input"))


@jacobi.samples
def _() -> Iterator[Sample]:
    for n, m, width in (
        (1, 1, 1),
        (0, 3, 2),
        (3, 0, 0),
        (2, 2, 2),
        (5, 9, 4),
        (8, 40, 17),
        (31, 62, 31),
        (70, 130, 60),
    ):
        yield sample(input=f"normal[{n}, {m}]#1", width=width, tolerance=2.0**-50)
    yield sample(input="normal[40, 3000]#1", width=2000, tolerance=2.0**-36)  # worth a fork
    yield sample(input="normal[2, 3, 6, 12]#2", width=6, tolerance=2.0**-36)
    yield sample(input="normal[100, 4, 8]#2", width=4, tolerance=2.0**-50)
    for kind in ("zeros", "uniform", "special", "tiny"):
        yield sample(input=f"{kind}[5, 6, 9]#3", width=6, tolerance=2.0**-50)
