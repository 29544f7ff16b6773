# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.sum import rows_of_reduction


@op()
def prod(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """The product over some dimensions, or over all, in the order `blocked` of a sum.

    Args:
        input: float32 or float64, any shape.
        dim: a dimension or several; None for all.
        keepdim: leave the reduced dimensions in the result, with size 1.
    """


prod.rows(rows_of_reduction)


@prod.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 65, 4097, 50003):
        yield sample(input=f"unit[{n}]#1")
    yield sample(input="normal[]#1")
    yield sample(input="normal[300, 37]#2", dim=(0,))
    yield sample(input="normal[37, 300]#2", dim=(1,), keepdim=True)
    yield sample(input="uniform[5, 7, 4, 9]#3", dim=(0, 2))
    yield sample(input="uniform[5, 7, 4, 9]#3", dim=(1, 2))
    for kind in ("wide", "special", "zeros"):
        yield sample(input=f"{kind}[19, 30]#4", dim=(1,))


@prod.oracle
def _(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return np.prod(input, dim if dim is None or isinstance(dim, int) else tuple(dim), keepdims=keepdim)
