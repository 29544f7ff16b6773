# SPDX-License-Identifier: MIT
"""Counts between edges."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, no_rows, op, sample


@op(outputs=("hist",))
def histogram(input: Tensor, bins: Tensor, weight: Tensor | None = None) -> Tensor:
    """How many elements lie in each bin: at its lower edge or above, and below the upper one; the last has both edges.

    Args:
        input: float32 or float64, any shape.
        bins: as input, (m): the edges in ascending order.
        weight: of each element, of which the result has the sums; None to count.

    Returns:
        The type of input, (m - 1).
    """


histogram.rows(no_rows)


@histogram.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[203]#1", bins="unit[1]#1")
    yield sample(input="normal[0]#1", bins="unit[3]#1")
    # The edges are the first elements, and ascend.
    yield sample(input="unit[20000]#2195", bins="unit[5]#2195")
    yield sample(input="special[203]#1", bins="special[4]#12")
    yield sample(input="normal[7, 29]#1", bins="normal[6]#2", weight="wide[7, 29]#3")
    yield sample(input="normal[9000]#1", bins="normal[2]#1", weight="normal[9000]#3")
