# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.cumulative import cumprod
from repdl.ops.sum import count_and_expand, reduced_dims, rows_of_reduction


@op()
def prod(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """The product over some dimensions, or over all, in the order `blocked` of a sum.

    Args:
        input: float32 or float64, any shape.
        dim: a dimension or several; None for all.
        keepdim: leave the reduced dimensions in the result, with size 1.
    """


prod.rows(rows_of_reduction)


@prod.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def of_input() -> Any:
        """Times the product of the others: of those before it, and of those after it, which zeros do not spoil."""
        x = saved.input
        if not x.dim():
            return grad
        dims = reduced_dims(saved.dim, x.dim())
        last = list(range(-len(dims), 0))
        moved = x.movedim(dims, last)
        rows = moved.reshape(*moved.shape[: x.dim() - len(dims)], -1)
        others = _before(rows) * _before(rows.flip(-1)).flip(-1)
        return count_and_expand(saved, grad)[1] * others.reshape(moved.shape).movedim(last, dims)

    return {"input": of_input}


def _before(rows: Any) -> Any:
    """The product of the numbers before each of a row."""
    products = rows.new_ones(rows.shape)
    products[..., 1:] = cumprod(rows[..., :-1].contiguous(), -1)
    return products


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
