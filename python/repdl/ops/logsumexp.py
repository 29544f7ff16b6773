# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise.exponential import exp
from repdl.ops.sum import count_and_expand, rows_of_reduction


@op()
def logsumexp(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, order: str | None = None
) -> Tensor:
    """Logarithm of the sum of exponentials over some dimensions, or over all.

    Args:
        input: float32 or float64, any shape.
        dim: a dimension or several; None for all.
        keepdim: leave the reduced dimensions in the result, with size 1.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        Of its type, the other dimensions of input; -inf for the sum of nothing.
    """


@logsumexp.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def share() -> Any:
        total = count_and_expand(saved, saved.output)[1]
        return count_and_expand(saved, grad)[1] * exp(saved.input - total)

    return {"input": share}


@logsumexp.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 3, 63, 65, 200, 4097, 9000):
        yield sample(input=f"normal[{n}]#1")
    yield sample(input="normal[]#1")
    yield sample(input="normal[300, 37]#2", dim=(0,))
    yield sample(input="normal[4200, 3]#2", dim=(0,))
    yield sample(input="normal[37, 300]#2", dim=(1,), keepdim=True)
    yield sample(input="normal[10, 7, 9, 11]#3", dim=(0, 2, 3))
    yield sample(input="normal[10, 7, 9, 11]#3", dim=(1, -1), keepdim=True)
    yield sample(input="normal[3, 0]#3", dim=(1,))
    yield sample(input="normal[0, 3]#3", dim=(1,))
    for kind in ("wide", "special", "bits", "infinite", "zeros"):
        yield sample(input=f"{kind}[19, 20]#4", dim=(0,))
        yield sample(input=f"{kind}[19, 20]#4", dim=(1,))


logsumexp.rows(rows_of_reduction)


@logsumexp.oracle
def _(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if not input.size:
        return np.full(np.sum(input, axis=dim, keepdims=keepdim).shape, -np.inf)
    total: Any = np.logaddexp.reduce
    return total(input, axis=dim, keepdims=keepdim)
